"""What one study contributes to a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rote.claims import Scale, Source
from rote.store import Table


@dataclass(frozen=True)
class Section:
    """One run of a study as the report shows it: what was asked, what came out, and how to get it again. What it says
    about claims is in the ledger's entries."""

    study: str  # "plane"
    title: str
    source: Source
    place: str  # where the source has it: "Section 6, Figures 4 to 6"
    about: str  # what was asked, in a short paragraph
    scale: Scale  # by its settings
    seeds: int  # how many
    config: dict[str, object]  # resolved, flat: "model.hidden" -> 8
    command: str  # what runs it again
    tables: tuple[Table, ...] = ()
    runs: tuple[str, ...] = ()
    seconds: float = 0.0  # wall time of those runs
    environment: Mapping[str, object] = field(default_factory=dict)  # as a run record keeps it
    deviations: tuple[str, ...] = ()  # where we do otherwise than the source, and why
