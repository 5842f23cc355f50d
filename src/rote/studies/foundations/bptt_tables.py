"""The tables of the study bptt."""

from __future__ import annotations

from collections.abc import Mapping

from rote.laboratory.aggregate import BAND, bands, grouped
from rote.store import Column, Table

CELL = Column("cell", "recurrent unit", "label")
NETWORK = Column("network", "before or after training", "label")
DISTANCE = Column("distance", "steps back from the loss", "label")
LABELS = (CELL, NETWORK, Column("seed", "random seed of network and sequences", "label"))
TERM = (DISTANCE, Column("log_norm", "log10 of the norm over that of the nearest term"))
MEASURED = (
    Column("decay", "change of log10 of a term's norm for each step back, least squares"),
    Column("farthest", "log10 of the norm of the farthest term over that of the nearest"),
    Column("right", "share of sequences whose first symbol is recalled at the end"),
    Column("sum_error", "log10 of the relative difference between the summed terms and the gradient"),
    Column("without_nearest", "log10 of the same if the nearest term is left out of the sum"),
    Column("engines", "log10 of the largest difference between the terms of chalk and those of torch"),
    Column("states", "log10 of the largest difference between the states of chalk's cell and torch's"),
    Column("derivative", "the same between chalk's gradients and finite differences, a small network"),
)


def all_tables(tables: Mapping[str, Table], note: str) -> list[Table]:
    """The study's tables, from those of its measurements."""
    return [
        _outcome(tables["seeds"], note),
        Table.make(
            "terms", "Terms of the gradient by distance", (CELL, NETWORK, DISTANCE, *BAND),
            bands(tables["terms"].records(), ("cell", "network", "distance"), "log_norm"),
            place="Training: BPTT", figure="bptt-terms", details=True,
            note=f"log10 of the norm over that of the nearest term. Bands: 95 % intervals. {note}",
        ),
        tables["seeds"],
    ]  # fmt: skip


def _outcome(table: Table, note: str) -> Table:
    rows = [
        {
            "cell": cell, "network": network, "seeds": len(group),
            **{column.name: bands(group, (), column.name)[0]["mean"] for column in MEASURED},
        }
        for (cell, network), group in grouped(table.records(), ("cell", "network")).items()
    ]  # fmt: skip
    columns = (CELL, NETWORK, Column("seeds", "networks", "label"), *MEASURED)
    return Table.make("outcome", "Terms of the gradient", columns, rows, note=f"Means over seeds. {note}")
