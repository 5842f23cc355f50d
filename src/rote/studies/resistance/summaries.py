"""Rows of many networks over training, summarized: what the studies of this source have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from rote.claims import mean
from rote.store import Column, Table
from rote.studies.summaries import Row, grouped

Rows = Sequence[Row]


def average(values: Iterable[float | None]) -> float | None:
    """Of those that there are."""
    found = [value for value in values if value is not None]
    return fmean(found) if found else None


def over_training(
    name: str, title: str, rows: Rows, measures: Mapping[str, Callable[[Row], float]], note: str, setting: Column
) -> Table:
    """Mean and interval over seeds of each measure, by setting and step: the table of "information-training"."""
    long = []
    for (which, step), mine in grouped(rows, ("setting", "step")).items():
        for measure, value in measures.items():
            found = mean([value(row) for row in mine])
            interval = {"low": found.low, "high": found.high} if found.n > 1 else {}
            long.append({"setting": which, "step": step, "measure": measure, "mean": found.value, **interval})
    columns = (
        setting,
        Column("step", "updates", "label"),
        Column("measure", "what is measured", "label"),
        Column("mean", "mean over seeds"),
        Column("low", "lower end of its 95 % interval"),
        Column("high", "upper end of its 95 % interval"),
    )
    return Table.make(
        name, title, columns, long, place="Section 4, not in the source", figure="information-training", details=True,
        note=f"Bands: 95 % intervals. {note}",
    )  # fmt: skip
