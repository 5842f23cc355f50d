"""The tables that Elman's simulations have in common: means over seeds, errors over a stream, the loss over passes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rote.store import Column, Table
from rote.studies.summaries import BAND, band, bands, grouped

NETWORK = Column("network", "the trained network, the same before training, or counts of so many symbols", "label")
ERROR = (0.0, math.inf)  # what an error can be
SEEDS = Column("seeds", "networks, or streams that were counted", "label")
STEP = (Column("step", "place in what is shown", "label"), Column("error", "of the prediction"))


def per_network(
    table: Table, title: str, place: str, note: str, published: dict[str, float] | None = None, name: str = "outcome"
) -> Table:
    """Means over seeds of every measured column, the trained network first; above them what was published."""
    names = [column for column in table.columns if column.role == "measured"]
    rows = [
        {
            "network": key[0],
            "seeds": len(group),
            **{c.name: band([row[c.name] for row in group])["mean"] for c in names},
        }
        for key, group in grouped(table.records(), ("network",)).items()
    ]
    if published:
        rows.insert(0, {"network": "published", **published})
    return Table.make(name, title, (NETWORK, SEEDS, *names), rows, place=place, note=f"Means over seeds. {note}")


def over_steps(table: Table, symbols: Sequence[str], title: str, place: str, note: str, axis: str) -> Table:
    """Mean error at each step of a stream, with the symbol that is predicted there."""
    rows = [
        {**row, "symbol": symbols[row["step"]]} for row in bands(table.records(), ("network", "step"), "error", ERROR)
    ]  # fmt: skip
    columns = (
        NETWORK, STEP[0],
        Column("symbol", "what is predicted there", "label"), *BAND,
    )  # fmt: skip
    return Table.make(
        "steps", title, columns, rows, place=place, figure="elman-steps", details=True, options={"axis": axis},
        note=f"Bands: 95 % intervals. {note}",
    )  # fmt: skip


def curve(table: Table, note: str) -> Table:
    columns = (Column("pass", "passes over the stream", "label"), *BAND)
    return Table.make(
        "curve", "Error of the network over training", columns, bands(table.records(), ("pass",), "loss", ERROR),
        figure="elman-curve", details=True, note=f"Squared error of a prediction, summed over its bits. {note}",
    )  # fmt: skip
