"""The tables of the panel of architectures."""

from __future__ import annotations

from rote.claims import mean
from rote.laboratory.aggregate import Row, grouped, interval_columns, interval_values
from rote.store import Column, Table
from rote.studies.resistance import published
from rote.studies.resistance.plane_tables import COMPOSITIONAL
from rote.studies.resistance.solutions_tables import CLOSE as CLOSE_ELSEWHERE
from rote.studies.resistance.solutions_tables import SOLVED, TASKS
from rote.studies.resistance.summaries import Rows, average

CLOSE = {"plane": COMPOSITIONAL, **CLOSE_ELSEWHERE}
CONTROL = {"plane": "3 x 8, separated", "digits": "32-64, separated", "scan": "lstm, separated"}
LABELS = (
    Column("task", "plane, digits (digit pairs) or scan (SCAN)", "label"),
    Column(
        "structure",
        "plane: layers x units, and the activation; digits: depths of the convolutions; scan: cell and attention",
        "label",
    ),
    Column("seed", "random seed", "label"),
)
MEASURED = (
    Column("parameters", "of one network"),
    Column("loss", "of setting A, on a sample"),
    Column("train", "accuracy in setting A"),
    Column("test", "accuracy on what setting A never shows"),
    Column("gap", "training minus test accuracy; plane: seen quadrant minus corner, both of class 1"),
)
STRUCTURES = (*LABELS, *MEASURED)
SEED_COLUMNS = (*STRUCTURES, Column("learned_gap", "the gap of a network that learned setting A"))
NOTE = (
    "All in setting A. Learned: a training accuracy above 0.95 on the plane, 0.5 elsewhere. Complete: learned, and a "
    "gap of at most 0.01 on the plane, 0.05 on digit pairs, 0.1 on SCAN. separated: the positive control."
)


def all_tables(rows: Rows, data: str) -> list[Table]:
    """``data``: what must be said of the digits."""
    note = " ".join(filter(None, (NOTE, data)))
    seeds = [{**row, "learned_gap": row["gap"] if row["train"] > SOLVED[row["task"]] else None} for row in rows]
    return [
        _panel(seeds, note),
        Table.make("seeds", "Every network", SEED_COLUMNS, seeds, details=True, note=note),
    ]


def _panel(seeds: Rows, note: str) -> Table:
    rows = []
    for task in TASKS:
        mine = [row for row in seeds if row["task"] == task]
        for (structure,), group in grouped(mine, ("structure",)).items():
            rows.append(_row(task, structure, group))
    columns = (
        *LABELS[:2],
        Column("seeds", "networks trained", "label"),
        MEASURED[0],
        Column("train", "accuracy in setting A, mean over seeds"),
        Column("test", "accuracy on what setting A never shows, mean over seeds"),
        Column("gap", f"{MEASURED[-1].about}, mean over seeds"),
        *interval_columns("gap"),
        Column("learned", "share of seeds that learned setting A"),
        Column("complete", "share of seeds that learned it and compose"),
    )
    return Table.make(
        "panel", "Architectures that learned with an informative redundant input", columns, rows,
        place="Sections 1 and 7", figure="architecture-panel", note=f"The source: {published.STRUCTURE_ALONE}. {note}",
    )  # fmt: skip


def _row(task: str, structure: str, group: Rows) -> Row:
    gap = mean([row["gap"] for row in group])
    learned = [row["learned_gap"] for row in group if row["learned_gap"] is not None]
    return {
        "task": TASKS[task], "structure": structure, "seeds": len(group), "parameters": group[0]["parameters"],
        "train": average(row["train"] for row in group), "test": average(row["test"] for row in group),
        "gap": gap.value, **interval_values(gap, "gap"), "learned": len(learned) / len(group),
        "complete": sum(value <= CLOSE[task] for value in learned) / len(group),
    }  # fmt: skip
