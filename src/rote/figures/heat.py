"""A matrix as a heat map: one rectangle per number while they are few, so that each can be read, else one image."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import altair as alt
import numpy as np

from rote.figures.figure import Chart, Figure, Rows, describe, in_order
from rote.figures.png import data_uri, encode
from rote.figures.style import shade, shade_scale
from rote.figures.tokens import NAMED, turned, visible
from rote.store import Table

LEVELS = 101  # shades of an image; the exact numbers are in the table
READABLE = 1600  # rectangles in one heat map, each with its own tip
SEQUENCES = 4  # that are shown; the others are in the table
Drawn = tuple[Chart, dict[str, Rows]]  # a chart and its data by name


@dataclass(frozen=True)
class Shades:
    """Which number gets the full orange (low) and the full blue (high); halfway between them the paper shows."""

    low: float
    high: float
    shown_from: float  # where the legend begins

    @classmethod
    def signed(cls, values: np.ndarray) -> Shades:
        most = _most(values)
        return cls(-most, most, -most)

    @classmethod
    def amounts(cls, values: np.ndarray) -> Shades:
        """Of numbers that are never negative: nothing at 0."""
        most = _most(values)
        return cls(-most, most, 0.0)

    @classmethod
    def unit(cls) -> Shades:
        return cls(0.0, 1.0, 0.0)


@dataclass(frozen=True)
class Side:
    """The rows or the columns of a matrix; ``names``: what each of them is, for the axis to be written out."""

    title: str
    labels: Sequence[Any]
    names: Sequence[str] | None = None

    @classmethod
    def of_steps(cls, title: str, steps: int, tokens: Sequence[str] | None) -> Side:
        """Steps of a sequence by their numbers, and by their tokens if these are known and not too many."""
        if tokens is None or steps > NAMED:
            return cls(title, range(steps))
        return cls(title, [f"{step} {tokens[step]}" for step in range(steps)], tokens[:steps])


def heat_map(
    key: str,
    values: np.ndarray,
    rows: Side,
    columns: Side,
    shades: Shades,
    *,
    measure: str = "value",
    dots: Sequence[tuple[int, int]] = (),
    width: float | None = None,
    height: float | None = None,
) -> Drawn:
    """The chart of ``values`` [row, column], first row on top, and its data under names that begin with ``key``.

    NaN is left blank; ``dots`` are (row, column) pairs to be marked, where there are few enough numbers to see them."""
    few = values.size <= READABLE
    x = alt.X("left:Q", scale=_scale(values.shape[1]), axis=_axis(columns, 16, upright=True), title=columns.title)
    y = alt.Y("top:Q", scale=_scale(values.shape[0], down=True), axis=_axis(rows, 24), title=rows.title)
    color = _color(shades, measure)
    base = alt.Chart(alt.NamedData(key))
    drawn: dict[str, Rows] = {key: _rectangles(values, rows, columns) if few else _image(values, shades)}
    if few:
        tips = [
            alt.Tooltip("row:N", title=rows.title),
            alt.Tooltip("column:N", title=columns.title),
            alt.Tooltip("value:Q", title=measure, format=".4~g"),
        ]
        marks = [base.mark_rect().encode(x=x, x2="right:Q", y=y, y2="bottom:Q", color=color, tooltip=tips)]
    else:
        image = base.mark_image(smooth=False, aspect=False)
        marks = [
            image.encode(x=x, x2="right:Q", y=y, y2="bottom:Q", url="url:N"),
            base.mark_point(size=0).encode(x=x, y=y, color=color),  # only for the legend of the shades
        ]
    if few and dots:
        drawn[f"{key}-dots"] = [{"left": column, "top": row} for row, column in dots]
        marks.append(
            alt.Chart(alt.NamedData(f"{key}-dots")).mark_circle(style="summary-point", size=9).encode(x=x, y=y)
        )
    size = {"width": width or _extent(columns), "height": height or _extent(rows)}
    return alt.layer(*marks).properties(**size), drawn


def sequences_beside_each_other(table: Table, rows: Rows, panel: Callable[[Any], Drawn]) -> Figure:
    """The first sequences of a batch, a panel each; where there are others, the description says so."""
    sequences = in_order(rows, "batch")
    charts: list[Chart] = []
    data: dict[str, Rows] = {}
    for sequence in sequences[:SEQUENCES]:
        chart, mine = panel(sequence)
        charts.append(chart.properties(title=f"sequence {sequence}") if len(sequences) > 1 else chart)
        data.update(mine)
    note = shown_of(sequences, SEQUENCES)
    chart = alt.concat(*charts, columns=2, spacing=24)
    if table.note:
        chart = chart.properties(title=alt.TitleParams(wrap(table.note, 60), anchor="start", fontWeight="normal"))
    return Figure(chart, data, describe(table) + note)


def shown_of(sequences: Sequence[Any], most: int) -> str:
    return f" The first {most} of {len(sequences)} sequences." if len(sequences) > most else ""


def _color(shades: Shades, measure: str) -> alt.Color:
    stops, colors = shade_scale()
    domain = [shades.low + stop * (shades.high - shades.low) for stop in stops]
    first = sum(stop <= shades.shown_from for stop in domain) - 1
    domain[first] = shades.shown_from
    legend = alt.Legend(title=measure, orient="right", gradientLength=90, format=".2~g")
    return alt.Color("value:Q", scale=alt.Scale(domain=domain[first:], range=colors[first:], clamp=True), legend=legend)


def _rectangles(values: np.ndarray, rows: Side, columns: Side) -> list[dict[str, Any]]:
    return [
        {
            "row": rows.labels[i], "column": columns.labels[j], "value": float(f"{values[i, j]:.6g}"),
            "left": j - 0.5, "right": j + 0.5, "top": i - 0.5, "bottom": i + 0.5,
        }
        for i, j in np.argwhere(~np.isnan(values)).tolist()
    ]  # fmt: skip


def _image(values: np.ndarray, shades: Shades) -> list[dict[str, Any]]:
    missing = np.isnan(values)
    place = (np.where(missing, shades.low, values) - shades.low) / (shades.high - shades.low)
    indices = np.where(missing, LEVELS, np.rint(place.clip(0, 1) * (LEVELS - 1))).astype(int)
    palette = [*(shade(index / (LEVELS - 1)) for index in range(LEVELS)), (0, 0, 0, 0.0)]
    n_rows, n_columns = values.shape
    frame = {"left": -0.5, "right": n_columns - 0.5, "top": -0.5, "bottom": n_rows - 0.5}
    return [{**frame, "value": (shades.low + shades.high) / 2, "url": data_uri(encode(indices, palette))}]


def _scale(count: int, down: bool = False) -> alt.Scale:
    return alt.Scale(domain=[-0.5, count - 0.5], nice=False, zero=False, reverse=down)


def _axis(side: Side, most: int, upright: bool = False) -> alt.Axis:
    """Ticks at some of the rows or columns, with their labels; at all of them if they have names."""
    every = 1 if side.names else max(1, -(-len(side.labels) // most))
    ticks = list(range(0, len(side.labels), every))
    texts = [visible(str((side.names or side.labels)[tick])) for tick in ticks]
    expression = f"{json.dumps(texts)}[round(datum.value / {every})]"
    angle = turned(texts) if upright and side.names else {}
    return alt.Axis(values=ticks, labelExpr=expression, grid=False, labelOverlap=not side.names, **angle)


def _extent(side: Side) -> float:
    """At least as wide as the names of all rows or columns need."""
    count = len(side.labels)
    return float(max(60, 14 * count if side.names else min(320, 14 * count)))


def _most(values: np.ndarray) -> float:
    known = np.abs(values[~np.isnan(values)])
    return float(known.max()) if known.size and known.max() > 0 else 1.0
