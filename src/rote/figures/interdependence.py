"""Decompositional interdependence as a heat map: pairs of sets of positions over the steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from rote.figures.decomposition import span_label
from rote.figures.figure import Figure, columns_of, figures
from rote.figures.heat import Drawn, Shades, Side, heat_map, sequences_beside_each_other
from rote.figures.tokens import tokens_of
from rote.store import Table


@figures.register("interdependence")
def interdependence(table: Table) -> Figure:
    """How far two sets of positions do more together than apart, over the steps; blank where they do nothing."""
    rows = columns_of(table, "batch", "pair", "time", "interdependence")
    pairs, steps = 1 + max(row["pair"] for row in rows), 1 + max(row["time"] for row in rows)
    shades = Shades.amounts(np.array([row["interdependence"] for row in rows]))
    sets = table.options.get("sets", {})

    def panel(sequence: Any) -> Drawn:
        values = np.full((pairs, steps), np.nan)
        for row in rows:
            if row["batch"] == sequence:
                values[row["pair"], row["time"]] = row["interdependence"]
        labels = [" with ".join(map(span_label, pair)) for pair in sets[sequence]] if sets else range(pairs)
        along = Side.of_steps("step", steps, tokens_of(table, sequence))
        return heat_map(
            f"pairs-{sequence}", values, Side("pair", labels), along, shades, measure="interdependence"
        )  # fmt: skip

    return sequences_beside_each_other(table, rows, panel)
