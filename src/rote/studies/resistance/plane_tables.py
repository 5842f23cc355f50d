"""The tables of the plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rote.claims import mean, proportion
from rote.laboratory.aggregate import band, grouped, interval_columns
from rote.store import Column, Table
from rote.studies.resistance import published
from rote.tasks.plane import PlaneTask

PARTS = ("redundant", "random", "narrow", "epochs")
SETTINGS = (
    "Settings: redundant, as published; random, X2 independent of the class; narrow, X2 uninformative and the corner "
    "unseen; epochs, as published with a step being a pass over 250 fixed points."
)
COMPOSITIONAL = 0.01  # a seed is compositional when it gets at most this share of the held-out corner wrong
MEASURES = {"loss": "loss", "seen": "training accuracy", "corner": "held-out accuracy"}


def all_tables(tables: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from the collected ones of its runs."""
    seeds, dynamics, boundaries = tables["seeds"], tables["dynamics"], tables["boundaries"]
    drawn = [row for row in boundaries.records() if row["setting"] != "epochs"]
    first = min(row["seed"] for row in drawn)
    over_training = [row for row in drawn if row["seed"] == first]
    last = max(row["step"] for row in over_training)
    by_seed = [row for row in drawn if row["step"] == last]
    return [
        _outcome(seeds),
        _data(),
        Table.make(
            "boundaries-over-training", "Decision boundary over training, one seed", boundaries.columns,
            over_training, place="Figure 5", figure="plane-boundaries", details=True,
            note=f"Seed {first} of each setting, after so many updates. {SETTINGS}",
        ),
        Table.make(
            "boundaries-by-seed", f"Decision boundaries after {last} steps, by seed", boundaries.columns, by_seed,
            place="Figure 6", figure="plane-boundaries", details=True,
            note=f"The first seeds, not chosen ones; a compositional boundary is the dashed line. {SETTINGS}",
        ),
        replace(
            seeds, title="Share of the held-out corner that goes to the wrong class, by seed",
            figure="plane-seeds", details=True, note=SETTINGS,
        ),
        _training_curves(dynamics),
    ]  # fmt: skip


def _outcome(seeds: Table) -> Table:
    rows = []
    for setting in PARTS:
        mine = seeds.where(setting=setting)
        wrong, learned = (mean(mine.column(name), bounds=(0.0, 1.0)) for name in ("corner_wrong", "seen_wrong"))
        share = proportion(sum(value <= COMPOSITIONAL for value in mine.column("corner_wrong")), len(mine.rows))
        said = {"redundant": published.SEEDS_NOT_COMPOSITIONAL, "epochs": published.SEEDS_NOT_COMPOSITIONAL}
        rows.append(
            {
                "setting": setting, "seeds": wrong.n, "published": said.get(setting),
                "corner_wrong": wrong.value, "low": wrong.low, "high": wrong.high, "seen_wrong": learned.value,
                "compositional": share.value, "compositional_low": share.low, "compositional_high": share.high,
            }
        )  # fmt: skip
    columns = (
        Column("setting", "what X2 tells about the class in training", "label"),
        Column("seeds", "networks trained", "label"),
        Column("published", "what the source reports", "published"),
        Column("corner_wrong", "share of the held-out corner given to the wrong class, mean over seeds"),
        *interval_columns(),
        Column("seen_wrong", "share of the training region given to the wrong class, mean over seeds"),
        Column("compositional", "share of seeds with at least 99 % of the corner right"),
        *interval_columns("compositional"),
    )
    return Table.make(
        "outcome", "What the networks make of the corner they never saw", columns, rows, place="Section 6",
        note=SETTINGS,
    )  # fmt: skip


def _data() -> Table:
    task = PlaneTask("redundant")
    training, corner = task.training(seed=0, block=0, steps=1, batch=240), task.corner(8)
    rows = [
        {"x1": float(x1), "x2": float(x2), "y": int(y), "part": part}
        for part, examples in (("training", training), ("held out", corner))
        for (x1, x2), y in zip(examples.inputs.reshape(-1, 2), examples.targets.reshape(-1), strict=True)
    ]
    columns = (
        Column("x1", "decides the class: its sign"),
        Column("x2", "redundant input"),
        Column("y", "class", "label"),
        Column("part", "seen in training or not", "label"),
    )
    return Table.make(
        "data", "The data: three quadrants are seen, one is held out", columns, rows,
        place="Figure 4", figure="plane-data", details=True,
    )  # fmt: skip


def _training_curves(dynamics: Table) -> Table:
    rows = [
        {"setting": setting, "step": step, "measure": title, **band([row[name] for row in group])}
        for (setting, step), group in grouped(dynamics.records(), ("setting", "step")).items()
        for name, title in MEASURES.items()
    ]
    columns = (
        Column("setting", "what X2 tells about the class", "label"),
        Column("step", "updates; for 'epochs' passes over the 250 points", "label"),
        Column("measure", "what is measured", "label"),
        Column("mean", "mean over seeds"),
        *interval_columns(),
    )
    return Table.make(
        "training", "Loss and accuracy over training", columns, rows,
        place="Section 6", figure="plane-training", details=True, note=f"Bands: 95 % intervals. {SETTINGS}",
    )  # fmt: skip
