"""Contextual decomposition as a heat map: how much of the state at each step comes from each span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rote.figures.figure import Figure, columns_of, figures
from rote.figures.heat import Drawn, Shades, Side, heat_map, sequences_beside_each_other
from rote.figures.tokens import tokens_of
from rote.store import Table


@figures.register("decomposition")
def decomposition(table: Table) -> Figure:
    """Norm of the part of the state that comes from each span, over the steps; dots mark the span itself."""
    rows = columns_of(table, "batch", "span", "time", "relevant")
    spans, steps = 1 + max(row["span"] for row in rows), 1 + max(row["time"] for row in rows)
    norms = np.array([np.nan if row["relevant"] is None else row["relevant"] for row in rows])
    shades = Shades.amounts(norms)  # the same for all sequences, so that they can be compared
    positions = table.options.get("positions", {})

    def panel(sequence: Any) -> Drawn:
        values = np.full((spans, steps), np.nan)
        for row, norm in zip(rows, norms, strict=True):
            if row["batch"] == sequence:
                values[row["span"], row["time"]] = norm
        covered = positions[sequence] if positions else [[] for _ in range(spans)]
        labels = [span_label(span) if positions else number for number, span in enumerate(covered)]
        known = ~np.isnan(values)
        dots = [(index, step) for index, span in enumerate(covered) for step in span if known[index, step]]
        return heat_map(
            f"spans-{sequence}", values, Side("span", labels), Side.of_steps("step", steps, tokens_of(table, sequence)),
            shades,
            measure="norm", dots=dots,
        )  # fmt: skip

    return sequences_beside_each_other(table, rows, panel)


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
