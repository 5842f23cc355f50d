"""The tables of agreement: accuracy by model and condition, congruent and opposite nouns apart, and context."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rote.laboratory.aggregate import BAND, Row, bands, grouped
from rote.store import Column, Table
from rote.studies.foundations import published

if TYPE_CHECKING:
    from rote.studies.foundations.agreement import AgreementConfig

MODEL = Column("model", "recurrent unit, the same before training, or n-grams by order, counted or neural", "label")
CONDITION = Column("condition", "what stands between subject and verb", "label")
ATTRACTORS = Column("attractors", "number of the nouns there: as the subject's, or opposite", "label")


SEED = Column("seed", "random seed of corpus and network", "label")
ACCURACY = (
    MODEL,
    SEED,
    Column("structure", "what stands between subject and verb", "label"),
    Column("depth", "nouns between subject and verb", "label"),
    Column("attractors", "number of those nouns: as the subject's, opposite, or mixed", "label"),
    Column("accuracy", "share of items in which the right form is more probable"),
)
CURVE = (MODEL, SEED, Column("step", "updates", "label"), Column("loss", "cross entropy, nats per word"))


def condition(structure: str, depth: int) -> str:
    """A condition in words."""
    return f"{depth} phrase{'' if depth == 1 else 's'}" if structure == "phrases" else structure


def all_tables(config: AgreementConfig, tables: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    every, deepest = tables["accuracy"], config.task.depth
    note = (
        f"{config.seeds} seeds, {config.items} items each. Training had at most {deepest} phrases: more are unseen. "
        "Opposite: every noun between subject and verb has the other number."
    )
    means = bands(every.records(), ("model", "structure", "depth", "attractors"), "accuracy", (0.0, 1.0))
    rows = [{**row, "condition": condition(row["structure"], row["depth"])} for row in means]
    columns = (MODEL, CONDITION, ATTRACTORS, *BAND)
    return [
        _outcome(rows, note),
        Table.make(
            "conditions", "Agreement by what stands between subject and verb", columns, rows,
            place="Long-distance dependencies, I", figure="agreement", details=True,
            note=f"Bars: 95 % intervals. {note}",
        ),
        _context(),
        Table.make(
            "curve", "Loss over training", (MODEL, Column("step", "updates", "label"), *BAND),
            bands(tables["curve"].records(), ("model", "step"), "loss", (0.0, math.inf)), figure="agreement-curve",
            details=True, note="Cross entropy of each network's first batch, nats per word.",
        ),
        every,
    ]  # fmt: skip


def _outcome(rows: list[Row], note: str) -> Table:
    """A row per condition, a column per model, trained networks and counts before the untrained ones."""
    models = sorted(dict.fromkeys(row["model"] for row in rows), key=lambda name: name.startswith("untrained"))
    wide = []
    for (name, attractors), group in grouped(rows, ("condition", "attractors")).items():
        if attractors != "mixed":
            values = {row["model"]: row["mean"] for row in group}
            labels = {"condition": name, "attractors": "none" if name == condition("phrases", 0) else attractors}
            wide.append({**labels, **{model: values.get(model) for model in models}})
    columns = (CONDITION, ATTRACTORS, *(Column(model, "accuracy, mean over seeds") for model in models))
    return Table.make(
        "outcome", "Share of items with the right verb form", columns, wide, place="Long-distance dependencies, I",
        note=note,
    )  # fmt: skip


def _context() -> Table:
    rows: list[Row] = [
        {"data": data, "model": model, "original": original, "nonsense": nonsense}
        for data, models in published.AGREEMENT.items()
        for model, (original, nonsense) in models.items()
    ]
    for (subject, attractor), value in published.ATTRACTOR.items():
        data = f"Lakretz et al. 2019, {subject} subject, {attractor} noun"
        rows.append({"data": data, "model": "lstm", "original": value})
    columns = (
        Column("data", "", "label"), Column("model", "", "label"),
        Column("original", "accuracy on sentences of a corpus or template", "published"),
        Column("nonsense", "accuracy on the same with words exchanged", "published"),
    )  # fmt: skip
    return Table.make(
        "context", "Natural language, for context", columns, rows,
        note="Published, of the best model of each kind; computed from the authors' released outputs.",
    )  # fmt: skip
