"""From the tables of the runs to those of a study: networks, means over seeds with their intervals, learning times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.claims import mean
from rote.store import Column, FinishedRun, Table

LEARNED = 0.5  # the rule counts as learned when P(close) from the open symbol is above this
NETWORK = ("cell", "setting", "k", "n", "seed", "kind")
BAND = (
    Column("seeds", "networks", "label"),
    Column("mean", "mean over seeds"),
    Column("low", "lower end of its 95 % interval"),
    Column("high", "upper end of its 95 % interval"),
)
Row = dict[str, Any]


def collected(runs: Sequence[FinishedRun]) -> dict[str, Table]:
    """The runs' tables of the same name, one below the other."""
    tables: dict[str, Table] = {}
    for run in runs:
        for name, table in run.tables().items():
            earlier = tables.get(name)
            tables[name] = table if earlier is None else replace(earlier, rows=earlier.rows + table.rows)
    return tables


def grouped(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """The rows that agree in these columns, in the order in which they come."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def band(values: Sequence[float | None], probability: bool = True) -> Row:
    """Mean and interval of the values that there are; no interval for one seed."""
    known = [value for value in values if value is not None]
    found = mean(known, bounds=(0.0, 1.0)) if probability else mean(known)
    interval = {"low": found.low, "high": found.high} if len(known) > 1 else {}
    return {"seeds": len(known), "mean": found.value if known else None, **interval}


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
            reached[tuple(row[name] for name in NETWORK)] = row
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
