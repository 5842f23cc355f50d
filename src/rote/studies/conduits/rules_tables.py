"""What the tables of both studies of conduits have in common: columns, networks, means over seeds, learning times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rote.laboratory import aggregate
from rote.laboratory.aggregate import Row, grouped, interval_columns
from rote.store import Column, Table

LEARNED = 0.5  # the rule counts as learned when P(close) from the open symbol is above this
NETWORK = ("cell", "setting", "k", "n", "seed", "kind")
PROBABILITY = (0.0, 1.0)
CELL = Column("cell", "recurrent unit", "label")
LENGTH = Column("k", "symbols between open and close", "label")
COUNT = Column("n", "rules in the training corpus", "label")
KIND = Column("kind", "conduits of the test: unseen, or those of the training rules", "label")
EPOCH = Column("epoch", "passes over the corpus", "label")
SEEDS = Column("seeds", "networks", "label")
OPEN = (Column("open", "P(close) from the open symbol alone, mean over seeds"), *interval_columns())
CONDUIT = Column("conduit", "P(close) from the conduit as one phrase")
OWN = (
    Column("own", "the network's own P(close)"),
    Column("own_training", "the same with conduits of the training rules"),
    Column("interdependence", "of open symbol and conduit, relative"),
    Column("learned", "networks that learned the rule: P(close) from the open symbol above 1/2 at some time"),
    Column("epochs", "after how many epochs, mean over those"),
)
LEARNED_AT = Column("learned", "first measured epoch with P(close) from the open symbol above 1/2")
ERROR = Column("error", "largest relative error of the decomposition over training, float64")
GROWTH = Column("growth", "largest part over the largest state over training; above 3 the parts cancel and say little")


def key_of(row: Row) -> tuple[Any, ...]:
    """Which network, tested with which kind of conduits."""
    return tuple(row[name] for name in NETWORK)


def log_odds(probability: float) -> float:
    return math.inf if probability >= 1 else math.log(probability / (1 - probability))


def band(values: Sequence[float | None]) -> Row:
    """Mean and interval of probabilities."""
    return aggregate.band(values, PROBABILITY)


def bands(
    rows: Iterable[Row],
    names: Sequence[str],
    columns: Mapping[str, str],
    bounds: tuple[float, float] | None = PROBABILITY,
) -> list[Row]:
    """One row per group and column: its mean over seeds. ``columns``: name of a column -> what it is called."""
    return [
        {**dict(zip(names, key, strict=True)), "measure": title, **aggregate.band([row[name] for row in group], bounds)}
        for key, group in grouped(rows, names).items()
        for name, title in columns.items()
        if any(row[name] is not None for row in group)
    ]


def at_epoch(rows: Iterable[Row], epoch: float) -> list[Row]:
    """The last measurement of every network up to an epoch."""
    reached: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row["epoch"] <= epoch + 1e-9:
            reached[key_of(row)] = row
    return list(reached.values())


def learning_times(rows: Iterable[Row], column: str = "open") -> dict[tuple[Any, ...], float | None]:
    """Of every network: the first measured epoch at which P(close) is above one half; None if there is none."""
    return {
        key: next((row["epoch"] for row in group if (row[column] or 0.0) > LEARNED), None)
        for key, group in grouped(rows, NETWORK).items()
    }


def largest(rows: Iterable[Row], name: str) -> float:
    """Of "error" or "growth" of the decomposition, over the epochs at which it was measured."""
    return max(float(row[name]) for row in rows if row[name] is not None)


def seeds_note(cell: str, seeds: int, others: Sequence[str], other_seeds: int) -> str:
    beside = f"; {', '.join(others)}: {other_seeds}" if others else ""
    return f"Seeds of {cell}: {seeds}{beside}."


def outcomes(networks: Table, labels: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    """By setting, which ``labels`` name: means over its networks, tested with unseen conduits."""
    unseen, seen = (grouped(networks.where(kind=kind).records(), labels) for kind in ("unseen", "training"))
    rows = {}
    for key, group in unseen.items():
        opened, times = band([row["open"] for row in group]), [row["learned"] for row in group]
        rows[key] = {
            **dict(zip(labels, key, strict=True)), "seeds": opened["seeds"], "open": opened["mean"],
            "low": opened.get("low"), "high": opened.get("high"),
            **{name: band([row[name] for row in group])["mean"] for name in ("conduit", "own")},
            "own_training": band([row["own"] for row in seen[key]])["mean"],
            "interdependence": aggregate.band([row["interdependence"] for row in group])["mean"],
            "learned": sum(time is not None for time in times), "epochs": aggregate.band(times)["mean"],
        }  # fmt: skip
    return rows


def prefixes(rows: list[Row], length: int, epochs: float, note: str) -> Table:
    """P(close) from the open symbol and more and more of a conduit of this length, at the end: Figure 2."""
    chosen = [row for row in rows if row["k"] == length and row["kind"] == "unseen"]
    means = [
        {**dict(zip(("cell", "n", "i"), key, strict=True)), **band([row["probability"] for row in group])}
        for key, group in grouped(chosen, ("cell", "n", "i")).items()
    ]
    columns = (CELL, COUNT, Column("i", "symbols of the conduit in the prefix", "label"), *aggregate.BAND)
    return Table.make(
        "figure-2", f"P(close) from prefixes of the rule, k = {length}", columns, means, place="Figure 2",
        figure="conduit-prefixes", details=True, note=f"After {epochs:g} epochs. Bands: 95 % intervals. {note}",
    )  # fmt: skip


def variants(rows: list[Row], names: tuple[str, ...], note: str) -> Table:
    """P(close) from the open symbol at the end, by bias rule and step of reading, where the rule is most frequent."""
    most = max(row["n"] for row in rows)
    chosen = [row for row in rows if row["kind"] == "unseen" and row["n"] == most]
    means = []
    for key, group in grouped(chosen, (*names, "bias", "at")).items():
        labels = dict(zip((*names, "bias", "at"), key, strict=True))
        opened, conduit = band([row["open"] for row in group]), band([row["conduit"] for row in group])
        means.append({**labels, "seeds": opened["seeds"], "open": opened["mean"], "conduit": conduit["mean"]})
    columns = (
        *(Column(name, role="label") for name in names),
        Column("bias", "where products of biases count as relevant", "label"),
        Column("at", "step of reading; at_close as published", "label"),
        SEEDS,
        OPEN[0],
        Column("conduit", "P(close) from the conduit as one phrase, mean over seeds"),
    )
    title = "P(close) by the three published bias rules and both steps of reading"
    return Table.make("variants", title, columns, means, place="Section 3.1", note=f"n = {most}. {note}", details=True)
