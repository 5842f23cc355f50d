"""What one study contributes to a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rote.claims import Source, Verdict
from rote.store import Table


@dataclass(frozen=True)
class Section:
    """One study as the report shows it: what was asked, what came out, and how to get it again."""

    study: str  # "plane"
    title: str
    source: Source
    place: str  # where the source has it: "Section 6, Figures 4 to 6"
    about: str  # what was asked, in a short paragraph
    preset: str
    seeds: int  # how many
    config: dict[str, object]  # resolved, flat: "model.hidden" -> 8
    command: str  # what runs it again
    tables: tuple[Table, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    runs: tuple[str, ...] = ()
    seconds: float = 0.0  # wall time of those runs
    environment: Mapping[str, object] = field(default_factory=dict)  # as a run record keeps it
    deviations: tuple[str, ...] = ()  # where we do otherwise than the source, and why
