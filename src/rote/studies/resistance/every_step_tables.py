"""The tables of the accuracies at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rote.claims import mean
from rote.laboratory.aggregate import Row, grouped, interval_columns, interval_values
from rote.store import Column, Table
from rote.studies.resistance import published, scan_tables
from rote.studies.resistance.summaries import STEP, Rows, accuracy_rows, average

TASKS = {"digits": "digit pairs", "scan": "SCAN"}
MEASURES = {"digits": ("train", "test"), "scan": ("train", "combined", "test")}
PLACES = {"digits": "Figure 3a", "scan": "Figure 3b"}
NOTE = "Each point is measured on a small batch that is drawn anew. redundant, original: A; random: B."
LABELS = (
    Column("task", "digits: digit pairs; scan: SCAN", "label"),
    Column("setting", "redundant, original: the source's A; random: its B", "label"),
    Column("seed", "random seed", "label"),
)
CURVES = (
    *LABELS,
    STEP,
    Column("loss", "on a batch as in training"),
    Column("train", "share of a batch as in training that is right"),
    Column("combined", "SCAN: the same without the copies of the command that is added alone"),
    Column("test", "share of a batch of the test that is right"),
)
SEED_COLUMNS = (
    *LABELS,
    Column("gap", "training minus test accuracy, mean over all steps"),
    Column("combined_gap", "SCAN: the same without the copies of the command that is added alone"),
    Column("early", "training accuracy early: digits, the first quarter of the steps; SCAN, steps 10 to 25"),
    Column("train", "training accuracy, mean over all steps"),
    Column("test", "test accuracy, mean over all steps"),
)


def recorded(task: str, setting: str, seeds: Sequence[int], metrics: Sequence[dict[str, Any]], note: str) -> Table:
    """What was recorded in a training, a row for each seed and step."""
    rows = [
        {"task": task, "setting": setting, "seed": seed, "step": row["step"]}
        | {name: values[index] for name, values in row.items() if name != "step"}
        for row in metrics
        for index, seed in enumerate(seeds)
    ]
    return Table.make("steps", "Every network at every step", CURVES, rows, details=True, note=note)


def all_tables(rows: Rows, early: float, data: str) -> list[Table]:
    """``early``: the last step of digit pairs that counts as early; ``data``: what must be said of the digits."""
    seeds, note = per_seed(rows, early), " ".join(filter(None, (NOTE, data)))
    of_task = {task: [row for row in rows if row["task"] == task] for task in TASKS}
    return [
        _outcome(seeds, note),
        *(_accuracy(task, mine, note if task == "digits" else NOTE) for task, mine in of_task.items()),
        Table.make("seeds", "Every network", SEED_COLUMNS, seeds, details=True, note=note),
        Table.make("steps", "Every network at every step", CURVES, rows, details=True, note=note),
    ]


def per_seed(rows: Rows, early: float) -> list[Row]:
    """Means over the steps after the first update."""
    found = []
    for (task, setting, seed), mine in grouped(rows, ("task", "setting", "seed")).items():
        after = [row for row in mine if row["step"] > 0]
        first, last = scan_tables.EARLY if task == "scan" else (1, max(early, 1))
        train, test = (average(row[name] for row in after) or 0.0 for name in ("train", "test"))
        combined = average(row["combined"] for row in after)
        found.append(
            {
                "task": task, "setting": setting, "seed": seed, "train": train, "test": test, "gap": train - test,
                "combined_gap": None if combined is None else combined - test,
                "early": average(row["train"] for row in after if first <= row["step"] <= last),
            }
        )  # fmt: skip
    return found


def _outcome(seeds: Rows, note: str) -> Table:
    names = ("early", "train", "test", "gap")
    rows = []
    for (task, setting), mine in grouped(seeds, ("task", "setting")).items():
        said = published.CLOSE_IN_B if setting == "random" else None
        row = {"task": TASKS[task], "setting": setting, "seeds": len(mine), "published": said}
        row |= {name: average(one[name] for one in mine) for name in names}
        rows.append({**row, **interval_values(mean([one["gap"] for one in mine]))})
    about = {column.name: column for column in SEED_COLUMNS}
    columns = (
        *LABELS[:2],
        Column("seeds", "networks trained", "label"),
        Column("published", "what the source reports; it gives no numbers", "published"),
        *(about[name] for name in names),
        *interval_columns(),
    )
    return Table.make(
        "outcome", "Training and test accuracy over all steps", columns, rows, place="Figure 3",
        note=f"Means over steps, then over seeds; the interval is the gap's. {note}",
    )  # fmt: skip


def _accuracy(task: str, rows: Rows, note: str) -> Table:
    columns = (
        LABELS[1],
        STEP,
        Column("measure", "train: as in training; combined: without copies of 'jump'; test", "label"),
        Column("mean", "share that is right, mean over seeds"),
        Column("variance", "variance over seeds"),
    )
    return Table.make(
        f"{task}-accuracy", f"Training and test accuracy of {TASKS[task]} at every step", columns,
        accuracy_rows(rows, MEASURES[task]), place=PLACES[task], figure=f"{task}-accuracy", details=True,
        note=f"Bands: one standard deviation over seeds. {note}",
    )  # fmt: skip
