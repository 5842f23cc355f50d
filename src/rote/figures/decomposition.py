"""Contextual decomposition as a heat map: how much of the state at each step comes from each span."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from rote.figures.figure import Chart, Figure, Rows, columns_of, describe, figures, in_order
from rote.figures.heat import Shades, Side, heat_map
from rote.store import Table

SEQUENCES = 4  # that are shown; the others are in the table


@figures.register("decomposition")
def decomposition(table: Table) -> Figure:
    """Norm of the part of the state that comes from each span, over the steps; dots mark the span itself."""
    rows = columns_of(table, "batch", "span", "time", "relevant")
    sequences = in_order(rows, "batch")
    spans, steps = 1 + max(row["span"] for row in rows), 1 + max(row["time"] for row in rows)
    norms = np.array([np.nan if row["relevant"] is None else row["relevant"] for row in rows])
    shades = Shades.amounts(norms)  # the same for all sequences, so that they can be compared
    charts: list[Chart] = []
    data: dict[str, Rows] = {}
    for sequence in sequences[:SEQUENCES]:
        values = np.full((spans, steps), np.nan)
        for row, norm in zip(rows, norms, strict=True):
            if row["batch"] == sequence:
                values[row["span"], row["time"]] = norm
        positions = table.options.get("positions", {})
        covered = positions[sequence] if positions else [[] for _ in range(spans)]
        labels = [span_label(span) if positions else number for number, span in enumerate(covered)]
        known = ~np.isnan(values)
        dots = [(index, step) for index, span in enumerate(covered) for step in span if known[index, step]]
        chart, mine = heat_map(
            f"spans-{sequence}", values, Side("span", labels), Side("step", range(steps)), shades,
            measure="norm", dots=dots,
        )  # fmt: skip
        data.update(mine)
        charts.append(chart.properties(title=f"sequence {sequence}") if len(sequences) > 1 else chart)
    left_out = len(sequences) > SEQUENCES
    note = f" The first {SEQUENCES} of {len(sequences)} sequences." if left_out else ""
    return Figure(alt.concat(*charts, columns=2, spacing=24), data, describe(table) + note)


def span_label(positions: Sequence[int]) -> str:
    """One position as its number, neighbors as the first and the last, others as a list."""
    if not positions:
        return "none"
    first, last = positions[0], positions[-1]
    if len(positions) == 1:
        return str(first)
    if last - first + 1 == len(positions):
        return f"{first}–{last}"
    return ", ".join(map(str, positions))
