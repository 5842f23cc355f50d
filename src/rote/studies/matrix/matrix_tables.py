"""The matrix as a table: a row for every task, cell and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rote.laboratory.aggregate import BAND, bands
from rote.store import Column, Table

Values = dict[str, float | None]
# What each measure says: of composing, of learning by rote, or of neither by itself.
MEASURES: dict[str, tuple[str, str]] = {
    "behavior, new": ("composes", "skill on new questions: right answers beyond chance"),
    "decomposition, cue": ("composes", "the same skill of what the state owes to the cue alone"),
    "connectivity, cue": ("composes", "share of the answer's gradient that goes to the cue, new questions"),
    "functional groups, read": (
        "composes",
        "accuracy of a linear classifier of what the cue decides, from few units",
    ),
    "behavior, known minus new": ("by rote", "skill that is lost where the surroundings are new"),
    "decomposition, rest": ("by rote", "skill of what the state owes to everything but the cue, known questions"),
    "connectivity, rest": ("by rote", "share of the gradient that goes elsewhere, known questions"),
    "interdependence": (
        "by rote",
        "share of what cue and later symbols do that they only do together",
    ),
    "functional groups, units": ("by rote", "share of the units that the classifier needs"),
    "gates": ("neither", "share of steps at which a gate is nearly shut or open; none for the simple unit"),
    "gradient flow": ("neither", "log10 of the product of step Jacobians from the cue to the answer"),
}
LABELS = (Column("task", role="label"), Column("cell", "recurrent unit", "label"))
MEASURE = (
    Column("says", "high values speak for", "label"),
    Column("measure", role="label"),
    Column("about", role="label"),
)
SEED = Column("seed", "random seed of sentences and network", "label")
ABOUT = (
    "Skill and shares are between 0 and 1 (skill below 0: worse than guessing). The cue is what decides the answer; "
    "the rest of a sentence does not."
)


def networks_table(task: str, cell: str, seeds: Sequence[int], answers: Sequence[Values]) -> Table:
    """Every measure of the networks of a task and cell."""
    rows = [
        {"task": task, "cell": cell, "seed": seed, "measure": measure, "value": values[measure]}
        for seed, values in zip(seeds, answers, strict=True)
        for measure in MEASURES
    ]
    columns = (*LABELS, SEED, MEASURE[1], Column("value"))
    return Table.make("seeds", "Every measure of every network", columns, rows, details=True)


def all_tables(measured: Mapping[str, Table]) -> list[Table]:
    """The matrix, a mean over seeds for every task, cell and measure; and every network."""
    seeds = measured["seeds"]
    place = {measure: number for number, measure in enumerate(MEASURES)}
    rows = sorted(bands(seeds.records(), ("task", "cell", "measure"), "value"), key=lambda row: place[row["measure"]])
    rows = [{**row, "says": MEASURES[row["measure"]][0], "about": MEASURES[row["measure"]][1]} for row in rows]
    title = "How far each cell composes and how far it learns by rote, by every measure"
    return [Table.make("matrix", title, (*LABELS, *MEASURE, *BAND), rows, figure="matrix", note=ABOUT), seeds]
