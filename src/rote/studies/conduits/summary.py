"""From the tables of the runs to those of a study: networks, means over seeds with their intervals, learning times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rote.studies import summaries
from rote.studies.summaries import Row, grouped

LEARNED = 0.5  # the rule counts as learned when P(close) from the open symbol is above this
NETWORK = ("cell", "setting", "k", "n", "seed", "kind")


def key_of(row: Row) -> tuple[Any, ...]:
    """Which network, tested with which kind of conduits."""
    return tuple(row[name] for name in NETWORK)


def band(values: Sequence[float | None], probability: bool = True) -> Row:
    return summaries.band(values, (0.0, 1.0) if probability else None)


def bands(rows: Iterable[Row], names: Sequence[str], columns: Mapping[str, str], probability: bool = True) -> list[Row]:
    """One row per group and column: its mean over seeds. ``columns``: name of a column -> what it is called."""
    return [
        {**dict(zip(names, key, strict=True)), "measure": title, **band([row[name] for row in group], probability)}
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


def largest_error(rows: Iterable[Row]) -> float:
    """Of the decomposition, over the measurements at which it was measured."""
    return max(float(row["error"]) for row in rows if row["error"] is not None)
