"""How far each output depends on each input: a heat map of output steps over input steps (source 003)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rote.figures.figure import Figure, columns_of, figures, in_order
from rote.figures.heat import Drawn, Shades, Side, heat_map, sequences_beside_each_other
from rote.store import Table

NAMED = 40  # steps whose tokens are written beside their numbers


@figures.register("connectivity")
def connectivity(table: Table) -> Figure:
    """Each output's dependence on the inputs, relative to the largest of that output, as the source shows it."""
    rows = columns_of(table, "batch", "output", "input", "target", "token", "value")
    shades = Shades(-1.0, 1.0, -1.0 if table.options.get("signed") else 0.0)
    numbers = in_order(rows, "batch")

    def panel(sequence: Any) -> Drawn:
        members = [row for row in rows if row["batch"] == sequence]
        values = _relative(members)
        steps = range(len(values))
        return heat_map(
            f"sequence-{numbers.index(sequence)}", values, Side("output", _labels(members, "output", "target", steps)),
            Side("input", _labels(members, "input", "token", steps)), shades, measure="of the output's largest",
        )  # fmt: skip

    return sequences_beside_each_other(table, rows, panel)


def _relative(rows: Sequence[dict[str, Any]]) -> np.ndarray:
    """[output, input] over the largest of each output; NaN where an output cannot depend on an input."""
    size = 1 + max(max(row["output"], row["input"]) for row in rows)
    values = np.full((size, size), np.nan)
    for row in rows:
        values[row["output"], row["input"]] = np.nan if row["value"] is None else row["value"]
    largest = np.nanmax(np.abs(values), axis=1, keepdims=True)
    return values / np.where(largest > 0, largest, 1.0)


def _labels(rows: Sequence[dict[str, Any]], step: str, name: str, steps: range) -> list[str]:
    """Each step with what is there: "12 the"; only its number where there are too many to be read."""
    names = {row[step]: row[name] for row in rows}
    return [str(at) if names[at] is None or len(steps) > NAMED else f"{at} {names[at]}" for at in steps]
