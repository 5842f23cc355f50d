"""The figures of source 000: P(close) by length and frequency, over prefixes, and over training. Bands are intervals.

"conduit-grid" is the source's Figure 1, "conduit-prefixes" its Figure 2, "conduit-predictability" its Figure 3; the
others show what it does not: learning over training, the networks' own probability, gradients through the conduit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import HAS_INTERVAL, dashes, line_legend
from rote.store import Table

BAND = ("mean", "low", "high")
WIDTH = 840  # of a row of panels


@figures.register("conduit-grid")
def conduit_grid(table: Table) -> Figure:
    """P(close) by the conduit's length, a line for each count of rules (Figure 1)."""
    rows = columns_of(table, "cell", "k", "n", "measure", *BAND)
    chart = _curves(
        rows, x="k", title="length of the conduit, k", color="n", row="measure", column="cell", shared=False
    )
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("conduit-prefixes")
def conduit_prefixes(table: Table) -> Figure:
    """P(close) from the open symbol and more and more of the conduit (Figure 2)."""
    rows = columns_of(table, "cell", "n", "i", *BAND)
    title = "symbols of the conduit in the prefix, i"
    return Figure(_curves(rows, x="i", title=title, color="n", column="cell"), {"rows": rows}, describe(table))


@figures.register("conduit-training")
def conduit_training(table: Table) -> Figure:
    """P(close) over training for every length and count, of the first cell of the table."""
    rows = columns_of(table, "cell", "k", "n", "epoch", "measure", *BAND)
    rows = [{**row, "length": f"k = {row['k']}"} for row in rows if row["cell"] == rows[0]["cell"]]
    chart = _curves(rows, x="epoch", title="epochs", color="n", row="measure", column="length")
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("conduit-predictability")
def conduit_predictability(table: Table) -> Figure:
    """P(close) from the open symbol over training: unpredictable solid, predictable dashed (Figure 3)."""
    rows = _split(columns_of(table, "cell", "setting", "k", "epoch", *BAND))
    chart = _curves(rows, x="epoch", title="epochs", color="k", dash="conduits", column="panel")
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("conduit-own")
def conduit_own(table: Table) -> Figure:
    """The networks' own P(close) over training, with unseen conduits and with those of the training rules."""
    rows = _split(columns_of(table, "cell", "setting", "kind", "k", "epoch", *BAND))
    chart = _curves(rows, x="epoch", title="epochs", color="k", dash="conduits", row="kind", column="panel")
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("conduit-procedure")
def conduit_procedure(table: Table) -> Figure:
    """P(close) over training, a line for each procedure of training."""
    rows = columns_of(table, "procedure", "epoch", "measure", *BAND)
    chart = _curves(rows, x="epoch", title="epochs", color="procedure", column="measure")
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("conduit-gradients")
def conduit_gradients(table: Table) -> Figure:
    """What of the loss at the close symbol reaches the open symbol, over training, of the first cell of the table."""
    rows = _split(columns_of(table, "cell", "setting", "kind", "k", "epoch", "measure", *BAND))
    rows = [{**row, "panel": f"{row['kind']} conduits"} for row in rows if row["panel"] == rows[0]["panel"]]
    chart = _curves(
        rows, x="epoch", title="epochs", color="k", dash="conduits", row="measure", column="panel",
        probability=False, shared=False,
    )  # fmt: skip
    return Figure(chart, {"rows": rows}, describe(table))


def _split(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The setting "predictable, as published" is a dash and, with its cell, a panel."""
    split = []
    for row in rows:
        conduits, _, generator = row["setting"].partition(", ")
        panel = f"{row['cell']}, {generator or 'clean'}"
        split.append({**row, "conduits": conduits, "panel": panel})
    return split


def _curves(
    rows: Sequence[dict[str, Any]],
    *,
    x: str,
    title: str,
    color: str,
    column: str,
    row: str | None = None,
    dash: str | None = None,
    probability: bool = True,
    shared: bool = True,
) -> Chart:
    """Panels of lines with bands, on one axis of probabilities if ``shared``. Without a ``dash`` of its own a line's
    color comes with a dash."""
    series, across = in_order(rows, color), in_order(rows, column)
    base = alt.Chart().encode(
        x=alt.X(f"{x}:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(grid=False, tickMinStep=1)),
        color=alt.Color(f"{color}:N", scale=alt.Scale(domain=series), sort=series, legend=line_legend(color)),
    )
    scale = alt.Scale(domain=[0, 1]) if probability and shared else alt.Scale(zero=probability)
    label = "P(close)" if probability else "log10"
    heights = (alt.Y("mean:Q", title=label, scale=scale), alt.Y("low:Q", title=label))
    names = [name for name in dict.fromkeys((column, row, color, dash or color, x)) if name]
    stroke = _stroke(rows, dash or color, named=dash is not None)
    layers = alt.layer(*_layers(base, heights, stroke, [f"{dash}:N"] if dash else [], names)).properties(
        width=max(130, min(360, WIDTH // len(across) - 40)), height=170
    )
    header = alt.Header(title=None, labelFontWeight=600, labelPadding=4)
    panels: dict[str, Any] = {"column": alt.Column(f"{column}:N", sort=across, header=header)}
    if row is not None:
        panels["row"] = alt.Row(f"{row}:N", sort=in_order(rows, row), header=header)
    chart: Chart = layers.facet(**panels, data=alt.NamedData("rows"), spacing=16)
    return chart if shared else chart.resolve_scale(y="independent")


def _layers(
    base: alt.Chart, heights: tuple[alt.Y, alt.Y], stroke: alt.StrokeDash, detail: list[str], names: Sequence[str]
) -> tuple[alt.Chart, ...]:
    """Band, line and points, whose tips have the named columns; ``heights``: of the mean and where the band begins."""
    y, low = heights
    tips = [
        *(alt.Tooltip(f"{name}:N") for name in names),
        *(alt.Tooltip(f"{name}:Q", format=".4g") for name in BAND),
    ]
    # Without an interval the band has no height: a panel where no row has one would have no extent.
    ends = {name: f"{HAS_INTERVAL} ? datum.{name} : datum.mean" for name in ("low", "high")}
    shaded = base.transform_calculate(**ends).mark_area(opacity=0.18, clip=True)
    return (
        shaded.encode(y=low, y2="high:Q", detail=detail),
        base.mark_line(strokeWidth=2).encode(y=y, strokeDash=stroke),
        base.mark_point(size=24, filled=True).encode(y=y, detail=detail, tooltip=tips),
    )


def _stroke(rows: Sequence[dict[str, Any]], column: str, named: bool) -> alt.StrokeDash:
    patterns = in_order(rows, column)
    scale = alt.Scale(domain=patterns, range=dashes(len(patterns)))
    return alt.StrokeDash(f"{column}:N", scale=scale, legend=line_legend(column) if named else alt.Undefined)
