"""The tables of the study of agreement: accuracy by model and condition, congruent and opposite apart, and context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rote.store import Column, FinishedRun, Table
from rote.studies.foundations import published
from rote.studies.summaries import BAND, Row, bands, collected, grouped

if TYPE_CHECKING:
    from rote.studies.foundations.agreement import AgreementConfig

MODEL = Column("model", "recurrent unit, the same before training, or order of the n-grams", "label")
CONDITION = Column("condition", "what stands between subject and verb", "label")
ATTRACTORS = Column("attractors", "number of the nouns there: as the subject's, or opposite", "label")


def condition(structure: str, depth: int) -> str:
    return f"{depth} phrase{'' if depth == 1 else 's'}" if structure == "phrases" else structure


def all_tables(config: AgreementConfig, runs: Sequence[FinishedRun]) -> list[Table]:
    found = collected(runs)
    accuracy, deepest = found["accuracy"], config.task.depth
    note = (
        f"{config.seeds} seeds, {config.items} items each. Training had at most {deepest} phrases: more are unseen. "
        "Opposite: every noun between subject and verb has the other number."
    )
    means = bands(accuracy.records(), ("model", "structure", "depth", "attractors"), "accuracy", (0.0, 1.0))
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
            bands(found["curve"].records(), ("model", "step"), "loss", (0.0, math.inf)), figure="agreement-curve",
            details=True, note="Cross entropy of each network's first batch, nats per word.",
        ),
        accuracy,
    ]  # fmt: skip


def _outcome(rows: list[Row], note: str) -> Table:
    """A row per condition, a column per model, trained networks and counts before the untrained ones."""
    models = sorted(dict.fromkeys(row["model"] for row in rows), key=lambda name: name.startswith("untrained"))
    made = []
    for (name, attractors), group in grouped(rows, ("condition", "attractors")).items():
        if attractors != "mixed":
            values = {row["model"]: row["mean"] for row in group}
            labels = {"condition": name, "attractors": "none" if name == condition("phrases", 0) else attractors}
            made.append({**labels, **{model: values.get(model) for model in models}})
    columns = (CONDITION, ATTRACTORS, *(Column(model, "accuracy, mean over seeds") for model in models))
    return Table.make(
        "outcome", "Share of items with the right verb form", columns, made, place="Long-distance dependencies, I",
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
