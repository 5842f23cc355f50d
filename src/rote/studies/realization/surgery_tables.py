"""The tables of the study of exchanged parts and cut neurons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rote.store import Column, Table

MEASURED = (
    Column("seed", "of initial weights and order of the examples; an exchanged part is of the same seed", "label"),
    Column("split", "which examples", "label"),
    Column("before", "share of sequences right in every position, before retraining"),
    Column("accuracy", "the same after retraining, model with the lowest validation loss"),
    Column("epoch", "of retraining, at which the validation loss was lowest"),
)
EXCHANGED = (
    Column("model", "baseline, or guided by attention targets; it is retrained as it was trained", "label"),
    Column("component", "taken from a model of the other kind and frozen; none: retrained as it is", "label"),
    *MEASURED,
)
PRUNED = (
    Column("by", "how the neurons that stay are chosen; none: nothing is cut", "label"),
    *MEASURED,
)


def trial_table(trial: str, what: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    """What one run found: with a part exchanged in models of the kind ``trial``, or pruned."""
    if trial == "pruned":
        return Table.make("pruning", "Every pruned model", PRUNED, [{"by": what, **row} for row in rows], details=True)
    labeled = [{"model": trial, "component": what, **row} for row in rows]
    return Table.make("substitution", "Every model with an exchanged part", EXCHANGED, labeled, details=True)


def tables_of(found: Sequence[Table]) -> list[Table]:
    """The study's tables, from those of its runs."""
    return list(found[:1])
