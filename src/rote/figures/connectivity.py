"""How far each output depends on each input: a heat map of output steps over input steps (source 003)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rote.figures.figure import Figure, columns_of, figures, in_order
from rote.figures.heat import Drawn, Shades, Side, heat_map, sequences_beside_each_other
from rote.figures.tokens import visible
from rote.store import Table


@figures.register("connectivity")
def connectivity(table: Table) -> Figure:
    """Each output's dependence on the inputs, relative to the largest of that output, as the source shows it."""
    rows = columns_of(table, "batch", "output", "input", "target", "token", "value")
    shades = Shades(-1.0, 1.0, -1.0 if table.options.get("signed") else 0.0)
    numbers = in_order(rows, "batch")

    def panel(sequence: Any) -> Drawn:
        members = [row for row in rows if row["batch"] == sequence]
        outputs, inputs = _side(members, "output", "target"), _side(members, "input", "token")
        values = _relative(members, len(outputs.labels), len(inputs.labels))
        key = f"sequence-{numbers.index(sequence)}"
        return heat_map(key, values, outputs, inputs, shades, measure="of the output's largest")

    return sequences_beside_each_other(table, rows, panel)


def _relative(rows: Sequence[dict[str, Any]], outputs: int, inputs: int) -> np.ndarray:
    """[output, input] over the largest of each output; NaN where an output cannot depend on an input."""
    values = np.full((outputs, inputs), np.nan)
    for row in rows:
        values[row["output"], row["input"]] = np.nan if row["value"] is None else row["value"]
    largest = np.nanmax(np.abs(values), axis=1, keepdims=True)
    return values / np.where(largest > 0, largest, 1.0)


def _side(rows: Sequence[dict[str, Any]], step: str, name: str) -> Side:
    """The steps with what is there, where that is named; a number of a token would be taken for one of a step."""
    names = {row[step]: row[name] for row in rows}
    steps = 1 + max(names)
    known = all(isinstance(found, str) for found in names.values())
    return Side.of_steps(step, steps, [visible(names[at]) for at in range(steps)] if known else None)
