"""The second answer: whether our numbers agree with the published ones, by Welch's interval of their difference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rote.claims.per_seed import PerSeed

Match = Literal["agrees", "consistent", "differs", "shown"]
LEAST_MARGIN = 0.05


@dataclass(frozen=True)
class Published:
    """A published number: single runs, or their mean and standard deviation, and what we compare with it.

    ``divisor``: whether the published standard deviation divides by the number of runs or by one less.
    ``rows``: items of the test set, where the number is a share of them; no test set resolves more.
    """

    label: str
    of: PerSeed
    runs: tuple[float, ...] = ()
    mean: float | None = None
    sd: float | None = None
    m: int = 1  # published runs
    divisor: Literal["m", "m - 1"] = "m - 1"
    rows: int | None = None
    margin: float | None = None  # what counts as agreement; by default from the spread and the test set
    unit: str = ""  # as written behind it; none: a share, or a number without one

    def __post_init__(self) -> None:
        if not self.runs and self.mean is None:
            raise ValueError(f"The published number {self.label!r} has neither runs nor a mean.")

    @property
    def sample(self) -> tuple[float, float, int]:
        """Mean, standard deviation (NaN of a single number) and number of runs, as published."""
        if self.runs:
            spread = float(np.std(self.runs, ddof=1)) if len(self.runs) > 1 else math.nan
            return float(np.mean(self.runs)), spread, len(self.runs)
        corrected = math.sqrt(self.m / (self.m - 1)) if self.divisor == "m" and self.m > 1 else 1.0
        assert self.mean is not None
        return self.mean, math.nan if self.sd is None else self.sd * corrected, self.m

    def __str__(self) -> str:
        center, spread, m = self.sample
        spreads = m > 1 and not math.isnan(spread)
        value = f"{center:.3g}" + (f" ± {spread:.2g}" if spreads else "") + (f" {self.unit}" if self.unit else "")
        return value + (f" ({m} runs)" if spreads else "")


@dataclass(frozen=True)
class Comparison:
    """Ours minus published, with its 95 % interval, and the difference that would go unnoticed."""

    label: str
    published: str
    ours: float
    n: int
    match: Match
    difference: float
    low: float = -math.inf
    high: float = math.inf
    margin: float = math.nan
    unnoticed: float = math.inf  # a true difference up to this is called consistent as often as not

    def __str__(self) -> str:
        told = f"{self.label}: ours {self.ours:.3g}, published {self.published}: {self.match}"
        if self.match == "consistent":
            told += f" (a difference up to {self.unnoticed:.2g} would go unnoticed)"
        return told


def compare(number: Published, values: Mapping[int, float]) -> Comparison:
    """Differs: the 95 % interval excludes 0. Agrees: the 90 % interval lies within the margin. Else consistent. A
    single published number has no spread to compare with: shown only."""
    from scipy.special import stdtrit

    sample = np.array(list(values.values()), dtype=float)
    said, sd, m = number.sample
    ours, n = float(sample.mean()) if len(sample) else math.nan, len(sample)
    shown = Comparison(number.label, str(number), ours, n, "shown", ours - said)
    if m < 2 or n < 2 or math.isnan(sd) or not np.isfinite(sample).all():
        return shown
    sds = [max(spread, _resolution(q, number.rows)) for spread, q in ((float(sample.std(ddof=1)), ours), (sd, said))]
    floors = max(_resolution(q, number.rows) for q in (ours, said))
    margin = max(LEAST_MARGIN, sd, 2 * floors) if number.margin is None else number.margin
    variances = [sds[0] ** 2 / n, sds[1] ** 2 / m]
    if not sum(variances):
        match: Match = "agrees" if abs(ours - said) <= margin else "differs"
        return Comparison(number.label, str(number), ours, n, match, ours - said, ours - said, ours - said, margin, 0.0)
    error = math.sqrt(sum(variances))
    freedom = sum(variances) ** 2 / sum(v**2 / (count - 1) for v, count in zip(variances, (n, m), strict=True))
    wide, narrow = (float(stdtrit(freedom, level)) * error for level in (0.975, 0.95))
    difference = ours - said
    close = abs(difference) + narrow <= margin
    match = "differs" if abs(difference) > wide else "agrees" if close else "consistent"
    low, high = difference - wide, difference + wide
    return Comparison(number.label, str(number), ours, n, match, difference, low, high, margin, wide)


def _resolution(share: float, rows: int | None) -> float:
    """The standard deviation that a share of ``rows`` items has by itself."""
    if rows is None:
        return 0.0
    q = min(max((share * rows + 2) / (rows + 4), 0.0), 1.0)
    return math.sqrt(q * (1 - q) / rows)
