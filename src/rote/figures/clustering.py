"""A cluster tree as a dendrogram, lying on its side as in Elman 1990, Figure 7: the root left, the names right."""

from __future__ import annotations

from typing import Any

import altair as alt

from rote.figures.figure import Figure, columns_of, describe, figures
from rote.store import Table


@figures.register("dendrogram")
def dendrogram(table: Table) -> Figure:
    """Which labels are joined at which distance."""
    nodes = columns_of(table, "node", "name", "left", "right", "height", "size", "position")
    leaves = [node for node in nodes if node["left"] is None]
    top = max(node["height"] for node in nodes) or 1.0
    measure = table.options.get("metric", "")
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, top * 1.03], reverse=True, nice=False),
        axis=alt.Axis(title=f"distance ({measure})" if measure else "distance", grid=False),
    )
    y = alt.Y("y:Q", scale=alt.Scale(domain=[-0.6, len(leaves) - 0.4], reverse=True, nice=False), axis=None)
    tips = [
        alt.Tooltip("joined:Q", title="joined at", format=".4~g"),
        alt.Tooltip("size:Q", title="labels below"),
    ]
    tree = (
        alt.Chart(alt.NamedData("lines"))
        .mark_rule(style="boundary", strokeCap="square")
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q", tooltip=tips)
    )
    names = (
        alt.Chart(alt.NamedData("leaves"))
        .mark_text(style="strong-note", align="left", dx=6)
        .encode(x="height:Q", y="position:Q", text="name:N")
    )
    chart = alt.layer(tree, names).properties(width=420, height=max(60, 16 * len(leaves)))
    return Figure(chart, {"lines": _lines(nodes), "leaves": leaves}, describe(table))


def _lines(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For every joint a line from each child up to its height, and one between them."""
    by_number = {node["node"]: node for node in nodes}
    lines: list[dict[str, Any]] = []
    for node in nodes:
        if node["left"] is not None:
            children = [by_number[node["left"]], by_number[node["right"]]]
            tip = {"joined": node["height"], "size": node["size"]}
            arms = [
                {**tip, "x": c["height"], "x2": node["height"], "y": c["position"], "y2": c["position"]}
                for c in children
            ]
            first, second = (child["position"] for child in children)
            lines += [*arms, {**tip, "x": node["height"], "x2": node["height"], "y": first, "y2": second}]
    return lines
