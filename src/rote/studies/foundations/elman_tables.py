"""The tables that Elman's simulations have in common, and the numbers that their claims judge: one value per seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rote.claims import Estimate, Tables, mean, paired_difference
from rote.laboratory.aggregate import BAND, band, bands, column_of, grouped, measured
from rote.store import Column, Table

TRAINED, UNTRAINED = "trained", "untrained"
NETWORK = Column("network", "the trained network, the same before training, or counts of so many symbols", "label")
SEED = Column("seed", "random seed of stream and weights", "label")
SEEDS = Column("seeds", "networks, or streams that were counted", "label")
STEP = (Column("step", "place in what is shown", "label"), Column("error", "of the prediction"))
PASS = Column("pass", "passes over the stream", "label")
CURVE = (SEED, PASS, Column("loss", "squared error of a prediction, summed over its bits"))
ERROR = (0.0, math.inf)  # what an error can be
SHARE = (0.0, 1.0)


def counts_name(order: int) -> str:
    return f"counts of {order}"


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
    ]
    columns = (NETWORK, STEP[0], Column("symbol", "what is predicted there", "label"), *BAND)
    return Table.make(
        "steps", title, columns, rows, place=place, figure="elman-steps", details=True, options={"axis": axis},
        note=f"Bands: 95 % intervals. {note}",
    )  # fmt: skip


def curve(table: Table, note: str) -> Table:
    """The mean loss over the passes."""
    return Table.make(
        "curve", "Error of the network over training", (PASS, *BAND),
        bands(table.records(), ("pass",), "loss", ERROR), figure="elman-curve", details=True,
        note=f"Squared error of a prediction, summed over its bits. {note}",
    )  # fmt: skip


def average(
    name: str, network: str = TRAINED, bounds: tuple[float, float] = (-math.inf, math.inf), table: str = "seeds"
) -> Callable[[Tables], Estimate]:
    """The mean of a column over the seeds of one kind of network."""
    return measured(lambda tables: mean(column_of(tables[table], name, network=network), bounds))


def difference(first: str, second: str, network: str = TRAINED) -> Callable[[Tables], Estimate]:
    """One column minus another, of the same network."""
    return measured(
        lambda tables: paired_difference(
            column_of(tables["seeds"], first, network=network), column_of(tables["seeds"], second, network=network)
        )
    )


def over(name: str, other: str) -> Callable[[Tables], Estimate]:
    """A column of the trained networks minus the same of others."""
    return measured(
        lambda tables: paired_difference(
            column_of(tables["seeds"], name, network=TRAINED), column_of(tables["seeds"], name, network=other)
        )
    )
