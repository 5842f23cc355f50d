"""What a network does over time: every state and gate as a heat map of units over steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from rote.figures.figure import Chart, Figure, Rows, columns_of, describe, figures, in_order, place_name
from rote.figures.heat import Shades, Side, heat_map, shown_of
from rote.figures.tokens import tokens_of
from rote.store import Table

SEQUENCES = 2  # that are shown; the others are in the table


@figures.register("trace")
def trace(table: Table) -> Figure:
    """States and gates of every unit at every step; the first sequences of the batch."""
    rows = columns_of(table, "layer", "direction", "kind", "name", "batch", "time", "unit", "value")
    sequences = in_order(rows, "batch")
    directions = len(in_order(rows, "direction"))
    panels: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if row["batch"] in sequences[:SEQUENCES]:
            place = (row["batch"], row["layer"], row["direction"], row["kind"], row["name"])
            panels.setdefault(place, []).append(row)
    charts: list[Chart] = []
    data: dict[str, Rows] = {}
    in_turn = sorted(panels.items(), key=lambda panel: sequences.index(panel[0][0]))
    for number, ((sequence, layer, direction, kind, name), members) in enumerate(in_turn):
        values = _matrix(members)
        is_gate = kind == "gate" and values[~np.isnan(values)].min() >= 0 and values[~np.isnan(values)].max() <= 1
        shades = Shades.unit() if is_gate else Shades.signed(values)
        units = Side("unit", range(values.shape[0]))
        steps = Side.of_steps("step", values.shape[1], tokens_of(table, sequence))
        chart, mine = heat_map(f"panel-{number}", values, units, steps, shades)
        where = place_name({"layer": layer, "direction": direction}, directions > 1)
        title = f"{name} {'gate' if is_gate else ''}".strip()
        subtitle = where + (f", sequence {sequence}" if len(sequences) > 1 else "")
        charts.append(chart.properties(title=alt.Title(title, subtitle=subtitle)))
        data.update(mine)
    chart = alt.concat(*charts, columns=3, spacing=24).resolve_scale(color="independent")
    return Figure(chart, data, describe(table) + shown_of(sequences, SEQUENCES))


def _matrix(rows: Sequence[dict[str, Any]]) -> np.ndarray:
    """[unit, step], NaN where a sequence has ended."""
    shape = (1 + max(row["unit"] for row in rows), 1 + max(row["time"] for row in rows))
    values = np.full(shape, np.nan)
    for row in rows:
        values[row["unit"], row["time"]] = np.nan if row["value"] is None else row["value"]
    return values
