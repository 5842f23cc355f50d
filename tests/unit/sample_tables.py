"""Small tables with the columns of each figure, and a report made of them. No training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rote.claims import (
    Assertion,
    Claim,
    Group,
    PerSeed,
    Published,
    Region,
    Scale,
    Source,
    Verdict,
    above,
    all_of,
    any_of,
    below,
    inside,
    judge,
)
from rote.laboratory import Entry
from rote.report import Section
from rote.store import Column, Table

SETTINGS = ("redundant", "control", "playground")
SOURCE = Source("001", "resistance", "Gradient descent resists compositionality", "@misc{resistance, title = {T}}")
ENVIRONMENT = {"python": "3.11.2", "packages": {"torch": "2.13.0"}, "commit": "0123abc", "dirty": True}


def columns(labels: str, measured: str = "", published: str = "") -> list[Column]:
    roles = (("label", labels), ("measured", measured), ("published", published))
    return [Column(name, f"about {name}", role) for role, names in roles for name in names.split()]


def data_table() -> Table:
    corners = (("training", -1, -1), ("training", -1, 0), ("training", 0, -1), ("held out", 0, 0))
    rows = [
        {"x1": left + 0.1 * i, "x2": bottom + 0.09 * i, "y": int(left == 0), "part": part}
        for part, left, bottom in corners
        for i in range(1, 10)
    ]
    return Table.make("data", "Samples", columns("x1 x2 y part"), rows, figure="plane-data", details=True)


def boundaries_table(seeds: int = 1, steps: tuple[int, ...] = (0, 1, 4), points: int = 11, steep: float = 8.0) -> Table:
    """The class probability is sigmoid(steep * (x1 + 0.3 * x2)) everywhere: its boundary is x1 + 0.3 * x2 = 0."""
    grid = [round(-1 + 2 * i / (points - 1), 6) for i in range(points)]
    rows = [
        {
            "setting": setting,
            "seed": seed,
            "step": step,
            "x1": x1,
            "x2": x2,
            "probability": 1 / (1 + math.exp(-steep * (x1 + 0.3 * x2))),
        }
        for setting in SETTINGS[:2]
        for seed in range(seeds)
        for step in steps
        for x2 in grid
        for x1 in grid
    ]
    named = columns("setting seed step x1 x2", "probability")
    place, figure = "Figure 5", "plane-boundaries"
    return Table.make("boundaries", "Boundaries", named, rows, place=place, figure=figure, details=True)


def training_table() -> Table:
    rows = [
        {"setting": setting, "step": step, "measure": measure, "mean": value, "low": value - 0.05, "high": value + 0.05}
        for measure, start in (("loss", 0.7), ("training accuracy", 0.5), ("held-out accuracy", 0.4))
        for setting in SETTINGS
        for step in (0, 1, 2, 4, 8, 16, 32)
        for value in [start + 0.1 * math.tanh(step / 9)]
    ]
    named = columns("setting step measure", "mean low high")
    return Table.make("training", "Loss and accuracy", named, rows, figure="plane-training", note="Means of 6 seeds.")


def seeds_table() -> Table:
    shares = {
        "redundant": [0.1, 0.12, 0.2, 0.11, 0.105, 0.009],
        "control": [0, 0.001, 0.01, 0.011, 0, 0],
        "playground": [0.3],
    }
    rows = [
        {"setting": setting, "seed": seed, "corner_wrong": value}
        for setting, values in shares.items()
        for seed, value in enumerate(values)
    ]
    named = columns("setting seed", "corner_wrong")
    return Table.make("seeds", "Every seed", named, rows, figure="plane-seeds", details=True)


def samples() -> dict[str, Table]:
    """A table for each figure, by the figure's name."""
    return {table.figure: table for table in (data_table(), boundaries_table(), training_table(), seeds_table())}


def outcome_table() -> Table:
    rows = [
        {"setting": "redundant", "seeds": 6, "accuracy": 0.885123456, "reported": 0.9},
        {"setting": "control", "seeds": 10, "accuracy": 0.98, "reported": None},
        {"setting": "playground", "seeds": 6, "accuracy": -0.05, "reported": 0.875},
    ]
    named = columns("setting seeds", "accuracy", "reported")
    return Table.make("outcome", "Accuracy in the corner", named, rows, place="Table 1", note="As printed.")


def per_seed(name: str) -> PerSeed:
    """What is measured is given to ``verdict`` instead."""
    return PerSeed(lambda _: {}, lambda: name)


def asserted(label: str = "wrong share", region: Region = above(0.1), **rest: Any) -> Assertion:  # noqa: B008
    return Assertion(label, per_seed(label), region, **rest)


def claim(name: str, *assertions: Assertion | Group, **rest: Any) -> Claim:
    fields = {"statement": f"The claim {name} holds.", "published": "0.9", "place": "Section 6, Figure 6", **rest}
    return Claim(name, "resistance", assertions=assertions, **fields)


def verdict(claim: Claim, scale: str = "quick", where: str = "here", /, **values: Sequence[float]) -> Verdict:
    """What these values by seed give, with underscores for the spaces of their labels."""
    measured = {label.replace("_", " "): dict(enumerate(given)) for label, given in values.items()}
    found = judge(claim, measured)
    status = "" if claim.kind in ("audit", "identity") else "exploratory"
    return replace(found, scale=Scale(scale), where=where, status=status, study="plane", runs=("aa11", "bb22"))


def holds() -> Entry:
    """Supported at the published scale, though a rival fails; contradicted at quick; with published runs."""
    claimed = claim(
        "holds",
        asserted(),
        asserted("without the corner", above(0), role="rival"),
        asserted("has learned", above(0.5), role="condition", scale="unit"),
        numbers=(
            Published("Table 1, wrong share", per_seed("wrong share"), runs=(0.19, 0.2, 0.22)),
            Published("Figure 2, loss", per_seed("loss"), mean=0.3),
        ),
        remark="With a control.",
    )
    learned = [0.9, 0.95, 1, 1, 1, 0.97]
    return Entry(
        claimed,
        "plane",
        (
            verdict(
                claimed, "published", "kept", wrong_share=[0.2, 0.21, 0.19, 0.2, 0.2, 0.22], has_learned=learned,
                without_the_corner=[-0.1, -0.2, -0.1, -0.3, -0.1, -0.2],
                **{"Table 1, wrong share": [0.2, 0.21, 0.19, 0.2, 0.2, 0.22], "Figure 2, loss": [0.3] * 6},
            ),
            verdict(claimed, wrong_share=[0.01, 0.02, 0.01, 0.03, 0.0, 0.02], has_learned=learned),
        ),
    )  # fmt: skip


def entries() -> list[Entry]:
    """One of each outcome and kind."""
    fails = claim("fails", asserted("wrong share", below(0.1)))
    reading = all_of(asserted("first", above(0)), asserted("second", above(0)))
    still_open = claim("open", any_of(reading, asserted("third", inside(-1, 1))))
    void = claim("void", asserted(), asserted("has learned", above(0.5), role="condition"))
    waits = claim("waits", asserted(), published="")
    ours = claim("beside", asserted(), kind="ours")
    audit = claim("stored", asserted(), kind="audit")
    identity = claim("always", kind="identity", test="tests/oracles/test_gru.py::test_a_step")
    return [
        holds(),
        Entry(fails, "plane", (verdict(fails, wrong_share=[0.5, 0.51, 0.49, 0.5, 0.52]),)),
        Entry(
            still_open, "plane",
            (verdict(still_open, first=[1, -1, 1, 1], second=[1, 2, 1, 3], third=[0.5, 2, 0.5, math.nan]),),
        ),
        Entry(void, "plane", (verdict(void, wrong_share=[0.2] * 6, has_learned=[0.1] * 6),)),
        Entry(waits, "scan-jump", (Verdict(waits, "not run", "Run: rote run scan-jump", study="scan-jump"),)),
        Entry(ours, "plane", (verdict(ours, wrong_share=[0.2] * 5),)),
        Entry(audit, "plane", (verdict(audit, wrong_share=[0.2]),)),
        Entry(identity, "plane", (replace(judge(identity, {}), study="plane"),)),
    ]  # fmt: skip


def section(*tables: Table, **changes: object) -> Section:
    made = Section(
        study="plane",
        title="Two inputs, one unseen corner",
        source=SOURCE,
        place="Section 6",
        about="What was asked.",
        scale=Scale("quick"),
        seeds=6,
        config={"model.hidden": 8, "training.rate": 0.1},
        command="rote run plane --preset quick",
        tables=tables or (*samples().values(), outcome_table()),
        runs=("aa11", "bb22"),
        seconds=192.4,
        environment=dict(ENVIRONMENT),
        deviations=("The loss is ours.",),
    )
    return replace(made, **changes)
