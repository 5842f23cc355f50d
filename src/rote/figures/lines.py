"""Lines with bands: the mean of each series over training, and its interval. Panels of one figure share a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from rote.figures.figure import Chart

DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2]]
MOST_POINTS = 80  # steps
HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"  # a filter of Vega: one seed has none


def only(name: str, **labels: Any) -> alt.Chart:
    """A chart of those rows of a dataset whose columns have these values."""
    chart = alt.Chart(alt.NamedData(name))
    for column, value in labels.items():
        chart = chart.transform_filter(alt.FieldEqualPredicate(field=column, equal=value))
    return chart


def chosen_in_legend(series: str) -> alt.Parameter:
    """What a click on the legend selects; to be added to one panel of the figure."""
    return alt.selection_point(name="chosen", fields=[series], bind="legend")


def band_lines(
    base: alt.Chart,
    measure: str,
    chosen: alt.Parameter,
    *,
    series: str,
    names: Sequence[str],
    over: str,
    y: alt.Scale,
    ticks: Sequence[float] | None = None,
) -> Chart:
    """The columns mean, low and high of one measure ``over`` training, a color and a dash for each of the ``names``.

    With ``ticks`` the axis of training is logarithmic from 1 on, with 0 on it."""
    color = alt.Color(f"{series}:N", scale=alt.Scale(domain=names), legend=line_legend())
    base = base.encode(x=_training_axis(over, ticks), color=color)
    shown = alt.condition(chosen, alt.value(1.0), alt.value(0.15))
    faint = alt.condition(chosen, alt.value(0.2), alt.value(0.04))
    tips = [
        alt.Tooltip(f"{series}:N"),
        alt.Tooltip(f"{over}:Q"),
        alt.Tooltip("mean:Q", title=measure, format=".3f"),
        alt.Tooltip("low:Q", title="95 % from", format=".3f"),
        alt.Tooltip("high:Q", title="95 % to", format=".3f"),
    ]
    # A t interval of an accuracy may reach beyond 1: the band is cut off there, its numbers are not.
    band = base.transform_filter(HAS_INTERVAL).mark_area(clip=True)
    dash = alt.StrokeDash(f"{series}:N", scale=alt.Scale(domain=names, range=DASHES[: len(names)]))
    height = alt.Y("mean:Q", title=None, scale=y)
    return alt.layer(
        band.encode(y=alt.Y("low:Q", title=None), y2="high:Q", opacity=faint),
        base.mark_line(strokeWidth=2).encode(y=height, strokeDash=dash, opacity=shown),
        base.mark_point(size=28, filled=True).encode(y=height, opacity=shown, tooltip=tips),
    )


def line_legend(title: str | None = None) -> alt.Legend:
    return alt.Legend(title=title, orient="top", symbolType="stroke", symbolSize=420, symbolOpacity=1)


def dashes(count: int) -> list[list[int]]:
    """One for each of so many series; beyond the fifth they come again."""
    return [DASHES[index % len(DASHES)] for index in range(count)]


def with_deviation(row: dict[str, Any]) -> dict[str, Any]:
    """A row with one standard deviation around its mean as ``low`` and ``high``, if it has a variance."""
    if row["variance"] is None:
        return row
    spread = math.sqrt(row["variance"])
    return {**row, "low": row["mean"] - spread, "high": row["mean"] + spread}


def few_steps(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether each step is drawn as a point on its line: where every step was recorded, points would hide the line."""
    return len({row["step"] for row in rows}) <= MOST_POINTS


def log_ticks(steps: Sequence[int]) -> list[int]:
    """0 and every other power of two or so, up to the last step; the steps themselves where they are few."""
    last = int(max(steps))
    if len(steps) <= 6:
        return list(steps)
    powers = [2**k for k in range(0, max(1, last.bit_length()), 2)]
    return [0, *(power for power in powers if power <= last)]


def _training_axis(over: str, ticks: Sequence[float] | None) -> alt.X:
    if ticks is None:
        return alt.X(f"{over}:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title=over, tickCount=6, grid=False))
    axis = alt.Axis(values=list(ticks), title=over, format="d", grid=False)
    return alt.X(f"{over}:Q", scale=alt.Scale(type="symlog"), axis=axis)
