"""Rows of many networks over training, summarized: what the studies of this source have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, variance
from typing import Any

from rote.claims import PerSeed, column
from rote.laboratory.aggregate import Row, band, grouped, interval_columns
from rote.store import Column, Table

Rows = Sequence[Row]
STEP = Column("step", "updates", "label")


def average(values: Iterable[float | None]) -> float | None:
    """Of those that there are."""
    found = [value for value in values if value is not None]
    return fmean(found) if found else None


def of(setting: str, name: str, **labels: Any) -> PerSeed:
    """A column of every network of a setting."""
    return column("seeds", name, setting=setting, **labels)


def more_in(setting: str, control: str, name: str, **labels: Any) -> PerSeed:
    """What the networks of a setting have more than those of another, which began with the same weights."""
    return of(setting, name, **labels) - of(control, name, **labels)


def difference(setting: str, name: str, other: str, **labels: Any) -> PerSeed:
    """One column minus another, of the same networks."""
    return of(setting, name, **labels) - of(setting, other, **labels)


def over_training(
    name: str, title: str, rows: Rows, measures: Mapping[str, Callable[[Row], float]], note: str, setting: Column
) -> Table:
    """Mean and interval over seeds of each measure, by setting and step: the table of "information-training"."""
    long = []
    for (which, step), mine in grouped(rows, ("setting", "step")).items():
        for measure, value in measures.items():
            labels = {"setting": which, "step": step, "measure": measure}
            long.append({**labels, **band([value(row) for row in mine])})
    columns = (
        setting,
        STEP,
        Column("measure", "what is measured", "label"),
        Column("mean", "mean over seeds"),
        *interval_columns(),
    )
    return Table.make(
        name, title, columns, long, place="Section 4, not in the source", figure="information-training", details=True,
        note=f"Bands: 95 % intervals. {note}",
    )  # fmt: skip


def accuracy_rows(rows: Rows, measures: Sequence[str]) -> list[Row]:
    """Mean and variance over seeds of each measure, by setting and step: what the source's Figure 3 draws."""
    return [
        {
            "setting": setting, "step": step, "measure": measure, "mean": fmean(values),
            "variance": variance(values) if len(values) > 1 else None,
        }
        for (setting, step), mine in grouped(rows, ("setting", "step")).items()
        for measure in measures
        for values in [[row[measure] for row in mine]]
    ]  # fmt: skip
