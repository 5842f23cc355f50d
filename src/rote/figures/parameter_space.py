"""Source 001: its Figure 1 (right), with networks and losses that were measured, and its Figure 2, a drawing."""

from __future__ import annotations

from typing import Any

import altair as alt

from rote.errors import UsageError
from rote.figures.figure import Figure, columns_of, describe, figures, in_order
from rote.figures.style import POSITIVE
from rote.store import Table

SIDE = 380
NAMES = {"start": "initial weights", "found": "found by training (θB)"}


@figures.register("loss-landscape")
def loss_landscape(table: Table) -> Figure:
    """The loss on a plane of parameter space, the three networks that it goes through, and the way of the training."""
    rows = columns_of(table, "kind", "seed", "step", "x", "y", "loss")
    cells = _cells([row for row in rows if row["kind"] == "loss"], table.name)
    way = [row for row in rows if row["kind"] == "way"]
    networks = [
        {**row, "name": NAMES.get(row["kind"], f"{row['kind']} (θA)")}
        for row in rows
        if row["kind"] not in ("loss", "way")
    ]
    unscaled, plain = alt.Scale(nice=False, zero=False), alt.Axis(grid=False)
    x = alt.X("left:Q", title="towards what training finds", scale=unscaled, axis=plain)
    y = alt.Y("bottom:Q", title="towards a solution that composes", scale=unscaled, axis=plain)
    scale = alt.Scale(type="log", range=[POSITIVE, "#ffffff00"], clamp=True)
    color = alt.Color("loss:Q", scale=scale, legend=alt.Legend(title="loss of setting A", format=".2~g"))
    tips = [alt.Tooltip("loss:Q", format=".3~g")]
    ground = alt.Chart(alt.NamedData("cells")).mark_rect()
    ground = ground.encode(x=x, x2="right:Q", y=y, y2="top:Q", color=color, tooltip=tips)
    line = alt.Chart(alt.NamedData("way")).mark_line(style="boundary", point=True)
    line = line.encode(x="x:Q", y="y:Q", order="step:Q", tooltip=[alt.Tooltip("step:Q")])
    marks = alt.Chart(alt.NamedData("networks"))
    dots = marks.mark_point(style="summary-point", filled=True, size=90).encode(x="x:Q", y="y:Q")
    names = marks.mark_text(style="strong-note", dy=-12).encode(x="x:Q", y="y:Q", text="name:N")
    chart = alt.layer(ground, line, dots, names).properties(width=SIDE, height=SIDE)
    return Figure(chart, {"cells": cells, "way": way, "networks": networks}, describe(table))


def _cells(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Each point of the grid as a square around it."""
    sides = in_order(rows, "x")
    if len(sides) < 2 or len(rows) != len(sides) ** 2:
        raise UsageError(
            f"The figure 'loss-landscape' needs a square grid of losses, of at least 2 x 2. The table {name!r} has "
            f"{len(rows)} losses for {len(sides)} places."
        )
    half = (sides[1] - sides[0]) / 2
    return [
        {
            "left": row["x"] - half, "right": row["x"] + half, "bottom": row["y"] - half, "top": row["y"] + half,
            "loss": row["loss"],
        }
        for row in rows
    ]  # fmt: skip


@figures.register("extended-network")
def extended_network(table: Table) -> Figure:
    """Boxes and arrows: the network of interest, and what the proof puts around it (Figure 2)."""
    rows = columns_of(table, "kind", "name", "x", "y", "to_x", "to_y")
    parts = {kind: [row for row in rows if row["kind"] == kind] for kind in ("variable", "network", "arrow")}
    x, y = _place("x"), alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.4, 2.4], nice=False))
    arrows = alt.Chart(alt.NamedData("arrow")).mark_rule(style="reference", strokeDash=[1, 0])
    arrows = arrows.encode(x=x, x2="to_x:Q", y=y, y2="to_y:Q")
    heads = alt.Chart(alt.NamedData("arrow")).mark_point(style="summary-point", filled=True, shape="triangle-right")
    heads = heads.encode(x=_place("to_x"), y=alt.Y("to_y:Q", axis=None))
    boxes = alt.Chart(alt.NamedData("network"))
    frames = boxes.mark_rect(style="outline", width=58, height=176, filled=False).encode(x=x, y=y)
    names = [
        alt.Chart(alt.NamedData(kind)).mark_text(style="strong-note").encode(x=x, y=y, text="name:N")
        for kind in ("network", "variable")
    ]
    chart = alt.layer(arrows, heads, frames, *names).properties(width=760, height=200)
    return Figure(chart, parts, describe(table))


def _place(column: str) -> alt.X:
    return alt.X(f"{column}:Q", axis=None, scale=alt.Scale(domain=[-0.5, 10.5], nice=False))
