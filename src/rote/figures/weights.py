"""Weights: a matrix as a heat map (source 002, Figure 1), its strongest edges as a graph (its Figure 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from rote.figures.figure import Chart, Figure, check_columns, columns_of, describe, figures, in_order
from rote.figures.heat import Shades, Side, heat_map
from rote.figures.style import NEGATIVE, POSITIVE
from rote.store import Table


@figures.register("weight-map")
def weight_map(table: Table) -> Figure:
    """Every weight of a matrix, blue above zero and orange below."""
    check_columns(table, "row", "column", "weight")
    values, rows, columns = matrix_of(*(table.column(name) for name in ("row", "column", "weight")))
    chart, data = heat_map(
        "weights", values, Side("row", rows), Side("column", columns), Shades.signed(values), measure="weight",
        width=min(640.0, 14.0 * len(columns)), height=min(480.0, 14.0 * len(rows)),
    )  # fmt: skip
    return Figure(chart, data, describe(table))


def matrix_of(
    rows: Sequence[Any], columns: Sequence[Any], weights: Sequence[float | None]
) -> tuple[np.ndarray, list[Any], list[Any]]:
    """[row, column] and the names of both, in the order in which they come; NaN where there is no weight."""
    names = list(dict.fromkeys(rows)), list(dict.fromkeys(columns))
    i, j = ({name: index for index, name in enumerate(side)} for side in names)
    values = np.full((len(i), len(j)), np.nan)
    for row, column, weight in zip(rows, columns, weights, strict=True):
        values[i[row], j[column]] = np.nan if weight is None else weight
    return values, *names


@figures.register("neuron-graph")
def neuron_graph(table: Table) -> Figure:
    """The strongest edges from sending to receiving neurons; a neuron is as large as it has strong edges."""
    edges = columns_of(table, "receiver", "sender", "weight")
    receivers = table.options.get("receivers", in_order(edges, "receiver"))
    senders = table.options.get("senders", in_order(edges, "sender"))
    height = min(560, max(160, 12 * max(len(receivers), len(senders))))
    place = {
        "sends": {name: (index + 0.5) / len(senders) for index, name in enumerate(senders)},
        "receives": {name: (index + 0.5) / len(receivers) for index, name in enumerate(receivers)},
    }
    strongest = max(abs(edge["weight"]) for edge in edges)
    lines = [
        {
            **edge, "from": 0, "to": 1, "sign": "positive" if edge["weight"] > 0 else "negative",
            "start": place["sends"][edge["sender"]], "end": place["receives"][edge["receiver"]],
            "strength": abs(edge["weight"]) / strongest,
        }
        for edge in edges
    ]  # fmt: skip
    nodes: list[dict[str, Any]] = []
    for x, (side, role) in enumerate((("sends", "sender"), ("receives", "receiver"))):
        for name, degree in Counter(edge[role] for edge in edges).items():
            nodes.append({"x": x, "y": place[side][name], "neuron": name, "side": side, "degree": degree})
    chart = graph(alt.Chart(alt.NamedData("edges")), alt.Chart(alt.NamedData("nodes")))
    return Figure(chart.properties(width=360, height=height), {"edges": lines, "nodes": nodes}, describe(table))


def graph(
    edges: alt.Chart, nodes: alt.Chart, *, upward: bool = False, sizes: tuple[float, float] = (8, 260), **mark: Any
) -> Chart:
    """Senders on the left and receivers on the right, or, ``upward``, senders below and receivers above.

    Edges go from level ``from`` (0) to ``to`` (1) and from place ``start`` to ``end``, both in [0, 1], and have a
    ``sign`` and a ``strength``; nodes have their level and place as ``x`` and ``y``, upward as ``y`` and ``x``.
    ``mark`` changes how an edge is drawn."""
    title = "datum.value ? 'receives' : 'sends'"
    sides = alt.Axis(values=[0, 1], labelExpr=title, grid=False, domain=False, ticks=False)
    levels: dict[str, Any] = {"axis": sides, "title": None, "scale": alt.Scale(domain=[-0.04, 1.04], nice=False)}
    color = alt.Color(
        "sign:N",
        scale=alt.Scale(domain=["positive", "negative"], range=[POSITIVE, NEGATIVE]),
        legend=alt.Legend(title="weight", orient="right"),
    )
    if upward:
        x, y = alt.X("start:Q", scale=alt.Scale(domain=[0, 1]), axis=None), alt.Y("from:Q", **levels)
    else:
        x, y = alt.X("from:Q", **levels), alt.Y("start:Q", scale=alt.Scale(domain=[0, 1], reverse=True), axis=None)
    lines = edges.mark_rule(**{"strokeWidth": 1, **mark}).encode(
        x=x,
        x2="end:Q" if upward else "to:Q",
        y=y,
        y2="to:Q" if upward else "end:Q",
        color=color,
        # Not the mark's opacity: to write a PNG, each such line is then a picture of its own, a minute for thousands.
        strokeOpacity=alt.StrokeOpacity("strength:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 0.8]), legend=None),
        tooltip=[alt.Tooltip("sender:N"), alt.Tooltip("receiver:N"), alt.Tooltip("weight:Q", format=".3f")],
    )
    dots = nodes.mark_circle(style="summary-point").encode(
        x="x:Q",
        y="y:Q",
        size=alt.Size("degree:Q", scale=alt.Scale(range=list(sizes)), legend=alt.Legend(title="strong edges")),
        tooltip=[alt.Tooltip("neuron:N"), alt.Tooltip("side:N"), alt.Tooltip("degree:Q", title="strong edges")],
    )
    return alt.layer(lines, dots)
