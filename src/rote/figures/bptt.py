"""The terms of the gradient of a recurrent weight by distance (source 004, study "bptt")."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Figure, columns_of, describe, figures, in_order
from rote.figures.lines import band_lines, chosen_in_legend, only
from rote.store import Table


@figures.register("bptt-terms")
def bptt_terms(table: Table) -> Figure:
    """log10 of a term's norm over that of the nearest: one panel before training and one after, a line per cell."""
    rows = columns_of(table, "cell", "network", "distance", "mean", "low", "high")
    chosen, panels = chosen_in_legend("cell"), []
    means = [row["mean"] for row in rows]
    scale = alt.Scale(domain=[min([*means, -0.5]), max([*means, 0.5])])  # the same for both
    for number, network in enumerate(in_order(rows, "network")):
        lines = band_lines(
            only("rows", network=network), "log10", chosen, series="cell", names=in_order(rows, "cell"),
            over="distance", y=scale,
        )  # fmt: skip
        panel = lines.properties(width=340, height=220, title=f"{network}: log10 of the norm, nearest term = 0")
        panels.append(panel.add_params(chosen) if number == 0 else panel)
    return Figure(alt.hconcat(*panels), {"rows": rows}, describe(table))
