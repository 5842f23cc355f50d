"""Decompositional interdependence as a heat map: pairs of sets of positions over the steps."""

from __future__ import annotations

import altair as alt
import numpy as np

from rote.figures.decomposition import SEQUENCES, span_label
from rote.figures.figure import Chart, Figure, Rows, columns_of, describe, figures, in_order
from rote.figures.heat import Shades, Side, heat_map
from rote.store import Table


@figures.register("interdependence")
def interdependence(table: Table) -> Figure:
    """How far two sets of positions do more together than apart, over the steps; blank where they do nothing."""
    rows = columns_of(table, "batch", "pair", "time", "interdependence")
    sequences = in_order(rows, "batch")
    pairs, steps = 1 + max(row["pair"] for row in rows), 1 + max(row["time"] for row in rows)
    shades = Shades.amounts(np.array([row["interdependence"] for row in rows]))
    sets = table.options.get("sets", {})
    charts: list[Chart] = []
    data: dict[str, Rows] = {}
    for sequence in sequences[:SEQUENCES]:
        values = np.full((pairs, steps), np.nan)
        for row in rows:
            if row["batch"] == sequence:
                values[row["pair"], row["time"]] = row["interdependence"]
        labels = [" with ".join(map(span_label, pair)) for pair in sets[sequence]] if sets else range(pairs)
        chart, mine = heat_map(
            f"pairs-{sequence}", values, Side("pair", labels), Side("step", range(steps)), shades,
            measure="interdependence",
        )  # fmt: skip
        data.update(mine)
        charts.append(chart.properties(title=f"sequence {sequence}") if len(sequences) > 1 else chart)
    note = f" The first {SEQUENCES} of {len(sequences)} sequences." if len(sequences) > SEQUENCES else ""
    return Figure(alt.concat(*charts, columns=2, spacing=24), data, describe(table) + note)
