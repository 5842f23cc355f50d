"""Every analysis on every cell: a tile for each number, task by task."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Figure, columns_of, describe, figures, in_order
from rote.figures.style import shade_scale
from rote.store import Table

FEW = 6  # cells whose panels stand side by side
TONES = {"composes": 1, "by rote": -1, "neither": 0}


@figures.register("matrix")
def matrix(table: Table) -> Figure:
    """Tiles by measure and cell, a panel for each task: blue speaks for composing, orange for learning by rote."""
    rows = [
        {
            **row,
            "shown": "–" if row["mean"] is None else f"{row['mean']:.2f}",
            "tone": TONES[row["says"]] * (row["mean"] or 0),
        }
        for row in columns_of(table, "task", "cell", "says", "measure", "about", "mean", "low", "high")
    ]
    measures, cells = in_order(rows, "measure"), in_order(rows, "cell")
    few = len(cells) <= FEW
    stops, colors = shade_scale()
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("cell:N", sort=cells, title=None, axis=alt.Axis(labelAngle=0 if few else -40, orient="top")),
        y=alt.Y("measure:N", sort=measures, title=None),
        tooltip=[
            alt.Tooltip(name, title=name.split(":")[0], format=".3~g" if name.endswith("Q") else "")
            for name in ("task:N", "cell:N", "measure:N", "about:N", "says:N", "mean:Q", "low:Q", "high:Q")
        ],
    )
    scale = alt.Scale(domain=[2 * stop - 1 for stop in stops], range=list(colors), clamp=True)
    tiles = base.mark_rect(opacity=0.7).encode(color=alt.Color("tone:Q", scale=scale, legend=None))
    panel = alt.layer(tiles, base.mark_text().encode(text="shown:N"))
    order = in_order(rows, "task")
    if few:
        chart = panel.properties(width=220, height=alt.Step(24)).facet(
            column=alt.Column("task:N", sort=order, title=None), spacing=16
        )
    else:
        chart = panel.properties(width=alt.Step(46), height=alt.Step(24)).facet(
            row=alt.Row("task:N", sort=order, title=None), spacing=16
        )
    return Figure(chart, {"rows": rows}, describe(table))
