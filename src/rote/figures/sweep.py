"""A sweep: the score against the keys that were varied, with the spread over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures
from rote.figures.lines import HAS_INTERVAL, only
from rote.store import Table

PANELS, SERIES = 6, 4  # beyond so many values a key gets a panel of its own instead: small multiples, one for each key
LOGARITHMIC = 10  # an axis is logarithmic from this ratio of its ends on
Rows = list[dict[str, Any]]


@figures.register("sweep")
def sweep(table: Table) -> Figure:
    """The first key across, a panel for each value of the second, a color for each of the third (or of all others).

    Keys with many values, as random draws have, get a panel each."""
    keys: Sequence[str] = table.options["keys"]
    rows = columns_of(table, *keys, "score", "low", "high", "run")
    trials = [{**row, "number": number} for number, row in enumerate(rows) if row["score"] is not None]
    every = table.options["values"]
    measure = table.options["measure"]
    first, second, rest = (*keys[:1], ""), (*keys[1:2], ""), tuple(keys[2:])
    split = [_named(row, rest) for row in trials]
    few = all(len({row[key] for row in trials}) <= PANELS for key in keys[1:2]) and len(set(split)) <= SERIES
    if few or not keys:
        points = [
            {"x": row.get(first[0], ""), "panel": row.get(second[0], ""), "series": name, **_numbers(row)}
            for row, name in zip(trials, split, strict=True)
        ]
        singles = [{**point, "value": value} for point in points for value in every[point["number"]]]
        chart = _grid(points, measure, first[0], second[0], ", ".join(rest))
        return Figure(chart, {"trials": points, "values": singles}, describe(table))
    data: dict[str, Rows] = {}
    panels = []
    for number, key in enumerate(keys):
        data[f"key {number}"] = [{"x": row[key], "series": "", **_numbers(row)} for row in trials]
        panels.append(_scatter(f"key {number}", data[f"key {number}"], measure, key))
    return Figure(alt.concat(*panels, columns=3), data, describe(table))


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("score", "low", "high", "run", "number")}


def _named(row: dict[str, Any], keys: Sequence[str]) -> str:
    return ", ".join(str(row[key]) for key in keys)


def _grid(points: Rows, measure: str, across: str, panel: str, series: str) -> Chart:
    """Means with their intervals, single values faint behind them."""
    x, tips = _across(points, across or "all"), _tips(points, across or "all", measure)
    color = alt.Color("series:N", title=series) if series else alt.Color("series:N", legend=None)
    score = alt.Y("score:Q", title=measure, scale=alt.Scale(zero=False))

    def layers(**labels: Any) -> Any:
        base, singles = only("trials", **labels), only("values", **labels)
        spread = base.transform_filter(HAS_INTERVAL).mark_rule(strokeWidth=2)
        return alt.layer(
            singles.mark_point(size=18, opacity=0.45).encode(x=x, y=alt.Y("value:Q", title=measure), color=color),
            base.mark_line(strokeWidth=1.5, opacity=0.6).encode(x=x, y=score, color=color),
            spread.encode(x=x, y=alt.Y("low:Q", title=measure), y2="high:Q", color=color),
            base.mark_point(size=45, filled=True, opacity=1).encode(x=x, y=score, color=color, tooltip=tips),
        )

    if not panel:
        alone: alt.LayerChart = layers().properties(width=380, height=260)
        return alone
    names = sorted(dict.fromkeys(point["panel"] for point in points), key=_by_size)
    panels = [layers(panel=name).properties(width=220, height=200, title=f"{panel} = {name}") for name in names]
    together: alt.ConcatChart = alt.concat(*panels, columns=3).resolve_scale(y="shared", color="shared")
    return together


def _scatter(name: str, points: Rows, measure: str, key: str) -> Chart:
    base = alt.Chart(alt.NamedData(name)).encode(x=_across(points, key), color=alt.Color("series:N", legend=None))
    spread = base.transform_filter(HAS_INTERVAL).mark_rule(opacity=0.5)
    height = alt.Y("score:Q", title=measure, scale=alt.Scale(zero=False))
    return alt.layer(
        spread.encode(y=alt.Y("low:Q", title=measure), y2="high:Q"),
        base.mark_point(size=40, filled=True, opacity=1).encode(y=height, tooltip=_tips(points, key, measure)),
    ).properties(width=240, height=200)


def _across(points: Rows, title: str) -> alt.X:
    """Numbers by their size, on a logarithmic axis where they are far apart; anything else by name. Numbers, which a
    trial has as they were written, become numbers here."""
    values = [point["x"] for point in points]
    numbers = [_number(value) for value in values]
    if not points or None in numbers:
        return alt.X("x:N", title=title, sort=list(dict.fromkeys(values)), axis=alt.Axis(labelAngle=0))
    for point, number in zip(points, numbers, strict=True):
        point["x"] = number
    known = [number for number in numbers if number is not None]
    low, high = min(known), max(known)
    kind: Literal["log", "linear"] = "log" if low > 0 and high / low >= LOGARITHMIC else "linear"
    few = sorted(set(known))
    ticks: dict[str, Any] = {"values": few} if len(few) <= 8 else {"tickCount": 5, "labelOverlap": True}
    axis = alt.Axis(labelExpr="format(datum.value, '.4~r')", grid=False, **ticks)
    return alt.X("x:Q", title=title, scale=alt.Scale(type=kind, zero=False, nice=False, padding=12), axis=axis)


def _tips(points: Rows, across: str, measure: str) -> list[alt.Tooltip]:
    kind = "Q" if points and all(isinstance(point["x"], float) for point in points) else "N"
    return [
        alt.Tooltip(f"x:{kind}", title=across),
        alt.Tooltip("score:Q", title=measure, format=".4g"),
        alt.Tooltip("low:Q", title="95 % from", format=".4g"),
        alt.Tooltip("high:Q", title="95 % to", format=".4g"),
        alt.Tooltip("run:N"),
    ]


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _by_size(value: Any) -> tuple[float, str]:
    number = _number(value)
    return (float("inf") if number is None else number, str(value))
