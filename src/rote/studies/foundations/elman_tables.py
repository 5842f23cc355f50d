"""The tables that Elman's simulations have in common, and what their claims are about: one value per seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rote.claims import Assertion, PerSeed, above, column
from rote.laboratory.aggregate import BAND, band, bands, grouped
from rote.store import Column, Table

TRAINED, UNTRAINED = "trained", "untrained"
NETWORK = Column("network", "the trained network, the same before training, or counts of so many symbols", "label")
SEED = Column("seed", "random seed of stream and weights", "label")
SEEDS = Column("seeds", "networks, or streams that were counted", "label")
STEP = (Column("step", "place in what is shown", "label"), Column("error", "of the prediction"))
PASS = Column("pass", "passes over the stream", "label")
CURVE = (SEED, PASS, Column("loss", "squared error of a prediction, summed over its bits"))
ERROR = (0.0, math.inf)  # what an error can be


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


def over_steps(table: Table, symbols: Sequence[str], title: str, place: str, axis: str, note: str) -> Table:
    """Mean error at each step of a stream, with the symbol that is predicted there."""
    rows = [
        {**row, "symbol": symbols[row["step"]]} for row in bands(table.records(), ("network", "step"), "error", ERROR)
    ]
    columns = (NETWORK, STEP[0], Column("symbol", "what is predicted there", "label"), *BAND)
    return Table.make(
        "steps", title, columns, rows, place=place, figure="elman-steps", details=True, options={"axis": axis},
        note=f"Bands: 95 % intervals. {note}",
    )  # fmt: skip


def by_label(table: Table, labels: Sequence[Column], title: str, place: str, figure: str, note: str) -> Table:
    """Mean squared error by what these columns say."""
    names = ("network", *(label.name for label in labels))
    return Table.make(
        table.name, title, (NETWORK, *labels, *BAND), bands(table.records(), names, "error", ERROR), place=place,
        figure=figure, details=True, note=note,
    )  # fmt: skip


def curve(table: Table, note: str) -> Table:
    """The mean loss over the passes."""
    return Table.make(
        "curve", "Error of the network over training", (PASS, *BAND),
        bands(table.records(), ("pass",), "loss", ERROR), figure="elman-curve", details=True,
        note=f"Squared error of a prediction, summed over its bits. {note}",
    )  # fmt: skip


def per_seed(name: str, network: str = TRAINED, table: str = "seeds") -> PerSeed:
    """A column, of one kind of network."""
    return column(table, name, network=network)


def drop(first: str, second: str, network: str = TRAINED) -> PerSeed:
    """One column minus another, of the same network."""
    return per_seed(first, network) - per_seed(second, network)


def more_than(label: str, what: Callable[[str], PerSeed], *others: str) -> tuple[Assertion, ...]:
    """Rivals: that the trained networks show it more than these do, which would explain it as well."""
    return tuple(
        Assertion(f"{label}: trained minus {other}", what(TRAINED) - what(other), above(0.0), role="rival")
        for other in others
    )
