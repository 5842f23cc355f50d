"""The figures of source 003: loss over training, accuracy and connectivity by known characters. Bands are intervals.

"memorization-training" is its training graph, with both of its axes where the table has times, "memorization-accuracy"
its accuracy graph; "memorization-share" has the single numbers that it wished for. The text in color is in
``memorization_text``.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from rote.figures.figure import Chart, Figure, Rows, columns_of, describe, figures, in_order
from rote.figures.lines import HAS_INTERVAL, dashes, line_legend, only
from rote.store import Table

SET_TITLES = {"train": "training", "valid": "validation"}
NORM_TITLES = {"squared": "squared norm, as drawn by the source", "l2": "norm, as in its formula"}


@figures.register("memorization-training")
def memorization_training(table: Table) -> Figure:
    """Cross entropy of training and validation over mini-batches, and over time where it is known (training graph)."""
    there = {column.name for column in table.columns}
    times = [name for name in ("hours", "minutes") if name in there]  # minutes: in results of earlier versions
    interval = [name for name in ("low", "high") if name in there]
    rows = columns_of(table, "cell", "set", "step", "mean", *times, *interval)
    cells = in_order(rows, "cell")
    rows = [{**row, "set": SET_TITLES.get(row["set"], row["set"])} for row in rows]

    def panel(part: str, over: str, name: str, title: str) -> Chart:
        base = only("rows", set=part)
        x = alt.X(f"{over}:Q", title=title, scale=alt.Scale(nice=False), axis=alt.Axis(grid=False, tickCount=6))
        base = base.encode(x=x, color=_color(cells))
        y = alt.Y("mean:Q", title="cross entropy, nats", scale=alt.Scale(zero=False))
        tips = [
            alt.Tooltip("cell:N"), alt.Tooltip("step:Q"), alt.Tooltip("mean:Q", format=".3f", title="cross entropy"),
        ]  # fmt: skip
        return alt.layer(
            *_band(base, rows, "cross entropy, nats"),
            base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=_dash("cell", cells), tooltip=tips),
        ).properties(width=370, height=180, title=f"{part} loss by {name}")

    axes = [*((unit, "time", f"{unit} of training") for unit in times), ("step", "mini-batches", "mini-batches")]
    panels = [panel(part, *axis) for part in in_order(rows, "set") for axis in axes]
    return Figure(alt.concat(*panels, columns=2, spacing=28), {"rows": rows}, describe(table))


@figures.register("memorization-accuracy")
def memorization_accuracy(table: Table) -> Figure:
    """Accuracy by known characters, a dash for each number of suggestions (accuracy graph); top 1 with its interval."""
    counted = "counted" in {column.name for column in table.columns}
    names = ("cell", "top", "k", "accuracy", "low", "high", *(("counted",) if counted else ()))
    rows = [{**row, "suggestions": f"top {row['top']}"} for row in columns_of(table, *names)]
    cells, tops = in_order(rows, "cell"), in_order(rows, "suggestions")

    def panel(which: str | None) -> Chart:
        base = only("rows", **({} if which is None else {"counted": which}))
        base = base.encode(x=_known_axis(), color=_color(cells))
        tips = [
            alt.Tooltip("cell:N"), alt.Tooltip("suggestions:N"), alt.Tooltip("k:Q", title="known characters"),
            *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("accuracy", "low", "high")),
        ]  # fmt: skip
        y = alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
        detail = [alt.Detail("suggestions:N")]
        lines = alt.layer(
            *_band(base.transform_filter(alt.FieldEqualPredicate(field="top", equal=1)), rows, "accuracy"),
            base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=_dash("suggestions", tops, legend=True)),
            base.mark_point(size=16, filled=True).encode(y=y, detail=detail, tooltip=tips),
        ).properties(width=640 if which is None else 360, height=280)
        return lines if which is None else lines.properties(title=which)

    shown = in_order(rows, "counted") if counted else [None]
    return Figure(alt.concat(*map(panel, shown), columns=2, spacing=28), {"rows": rows}, describe(table))


@figures.register("memorization-share")
def memorization_share(table: Table) -> Figure:
    """Share of connectivity on previous words, and reach, by known characters and by both norms."""
    rows = columns_of(table, "cell", "norm", "k", "measure", "mean", "low", "high")
    cells = in_order(rows, "cell")

    def panel(measure: str, norm: str) -> Chart:
        base = only("rows", measure=measure, norm=norm).encode(x=_known_axis(), color=_color(cells))
        tips = [
            alt.Tooltip("cell:N"), alt.Tooltip("k:Q", title="known characters"),
            *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "low", "high")),
        ]  # fmt: skip
        scale = alt.Scale(domain=[0, 1]) if "share" in measure else alt.Scale(zero=True)
        y = alt.Y("mean:Q", title=measure, scale=scale)
        return alt.layer(
            *_band(base, rows, measure),
            base.mark_line(strokeWidth=2).encode(y=y, strokeDash=_dash("cell", cells)),
            base.mark_point(size=24, filled=True).encode(y=y, tooltip=tips),
        ).properties(width=360, height=190, title=NORM_TITLES.get(norm, norm))

    panels = [panel(measure, norm) for measure in in_order(rows, "measure") for norm in in_order(rows, "norm")]
    return Figure(alt.concat(*panels, columns=2, spacing=28), {"rows": rows}, describe(table))


def _band(base: alt.Chart, rows: Rows, title: str) -> list[alt.Chart]:
    """The interval as an area; nothing where no row has one: an empty layer has no extent."""
    if all(row.get("low") is None or row.get("high") is None for row in rows):
        return []
    known = base.transform_filter(HAS_INTERVAL).mark_area(opacity=0.2, clip=True)
    return [known.encode(y=alt.Y("low:Q", title=title), y2="high:Q")]


def _known_axis() -> alt.X:
    axis = alt.Axis(grid=False, tickMinStep=1)
    return alt.X("k:Q", title="characters of the word that are known", scale=alt.Scale(nice=False), axis=axis)


def _color(cells: list[Any]) -> alt.Color:
    return alt.Color("cell:N", scale=alt.Scale(domain=cells), sort=cells, legend=line_legend())


def _dash(name: str, values: list[Any], legend: bool = False) -> alt.StrokeDash:
    scale = alt.Scale(domain=values, range=dashes(len(values)))
    return alt.StrokeDash(f"{name}:N", scale=scale, legend=line_legend() if legend else alt.Undefined)
