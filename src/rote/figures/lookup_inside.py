"""Inside models of lookup tables, baseline beside guided: source 002, Figures 1 to 4, and its Tables 2 and 3 as dots.

Here blue is positive and orange negative; the source's Figure 2 has red for positive and blue for negative.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import altair as alt
import numpy as np

from rote.figures.figure import Chart, Figure, Rows, columns_of, describe, figures, in_order
from rote.figures.heat import Shades, Side, heat_map
from rote.figures.lines import only
from rote.figures.lookup import WIDTH, Strip, by_cell, model_color, strips
from rote.figures.weights import graph, matrix_of
from rote.store import Table

SIDE_BY_SIDE = 32  # units up to which two embeddings fit beside each other


@figures.register("lookup-embedding")
def lookup_embedding(table: Table) -> Figure:
    """The decoder's embedding of every symbol, each model's in the same shades (Figure 1)."""
    rows = columns_of(table, "cell", "model", "symbol", "unit", "weight")
    shades = Shades.signed(np.array([np.nan if row["weight"] is None else row["weight"] for row in rows]))
    data: dict[str, Rows] = {}

    def panel(cell: str, model: str) -> Chart:
        mine = [row for row in rows if row["cell"] == cell and row["model"] == model]
        values, symbols, units = matrix_of(*([row[name] for row in mine] for name in ("symbol", "unit", "weight")))
        chart, drawn = heat_map(
            f"{cell}-{model}", values, Side("symbol", symbols), Side("unit", units), shades, measure="weight",
            width=min(640.0, 14.0 * len(units)), height=14.0 * len(symbols),
        )  # fmt: skip
        data.update(drawn)
        return chart.properties(title=model)

    models = in_order(rows, "model")
    across = len(models) if len(in_order(rows, "unit")) <= SIDE_BY_SIDE else 1
    chart = by_cell(rows, lambda cell: alt.concat(*(panel(cell, model) for model in models), columns=across))
    return Figure(chart, data, describe(table))


@figures.register("lookup-graphs")
def lookup_graphs(table: Table) -> Figure:
    """The strongest edges from the neurons below to those above, a row of panels for each matrix (Figure 2)."""
    rows = columns_of(table, "cell", "model", "matrix", "receiver", "sender", "weight")
    models, data = in_order(rows, "model"), dict[str, Rows]()
    width = WIDTH // len(models) - 80

    def panel(cell: str, matrix: str, model: str) -> Chart:
        of_both = [row for row in rows if row["cell"] == cell and row["matrix"] == matrix]
        edges = [row for row in of_both if row["model"] == model]
        chart, drawn = _graph(f"{cell}, {matrix}, {model}", edges, _extents(of_both, table.options.get("units", 1)))
        data.update(drawn)
        return chart.properties(width=width, height=190, title=f"{matrix}, {model}")

    def panels(cell: str) -> Chart:
        matrices = in_order([row for row in rows if row["cell"] == cell], "matrix")
        charts = [panel(cell, matrix, model) for matrix in matrices for model in models]
        return alt.concat(*charts, columns=len(models), spacing=24)

    return Figure(by_cell(rows, panels), data, describe(table))


def _extents(edges: Rows, units: int) -> dict[str, float]:
    """How many neurons send and receive, and the strongest weight: the same for both models, to compare them."""
    counts = {role: max(units, 1 + max(edge[role] for edge in edges)) for role in ("sender", "receiver")}
    return {**counts, "weight": max(abs(edge["weight"]) for edge in edges) or 1.0}


def _graph(key: str, edges: Rows, extents: dict[str, float]) -> tuple[Chart, dict[str, Rows]]:
    """What is the same for all edges, or follows from them, is left to the chart: there are thousands."""
    lines = alt.Chart(alt.NamedData(f"{key}, edges")).transform_calculate(
        **{"from": "0", "to": "1"},
        start=f"(datum.sender + 0.5) / {extents['sender']}",
        end=f"(datum.receiver + 0.5) / {extents['receiver']}",
        sign="datum.weight > 0 ? 'positive' : 'negative'",
        strength=f"abs(datum.weight) / {extents['weight']}",
    )
    # The strongest edges last, over the others.
    drawn = [
        {"sender": edge["sender"], "receiver": edge["receiver"], "weight": float(f"{edge['weight']:.6g}")}
        for edge in sorted(edges, key=lambda edge: abs(edge["weight"]))
    ]
    nodes: list[dict[str, Any]] = [
        {"x": (neuron + 0.5) / extents[role], "y": level, "neuron": neuron, "side": side, "degree": degree}
        for level, (side, role) in enumerate((("sends", "sender"), ("receives", "receiver")))
        for neuron, degree in sorted(Counter(edge[role] for edge in edges).items())
    ]
    dots = alt.Chart(alt.NamedData(f"{key}, nodes"))
    # Thin, which is also quicker to draw, and without a spoken label for each of thousands.
    chart = graph(lines, dots, upward=True, sizes=(2, 160), strokeWidth=0.6, aria=False)
    return chart, {f"{key}, edges": drawn, f"{key}, nodes": nodes}


@figures.register("lookup-activations")
def lookup_activations(table: Table) -> Figure:
    """Each neuron's range of activations, and their middle half as a bar, encoder above decoder (Figure 3)."""
    numbers = ("smallest", "lower", "median", "upper", "largest")
    rows = columns_of(table, "cell", "model", "part", "neuron", *numbers)
    models = in_order(rows, "model")
    color = model_color(models)
    low, high = min(-1.0, *(row["smallest"] for row in rows)), max(1.0, *(row["largest"] for row in rows))
    y = alt.Y("smallest:Q", title="activation", scale=alt.Scale(domain=[low, high], nice=False))
    tips = [
        *(alt.Tooltip(f"{name}:N") for name in ("model", "neuron")),
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in numbers),
    ]

    def panel(cell: str, part: str) -> Chart:
        neurons = sorted({row["neuron"] for row in rows if row["cell"] == cell and row["part"] == part})
        step = max(2.0, min(8.0, 760 / len(neurons) / (len(models) + 0.6)))
        base = only("rows", cell=cell, part=part).encode(
            x=alt.X("neuron:O", scale=alt.Scale(domain=neurons), axis=alt.Axis(labelAngle=-90, labelOverlap=True)),
            xOffset=alt.XOffset("model:N", scale=alt.Scale(domain=models)),
            tooltip=tips,
        )
        whole = base.mark_rule(strokeWidth=1, opacity=0.7).encode(y=y, y2="largest:Q", color=color)
        half = base.mark_bar(size=0.7 * step).encode(y=alt.Y("lower:Q", title=None), y2="upper:Q", color=color)
        middle = base.mark_tick(style="summary", size=0.7 * step, thickness=1.5).encode(y="median:Q")
        size = {"width": step * (len(models) + 0.6) * len(neurons), "height": 150}
        return alt.layer(whole, half, middle).properties(title=part, **size)

    parts = in_order(rows, "part")
    chart = by_cell(rows, lambda cell: alt.vconcat(*(panel(cell, part) for part in parts), spacing=18))
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("lookup-gates")
def lookup_gates(table: Table) -> Figure:
    """One dot per unit: how often its gate is shut and how often open; encoder and decoder by gate (Figure 4)."""
    rows = columns_of(table, "cell", "model", "part", "gate", "unit", "left", "right")
    color = model_color(in_order(rows, "model"))
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(values=[0, 0.5, 1], format="%")
    tips = [
        *(alt.Tooltip(f"{name}:N") for name in ("model", "unit")),
        alt.Tooltip("left:Q", title="shut", format=".1%"),
        alt.Tooltip("right:Q", title="open", format=".1%"),
    ]
    line = alt.Chart(alt.NamedData("diagonal")).mark_line(style="reference").encode(x="left:Q", y="right:Q")

    def panel(cell: str, part: str, gate: str) -> Chart:
        dots = only("rows", cell=cell, part=part, gate=gate).mark_circle(
            size=22, opacity=1, fillOpacity=0.5, aria=False
        )
        drawn = dots.encode(
            x=alt.X("left:Q", scale=scale, axis=axis, title="shut (left-saturated)"),
            y=alt.Y("right:Q", scale=scale, axis=axis, title="open (right-saturated)"),
            color=color,
            tooltip=tips,
        )
        return alt.layer(line, drawn).properties(width=190, height=190, title=f"{part}, {gate}")

    def panels(cell: str) -> Chart:
        mine = [row for row in rows if row["cell"] == cell]
        gates = in_order(mine, "gate")
        charts = [panel(cell, part, gate) for part in in_order(mine, "part") for gate in gates]
        return alt.concat(*charts, columns=len(gates), spacing=24)

    diagonal = [{"left": 0.0, "right": 1.0}, {"left": 1.0, "right": 0.0}]
    return Figure(by_cell(rows, panels), {"rows": rows, "diagonal": diagonal}, describe(table))


@figures.register("lookup-groups")
def lookup_groups(table: Table) -> Figure:
    """How many units every seed's functional group has, their mean, and the published mean (Tables 2 and 3)."""
    names = ("cell", "input", "label", "model", "seed", "units", "published")
    rows = [
        {**row, "group": f"{row['input']} → {row['label']}", "low": row["published"], "high": row["published"]}
        for row in columns_of(table, *names)
    ]
    axis = alt.Axis(tickCount=4, format="~s", title="units in the group (dots: seeds, diamond: mean, line: published)")
    return strips(table, rows, Strip("group", "units", alt.Scale(type="log"), axis, ".1f", outline=0.9))
