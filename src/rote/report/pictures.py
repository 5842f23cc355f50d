"""Small pictures beside the numbers: a dot for each seed, the share of seeds, a difference. Shapes, not markup, so that
the report's templates and the explorer draw the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rote.claims import Comparison, Finding, Published, Region, Verdict
from rote.claims.counting import SHARES

WIDTH = 200.0
STRIP, LINE = 34.0, 15.0  # heights: of a strip, of a line in a forest plot
_OPEN = 10.0  # and of a strip with published runs more
_EDGE = 6.0  # room for half a dot at either end
_MOST_DOTS = 40  # more are drawn smaller


@dataclass(frozen=True)
class Shape:
    """An SVG element. Its class says what it stands for; the style sheet says how that looks."""

    tag: Literal["rect", "line", "circle", "path"]
    attributes: dict[str, float | str]
    title: str = ""


@dataclass(frozen=True)
class Picture:
    width: float
    height: float
    shapes: tuple[Shape, ...] = field(default=())
    ends: tuple[float, float] | None = None  # of its axis, where they are written under it


@dataclass(frozen=True)
class Axis:
    """From values to places within the picture; what lies beyond its ends is drawn at them."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float]) -> Axis | None:
        """With some room around these; None where none of them is finite."""
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return None
        low, high = min(finite), max(finite)
        room = 0.08 * (high - low) or 0.5 * max(abs(high), 1.0)
        return cls(low - room, high + room)

    def __call__(self, value: float) -> float:
        part = 0.0 if value == -math.inf else 1.0 if value == math.inf else (value - self.low) / (self.high - self.low)
        return round(_EDGE + (WIDTH - 2 * _EDGE) * min(1.0, max(0.0, part)), 1)


def strip_axis(findings: Iterable[Finding], published: Sequence[Published] = ()) -> Axis | None:
    """One for the same assertion at all scales, so that its strips can be compared."""
    found = list(findings)
    values = [value for finding in found for value in finding.values.values()]
    if not any(math.isfinite(value) for value in values):
        return None
    ends = [end for finding in found for end in (finding.assertion.holds.low, finding.assertion.holds.high)]
    return Axis.over([*values, *ends, *(run for number in published for run in _runs(number))])


def strip(finding: Finding, axis: Axis, published: Sequence[Published] = ()) -> Picture:
    """A dot for each seed over the region that bears the assertion out; published runs as open dots under them; last
    the mean with its interval."""
    height = STRIP + (_OPEN if published else 0.0)
    estimate, middle = finding.estimate, STRIP / 2 - 2
    shapes = [*_region(finding.assertion.holds, axis, height), *_dots(finding, axis, middle)]
    if math.isfinite(estimate.value) and finding.n > 1:
        low, high, below = axis(estimate.low), axis(estimate.high), height - 4
        shapes.append(_line("range", low, high, below, below))
        shapes.append(_line("mean", axis(estimate.value), axis(estimate.value), below - 3, below + 3))
    for number in published:
        for run in _runs(number):
            at: dict[str, float | str] = {"class": "open-dot", "cx": axis(run), "cy": height - 14, "r": 3.5}
            shapes.append(Shape("circle", at, f"published: {run:g}"))
    return Picture(WIDTH, height, tuple(shapes))


def forest(verdicts: Sequence[Verdict]) -> Picture | None:
    """For each of these verdicts a line: the share of seeds in which the part that decided held, what the count leaves
    possible of it, and upright the share that it must exceed."""
    axis, shapes = Axis(0.0, 1.0), list[Shape]()
    shown = [(verdict, decided) for verdict in verdicts if (decided := verdict.deciding) is not None]
    if not shown:
        return None
    height = LINE * len(shown)
    shapes.append(_line("frame", axis(0), axis(1), height - 0.5, height - 0.5))
    for number, (verdict, finding) in enumerate(shown):
        middle, (low, high) = LINE * (number + 0.5), finding.share
        share = SHARES.get(finding.assertion.seeds)
        if share is not None:
            shapes.append(_line("limit", axis(share), axis(share), LINE * number, LINE * (number + 1)))
        shapes.append(_line(f"range {_tone(verdict.outcome)}", axis(low), axis(high), middle, middle))
        dot: dict[str, float | str] = {"cx": axis(finding.k / finding.n), "cy": middle, "r": 4 if not number else 3}
        told = f"{verdict.scale}: {finding.label}, {finding.k}/{finding.n}, share {low:.2f} to {high:.2f}"
        shapes.append(Shape("circle", {"class": f"value {_tone(verdict.outcome)}", **dot}, told))
    return Picture(WIDTH, height, tuple(shapes))


def difference(comparison: Comparison) -> Picture | None:
    """Ours minus published with its interval, over what counts as agreement; None of what can only be shown."""
    axis = Axis.over([0.0, comparison.low, comparison.high, comparison.margin, -comparison.margin])
    if comparison.match == "shown" or axis is None:
        return None
    middle, low, high = LINE / 2 + 2, axis(comparison.low), axis(comparison.high)
    left, right = axis(-comparison.margin), axis(comparison.margin)
    height = LINE + 4
    shapes = (
        Shape("rect", {"class": "region", "x": left, "y": 1, "width": round(right - left, 1), "height": height - 2}),
        _line("limit", axis(0.0), axis(0.0), 1, height - 1),
        _line("range", low, high, middle, middle),
        Shape("circle", {"class": "value", "cx": axis(comparison.difference), "cy": middle, "r": 3.5}),
    )
    return Picture(WIDTH, height, shapes)


def beside_axis(pairs: Sequence[tuple[Published, Mapping[int, float]]]) -> Axis | None:
    """One for published numbers and ours: from 0 to 1 where all are shares, else around them."""
    known = [value for number, values in pairs for value in (*_runs(number), number.sample[0], *values.values())]
    if known and all(0.0 <= value <= 1.0 for value in known):
        return Axis(0.0, 1.0)
    spreads = [number.sample[:2] for number, _ in pairs]
    ends = [mean + sign * sd for mean, sd in spreads for sign in (-1, 1) if math.isfinite(sd)]
    return Axis.over([*known, *ends])


def beside(number: Published, values: Mapping[int, float], axis: Axis | None) -> Picture | None:
    """Published above, its runs as open dots and its standard deviation as a line; ours below, a dot for each seed."""
    if axis is None or not any(math.isfinite(value) for value in values.values()):
        return None
    above, below, height = 8.0, 22.0, 30.0
    center, spread, _ = number.sample
    shapes = [_line("frame", axis(axis.low), axis(axis.high), height - 0.5, height - 0.5)]
    if math.isfinite(spread):
        shapes.append(_line("published-range", axis(center - spread), axis(center + spread), above, above))
    for run in _runs(number):
        at: dict[str, float | str] = {"class": "open-dot", "cx": axis(run), "cy": above, "r": 3.5}
        shapes.append(Shape("circle", at, f"published: {run:g}"))
    for seed, value in sorted(values.items()):
        if not math.isnan(value):
            at = {"class": "dot", "cx": axis(value), "cy": below, "r": 3.5 if len(values) <= _MOST_DOTS else 2.0}
            shapes.append(Shape("circle", at, f"seed {seed}: {value:.4g}"))
    return Picture(WIDTH, height, tuple(shapes), (axis.low, axis.high))


def _region(region: Region, axis: Axis, height: float) -> list[Shape]:
    """Shaded, to the picture's end where it has none, with a line at each end that it has."""
    left = 0.0 if math.isinf(region.low) else axis(region.low)
    right = WIDTH if math.isinf(region.high) else axis(region.high)
    wide = max(round(right - left, 1), 2.0)  # a single value has an area too
    shade = Shape("rect", {"class": "region", "x": left, "y": 1, "width": wide, "height": height - 2})
    ends = [end for end in (region.low, region.high) if math.isfinite(end)]
    return [shade, *(_line("limit", axis(end), axis(end), 1, height - 1) for end in dict.fromkeys(ends))]


def _dots(finding: Finding, axis: Axis, middle: float) -> list[Shape]:
    """Side by side where they would hide each other."""
    radius = 3.5 if finding.n <= _MOST_DOTS else 2.0
    rows = [0.0, *(sign * row * radius for row in (1, 2, 3) for sign in (1, -1))]
    taken: Counter[int] = Counter()
    dots = []
    for seed, value in sorted(finding.values.items()):
        if math.isnan(value):
            continue
        place = axis(value)
        row = taken[(bin_ := round(place / (2 * radius)))] % len(rows)
        taken[bin_] += 1
        kind = "dot" if value in finding.assertion.holds else "dot against"
        at: dict[str, float | str] = {"class": kind, "cx": place, "cy": round(middle + rows[row], 1), "r": radius}
        dots.append(Shape("circle", at, f"seed {seed}: {value:.4g}"))
    return dots


def _runs(number: Published) -> tuple[float, ...]:
    return number.runs or ((number.mean,) if number.mean is not None else ())


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Shape:
    return Shape("line", {"class": kind, "x1": x1, "x2": x2, "y1": y1, "y2": y2})


def _tone(outcome: str) -> str:
    return f"is-{outcome.replace(' ', '-')}"
