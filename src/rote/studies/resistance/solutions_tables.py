"""The tables of the solutions in parameter space."""

from __future__ import annotations

from collections.abc import Mapping

from rote.claims import mean
from rote.laboratory.aggregate import Row, grouped, interval_columns, interval_values
from rote.store import Column, Table
from rote.studies.resistance import published
from rote.studies.resistance.plane_tables import COMPOSITIONAL
from rote.studies.resistance.summaries import Rows, average

TASKS = {"plane": "the plane", "digits": "digit pairs", "scan": "SCAN"}
SOLVED = {"plane": 0.95, "digits": 0.5, "scan": 0.5}  # training accuracy of a solution of setting A, as in the claims
CLOSE = {"digits": 0.05, "scan": 0.1}  # gap of a network that composes
LABELS = (
    Column("task", "plane, digits (digit pairs) or scan (SCAN)", "label"),
    Column("solution", "how it was trained, or made", "label"),
    Column("seed", "random seed", "label"),
)
MEASURED = (
    Column("found", "1: what training in setting A finds"),
    Column("distance", "from the initial weights"),
    Column("start_size", "distance of the initial weights from zero"),
    Column("cosine", "of the first descent direction with the way there from the initial weights"),
    Column("rise", "highest loss on the straight way there, above that at the initial weights"),
    Column("way", "mean loss on the straight way there"),
    Column("from_found", "distance from what training in setting A finds"),
    Column("barrier", "highest loss on the straight way from what training finds, above both ends"),
    Column("loss", "of setting A, on a sample"),
    Column("train", "accuracy in setting A"),
    Column("test", "accuracy on what setting A never shows"),
)
SOLUTIONS = (*LABELS, *MEASURED)
COMPOSES = Column("composes", "1: it solves setting A and composes")
LANDSCAPE = (
    Column("kind", "loss: a point of the plane; way: a step of the training; else a network", "label"),
    Column("seed", "random seed", "label"),
    Column("step", "updates, of the training's way", "label"),
    Column("x", "distance from the initial weights, towards what training finds"),
    Column("y", "distance from there, towards a solution that composes"),
    Column("loss", "of setting A"),
)
NEAREST = (
    LABELS[0],
    LABELS[2],
    Column("nearest", "the nearest solution that composes", "label"),
    *(Column(name, f"of it: {about}") for name, about in (
        ("distance", "distance from the initial weights"), ("cosine", "cosine with the first descent direction"),
        ("rise", "highest loss on the way above the initial"), ("way", "mean loss on the way"),
        ("barrier", "barrier between it and what training finds"), ("loss", "loss in setting A"),
    )),
    *(Column(f"found_{name}", f"of what training finds: {about}") for name, about in (
        ("distance", "distance from the initial weights"), ("cosine", "cosine with the first descent direction"),
        ("rise", "highest loss on the way above the initial"), ("way", "mean loss on the way"),
        ("loss", "loss in setting A"), ("train", "accuracy in setting A"), ("composes", "1: it composes"),
    )),
    Column("before_gap", "training minus test accuracy of the network trained with a random redundant input"),
    Column("tuned_gap", "the same after it was trained further in setting A"),
)  # fmt: skip
NOTE = (
    "redundant, original: what training in setting A finds (theta_B of Figure 1). The others (theta_A) began with the "
    "same weights: random, narrow: trained where the redundant input says nothing; 'then': trained further in setting "
    "A; cut off: with X2 fixed; written: by hand, into the initial weights."
)


def all_tables(measured: Mapping[str, Table]) -> list[Table]:
    rows = [{**row, "composes": composes(row)} for row in measured["solutions"].records()]
    near, note = nearest(rows), " ".join(filter(None, (NOTE, measured["solutions"].note)))
    drawn = measured["landscape"].records()
    first = [row for row in drawn if row["seed"] == drawn[0]["seed"]]
    return [
        _outcome(near, note),
        Table.make(
            "landscape", "The loss of setting A between the initial weights and two solutions", LANDSCAPE, first,
            place="Figure 1 (right)", figure="loss-landscape", details=True,
            note="The plane of parameter space that goes through three networks of one seed of the study 'plane': the "
            "initial weights, what training finds, and a solution that composes. The line is the training, projected.",
        ),
        _by_solution(rows, note),
        Table.make("nearest", "Every seed", NEAREST, near, details=True, note=note),
        Table.make("solutions", "Every solution of every seed", (*SOLUTIONS, COMPOSES), rows, details=True, note=note),
    ]  # fmt: skip


def composes(row: Row) -> int:
    """Whether a network solves setting A and composes, by the measure of its own study."""
    task = row["task"]
    solved = row["train"] > SOLVED[task]
    if task == "plane":
        return int(solved and 1 - row["test"] <= COMPOSITIONAL)
    return int(solved and row["train"] - row["test"] < CLOSE[task])


def nearest(rows: Rows) -> list[Row]:
    """For every seed what training finds, and beside it the nearest solution that composes, where one is known."""
    found = []
    for (task, seed), mine in grouped(rows, ("task", "seed")).items():
        (own,) = [row for row in mine if row["found"]]
        known = [row for row in mine if row["composes"] and not row["found"]]
        best: Row = min(known, key=lambda row: float(row["distance"]), default={})
        row = {"task": task, "seed": seed, "nearest": best.get("solution")}
        row |= {name: best.get(name) for name in ("distance", "cosine", "rise", "way", "barrier", "loss")}
        row |= {
            f"found_{name}": own[name] for name in ("distance", "cosine", "rise", "way", "loss", "train", "composes")
        }
        (before,) = [one for one in mine if one["solution"] == "random"]
        (tuned,) = [one for one in mine if one["solution"] == f"random, then {own['solution']}"]
        row |= {"before_gap": before["train"] - before["test"], "tuned_gap": tuned["train"] - tuned["test"]}
        found.append(row)
    return found


def _outcome(near: Rows, note: str) -> Table:
    names = ("found_distance", "distance", "found_cosine", "cosine", "found_rise", "rise", "barrier")
    rows = []
    for (task,), mine in grouped(near, ("task",)).items():
        known = [row for row in mine if row["distance"] is not None]
        farther = mean([row["distance"] - row["found_distance"] for row in known])
        rows.append(
            {
                "task": TASKS[task], "seeds": len(mine), "published": published.CLOSER_TO_B, "known": len(known),
                "farther": farther.value if known else None, **interval_values(farther),
                **{name: average(row[name] for row in mine) for name in names},
            }
        )  # fmt: skip
    about = {column.name: column for column in NEAREST}
    columns = (
        LABELS[0],
        Column("seeds", "initial weights", "label"),
        Column("published", "what the source says; it measures nothing", "published"),
        Column("known", "seeds for which a solution that composes is known", "label"),
        *(about[name] for name in names[:2]),
        Column("farther", "nearest solution that composes minus what training finds: distance from the start"),
        *interval_columns(),
        *(about[name] for name in names[2:]),
    )
    return Table.make(
        "outcome", "From the initial weights: what training finds, and the nearest solution that composes", columns,
        rows, place="Figure 1 (right)", note=f"Means over seeds. {note}",
    )  # fmt: skip


def _by_solution(rows: Rows, note: str) -> Table:
    names = ("distance", "cosine", "rise", "way", "from_found", "barrier", "loss", "train", "test")
    told = [
        {"task": TASKS[task], "solution": solution, "seeds": len(mine)}
        | {"composes": average(row["composes"] for row in mine)}
        | {name: average(row[name] for row in mine) for name in names}
        for (task, solution), mine in grouped(rows, ("task", "solution")).items()
    ]
    about = {column.name: column for column in SOLUTIONS}
    columns = (
        *LABELS[:2],
        Column("seeds", "networks", "label"),
        Column("composes", "share of seeds in which it solves setting A and composes"),
        *(about[name] for name in names),
    )
    return Table.make(
        "by-solution", "Every kind of solution", columns, told, place="Figure 1, not in the source", note=note
    )
