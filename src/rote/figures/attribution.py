"""What each input adds to an output, as signed bars; and what spans do alone and removed, as a heat map."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from rote.figures.decomposition import span_label
from rote.figures.figure import Figure, columns_of, figures
from rote.figures.heat import Drawn, Shades, Side, heat_map, sequences_beside_each_other
from rote.figures.tokens import tokens_of, turned
from rote.store import Table


@figures.register("attribution")
def attribution(table: Table) -> Figure:
    """A bar for every input: above zero it raises the explained output, below zero it lowers it."""
    rows = columns_of(table, "batch", "time", "value")
    steps = 1 + max(row["time"] for row in rows)

    def panel(sequence: Any) -> Drawn:
        tokens, key = tokens_of(table, sequence), f"inputs-{sequence}"
        names = [str(step) if tokens is None else f"{step} {tokens[step]}" for step in range(steps)]
        data = [{**row, "input": names[row["time"]]} for row in rows if row["batch"] == sequence]
        axis = alt.Axis(**turned(names)) if tokens is not None else alt.Axis(labelAngle=0)
        chart = alt.Chart(alt.NamedData(key)).encode(
            x=alt.X("input:N", sort=names, title="input", axis=axis),
            y=alt.Y("value:Q", title="adds to the output"),
            tooltip=["input:N", alt.Tooltip("value:Q", format=".4~g")],
        )
        return alt.layer(chart.mark_bar()).properties(width=alt.Step(18), height=120), {key: data}

    return sequences_beside_each_other(table, rows, panel)


@figures.register("erasure")
def erasure(table: Table) -> Figure:
    """What every span does to the output alone, when it is removed, and the mean of both."""
    rows = columns_of(table, "batch", "span", "measure", "value")
    measures, spans = ("alone", "removed", "two"), 1 + max(row["span"] for row in rows)
    shades = Shades.signed(np.array([np.nan if row["value"] is None else row["value"] for row in rows]))
    positions = table.options.get("positions", {})

    def panel(sequence: Any) -> Drawn:
        values = np.full((len(measures), spans), np.nan)
        for row in rows:
            if row["batch"] == sequence and row["value"] is not None:
                values[measures.index(row["measure"]), row["span"]] = row["value"]
        tokens = tokens_of(table, sequence)
        covered = positions[sequence] if positions else [[] for _ in range(spans)]
        labels = [span_label(span) if positions else str(number) for number, span in enumerate(covered)]
        if tokens is not None and positions:
            labels = [
                f"{label} {' '.join(tokens[step] for step in span)}"
                for label, span in zip(labels, covered, strict=True)
            ]
        return heat_map(
            f"erased-{sequence}", values, Side("measure", measures, measures), Side("span", labels, labels), shades,
            measure="change of the output",
        )  # fmt: skip

    return sequences_beside_each_other(table, rows, panel)
