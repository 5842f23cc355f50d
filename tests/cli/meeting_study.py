"""A study whose runs wait for each other: it ends only where two workers are busy at the same time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.claims import Source
from rote.laboratory import Study, StudyConfig, studies
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table

PATIENCE = 120


@measurements.register("meeting")
@dataclass(frozen=True)
class Guest(Measurement):
    """Guests 1 and 2 wait for each other, 13 fails, the others do not wait."""

    name = "meeting"
    guest: int = 0

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        if self.guest == 13:
            raise ZeroDivisionError("unlucky")
        if self.guest in (1, 2):
            place = run.folder.parents[2]
            (place / f"guest-{self.guest}").touch()
            end = time.monotonic() + PATIENCE
            while not (place / f"guest-{3 - self.guest}").exists():
                if time.monotonic() > end:
                    raise TimeoutError("nobody came")
                time.sleep(0.02)
        return [Table.make("guests", "Guests", (Column("guest"),), [{"guest": float(self.guest)}])]


@dataclass(frozen=True)
class MeetingConfig(StudyConfig):
    seeds: int = 1
    guest: int = 0


@studies.register("meeting")
class Meeting(Study[MeetingConfig]):
    """One run for each setting."""

    name = "meeting"
    source = Source("901", "meeting", "A source of one's own", "@misc{own}")
    place = title = about = "nowhere"
    claims = ()
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": {}, "quick": {}, "paper": {}}
    default = MeetingConfig()

    def jobs(self, config: MeetingConfig) -> list[Job]:
        return [Guest(config.guest).of(seeds=(seed,)) for seed in range(config.seeds)]

    def tables(self, config: MeetingConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return [measured["guests"]]
