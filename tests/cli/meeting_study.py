"""A study whose runs wait for each other: it ends only where two workers are busy at the same time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.claims import Source
from rote.store import Column, FinishedRun, Request, Run, Table
from rote.studies import Study, studies
from rote.studies.study import Progress

PATIENCE = 120


@dataclass(frozen=True)
class MeetingConfig:
    guest: int = 0
    seeds: int = 1


@studies.register("meeting")
class Meeting(Study[MeetingConfig]):
    """One run for each setting; guests 1 and 2 wait for each other, 13 fails, the others do not wait."""

    name = "meeting"
    version = 1
    source = Source("901", "meeting", "A source of one's own", "@misc{own}")
    place = title = about = "nowhere"
    claims = ()
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": {}, "quick": {}, "paper": {}}
    default = MeetingConfig()

    def requests(self, config: MeetingConfig) -> list[Request]:
        return [self.request("part", config, (seed,)) for seed in range(config.seeds)]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        guest = self.config_of(request).guest
        if guest == 13:
            raise ZeroDivisionError("unlucky")
        if guest in (1, 2):
            place = run.folder.parents[2]
            (place / f"guest-{guest}").touch()
            end = time.monotonic() + PATIENCE
            while not (place / f"guest-{3 - guest}").exists():
                if time.monotonic() > end:
                    raise TimeoutError("nobody came")
                time.sleep(0.02)
        return [Table.make("guests", "Guests", (Column("guest"),), [{"guest": float(guest)}])]

    def summarize(self, config: MeetingConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return [runs[0].tables()["guests"]]
