"""Weights: a matrix as a heat map (source 002, Figure 1), its strongest edges as a graph (its Figure 2)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.heat import Shades, Side, heat_map
from rote.figures.style import NEGATIVE, POSITIVE
from rote.store import Table


@figures.register("weight-map")
def weight_map(table: Table) -> Figure:
    """Every weight of a matrix, blue above zero and orange below."""
    columns_of(Table(**{**table.__dict__, "rows": table.rows[:1]}), "row", "column", "weight")  # only to check
    rows, columns = (list(dict.fromkeys(table.column(name))) for name in ("row", "column"))
    i, j = ({name: index for index, name in enumerate(names)} for names in (rows, columns))
    values = np.full((len(rows), len(columns)), np.nan)
    for row, column, weight in zip(*(table.column(name) for name in ("row", "column", "weight")), strict=True):
        values[i[row], j[column]] = np.nan if weight is None else weight
    chart, data = heat_map(
        "weights", values, Side("row", rows), Side("column", columns), Shades.signed(values), measure="weight",
        width=min(640.0, 14.0 * len(columns)), height=min(480.0, 14.0 * len(rows)),
    )  # fmt: skip
    return Figure(chart, data, describe(table))


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
        for name in in_order(edges, role):
            degree = sum(edge[role] == name for edge in edges)
            nodes.append({"x": x, "y": place[side][name], "neuron": name, "side": side, "degree": degree})
    return Figure(_graph(height), {"edges": lines, "nodes": nodes}, describe(table))


def _graph(height: int) -> Chart:
    sides = alt.Axis(
        values=[0, 1], labelExpr="datum.value ? 'receives' : 'sends'", grid=False, domain=False, ticks=False
    )
    y = alt.Scale(domain=[0, 1], reverse=True)
    color = alt.Color(
        "sign:N",
        scale=alt.Scale(domain=["positive", "negative"], range=[POSITIVE, NEGATIVE]),
        legend=alt.Legend(title="weight", orient="right"),
    )
    lines = (
        alt.Chart(alt.NamedData("edges"))
        .mark_rule(strokeWidth=1)
        .encode(
            x=alt.X("from:Q", axis=sides, title=None, scale=alt.Scale(domain=[-0.04, 1.04], nice=False)),
            x2="to:Q",
            y=alt.Y("start:Q", scale=y, axis=None),
            y2="end:Q",
            color=color,
            opacity=alt.Opacity("strength:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 0.8]), legend=None),
            tooltip=[alt.Tooltip("sender:N"), alt.Tooltip("receiver:N"), alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    nodes = (
        alt.Chart(alt.NamedData("nodes"))
        .mark_circle(style="summary-point")
        .encode(
            x="x:Q",
            y="y:Q",
            size=alt.Size("degree:Q", scale=alt.Scale(range=[8, 260]), legend=alt.Legend(title="strong edges")),
            tooltip=[alt.Tooltip("neuron:N"), alt.Tooltip("side:N"), alt.Tooltip("degree:Q", title="strong edges")],
        )
    )
    return alt.layer(lines, nodes).properties(width=360, height=height)
