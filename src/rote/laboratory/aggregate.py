"""From the tables of runs to those of a study: rows collected, grouped, and averaged over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rote.claims import Estimate, mean
from rote.store import Column, FinishedRun, Table

Row = dict[str, Any]


def interval_columns(of: str = "") -> tuple[Column, Column]:
    """The columns of a 95 % interval; ``of`` names the column that it belongs to, where a table has several."""
    low, high = (f"{of}_low", f"{of}_high") if of else ("low", "high")
    return Column(low, "lower end of its 95 % interval"), Column(high, "upper end of its 95 % interval")


BAND = (Column("seeds", "networks", "label"), Column("mean", "mean over seeds"), *interval_columns())


def interval_values(found: Estimate, of: str = "") -> Row:
    """What stands in these columns; nothing for an estimate from one value, or from values without spread."""
    low, high = interval_columns(of)
    known = found.n > 1 and math.isfinite(found.low) and math.isfinite(found.high)
    return {low.name: found.low, high.name: found.high} if known else {}


def collected(runs: Sequence[FinishedRun]) -> dict[str, Table]:
    """The tables of all runs, those of the same name joined."""
    return joined(table for run in runs for table in run.tables().values())


def joined(tables: Iterable[Table]) -> dict[str, Table]:
    """By name: tables of the same name one below the other, with the columns of the first."""
    by_name: dict[str, Table] = {}
    for table in tables:
        first = by_name.setdefault(table.name, replace(table, rows=()))
        # By the names of columns: a run by another state of the program may have had other ones.
        same = table.columns == first.columns
        rows = table.rows if same else Table.make(table.name, "", first.columns, table.records()).rows
        by_name[table.name] = replace(first, rows=first.rows + rows)
    return by_name


def grouped(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """The rows that agree in these columns, in the order in which they come."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def band(values: Sequence[float | None], bounds: tuple[float, float] | None = None) -> Row:
    """Mean and interval of the values that there are; no interval for one."""
    known = [value for value in values if value is not None]
    found = mean(known) if bounds is None else mean(known, bounds=bounds)
    return {"seeds": len(known), "mean": found.value if known else None, **interval_values(found)}


def bands(
    rows: Iterable[Row], names: Sequence[str], value: str, bounds: tuple[float, float] | None = None
) -> list[Row]:
    """One row per group: the mean of a column over seeds."""
    return [
        {**dict(zip(names, key, strict=True)), **band([row[value] for row in group], bounds)}
        for key, group in grouped(rows, names).items()
    ]
