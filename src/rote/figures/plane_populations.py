"""What populations of the plane's networks do (source 001, section 6): the numbers that its pictures leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from rote.claims import mean
from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import band_lines, chosen_in_legend, log_ticks, only
from rote.store import Table

NEAR_ZERO = 0.01  # a seed with at most this share of the corner wrong counts as having got it right
_BINS = 80  # dots closer than this part of the axis are set beside each other


@figures.register("plane-training")
def plane_training(table: Table) -> Figure:
    """Loss and accuracies over training: each setting's mean, with its interval as a band."""
    rows = columns_of(table, "setting", "step", "measure", "mean", "low", "high")
    measures = in_order(rows, "measure")
    chosen = chosen_in_legend("setting")
    width = max(200, 840 // len(measures) - 55)
    first, *others = [_measure(rows, measure, chosen).properties(width=width, height=210) for measure in measures]
    chart = alt.hconcat(first.add_params(chosen), *others, spacing=24)
    return Figure(chart, {"rows": rows}, describe(table))


def _measure(rows: Sequence[dict[str, Any]], measure: str, chosen: alt.Parameter) -> Chart:
    """One panel. The step axis is logarithmic from 1 on, with 0 on it."""
    settings, steps = in_order(rows, "setting"), sorted({row["step"] for row in rows})
    whole = alt.Scale(domain=[0, 1]) if "accuracy" in measure else alt.Scale(zero=True)
    panel = band_lines(
        only("rows", measure=measure), measure, chosen,
        series="setting", names=settings, over="step", y=whole, ticks=log_ticks(steps),
    )  # fmt: skip
    return panel.properties(title=measure)


@figures.register("plane-seeds")
def plane_seeds(table: Table) -> Figure:
    """One dot per random seed: how much of the held-out corner it gives to the wrong class."""
    rows = [row for row in columns_of(table, "setting", "seed", "corner_wrong") if row["corner_wrong"] is not None]
    settings = in_order(rows, "setting")
    top = max([0.1, *(row["corner_wrong"] for row in rows)])
    dots, summaries = [], []
    for setting in settings:
        mine = [row for row in rows if row["setting"] == setting]
        dots += _swarm(mine, top)
        summary = _summary([row["corner_wrong"] for row in mine])
        summaries.append({"setting": setting, "lane": 0.9, "middle": 0.0, **summary})  # the mean below its dots
    y = alt.Y("setting:N", scale=alt.Scale(domain=settings), title=None)
    axis = alt.Axis(format="%", tickCount=10, title="share of the held-out corner given to the wrong class")
    x = alt.X("corner_wrong:Q", scale=alt.Scale(domain=[0, top], nice=True), axis=axis)
    strip = (
        alt.Chart(alt.NamedData("dots"))
        .mark_circle(size=24, opacity=0.7, clip=False)
        .encode(
            x=x,
            y=y,
            yOffset=_lane(),
            color=alt.Color("setting:N", scale=alt.Scale(domain=settings), legend=None),
            tooltip=[
                alt.Tooltip("setting:N"),
                alt.Tooltip("seed:Q"),
                alt.Tooltip("corner_wrong:Q", title="corner wrong", format=".2%"),
            ],
        )
    )
    limit = alt.Chart(alt.NamedData("limit")).mark_rule(style="reference").encode(x="near_zero:Q")
    chart = alt.layer(limit, strip, *_marked_means(y)).properties(width=620, height=alt.Step(84))
    return Figure(chart, {"dots": dots, "summaries": summaries, "limit": [{"near_zero": NEAR_ZERO}]}, describe(table))


def _swarm(rows: Sequence[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """The rows with a lane each, so that seeds of nearly the same value lie beside each other, around the middle."""
    bins: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["corner_wrong"], row["seed"])):
        bins.setdefault(int(_BINS * row["corner_wrong"] / top), []).append(row)
    placed = []
    for members in bins.values():
        apart = min(0.14, 1.5 / len(members))
        for number, row in enumerate(members):  # from the middle outwards, to both sides in turn
            lane = apart * ((number + 1) // 2) * (1 if number % 2 else -1)
            placed.append({**row, "lane": round(lane, 4)})
    return placed


def _summary(values: Sequence[float]) -> dict[str, Any]:
    """Mean with its interval (none for one seed), and how many seeds got the corner right."""
    found, n = mean(values, bounds=(0.0, 1.0)), len(values)
    low, high = (found.low, found.high) if n > 1 else (found.value, found.value)
    near = sum(value <= NEAR_ZERO for value in values)
    note = f"{near} of {n} seeds at {100 * NEAR_ZERO:g} % or less"
    return {"mean": found.value, "low": low, "high": high, "n": n, "note": note}


def _marked_means(y: alt.Y) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    base = alt.Chart(alt.NamedData("summaries")).encode(y=y)
    below = base.encode(yOffset=_lane())
    tips = [
        alt.Tooltip("setting:N"),
        alt.Tooltip("mean:Q", format=".2%"),
        alt.Tooltip("low:Q", title="95 % from", format=".2%"),
        alt.Tooltip("high:Q", title="95 % to", format=".2%"),
        alt.Tooltip("n:Q", title="seeds"),
    ]
    interval = below.mark_rule(style="summary").encode(x="low:Q", x2="high:Q", tooltip=tips)
    center = below.mark_point(style="summary-point", shape="diamond", filled=True).encode(x="mean:Q", tooltip=tips)
    note = base.mark_text(style="strong-note", align="left", dx=10).encode(
        x=alt.value(620), yOffset=_lane("middle"), text="note:N"
    )
    return interval, center, note


def _lane(field: str = "lane") -> alt.YOffset:
    return alt.YOffset(f"{field}:Q", scale=alt.Scale(domain=[-1, 1]))
