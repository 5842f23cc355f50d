"""The tables of lookup-parts, and what its claims are about: one value per seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rote.claims import PerSeed, Tables, Values, column
from rote.laboratory.aggregate import grouped
from rote.store import Column, Table
from rote.studies.realization.surgery_tables import DECISIVE, EXCHANGED, SPLITS, table_4

__all__ = ["SPLITS", "all_tables", "lost_share", "pieced", "trial_table"]
COLUMNS = (Column("cell", "recurrent unit of encoder and decoder", "label"), *EXCHANGED)


def trial_table(cell: str, kind: str, component: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    """What was measured of one retraining."""
    labeled = [{"cell": cell, "model": kind, "component": component, **row} for row in rows]
    return Table.make("pieces", "Every model with an exchanged piece", COLUMNS, labeled, details=True)


def all_tables(every: Mapping[str, Table]) -> list[Table]:
    """One like Table 4 for each cell, and every model."""
    pieces = every["pieces"]
    shown = [
        replace(
            table_4({"substitution": pieces.where(cell=cell)}), name=f"pieces-{cell}",
            title=f"New compositions with a frozen piece of the other kind's decoder ({cell})",
            note="Original: as the main training left it, without retraining. None: retrained like the others, with "
            "nothing exchanged. The pieces are ours; the source exchanges a decoder.",
        )
        for (cell,) in grouped(pieces.records(), ("cell",))
    ]  # fmt: skip
    return [*shown, pieces]


def pieced(kind: str, component: str, cell: str = "gru") -> PerSeed:
    """Accuracy on new compositions of the models of a kind with a piece of the other's; "original": as trained."""
    value, component = ("before", "none") if component == "original" else ("accuracy", component)
    return column("pieces", value, cell=cell, model=kind, component=component, split=DECISIVE)


def lost_share(tables: Tables, component: str, cell: str) -> Values:
    """What share of a guided model's accuracy is lost with a piece of a baseline's decoder."""
    before, after = (pieced("guided", name, cell)(tables) for name in ("original", component))
    return {seed: 1 - after[seed] / accuracy if accuracy else math.nan for seed, accuracy in before.items()}
