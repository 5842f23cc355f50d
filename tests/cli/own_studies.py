"""Studies that a user might have written, with the mistakes that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.claims import Source
from rote.store import Column, FinishedRun, Request, Run, Table
from rote.studies import Study, studies
from rote.studies.study import Progress


@dataclass(frozen=True)
class SmallConfig:
    seeds: int = 2


class Small(Study[SmallConfig]):
    version = 1
    source = Source("900", "own", "A source of one's own", "@misc{own}")
    place = title = about = "nowhere"
    claims = ()
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": {}, "quick": {}, "paper": {}}
    default = SmallConfig()

    def requests(self, config: SmallConfig) -> list[Request]:
        return [self.request("part", config, (seed,)) for seed in range(config.seeds)]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        progress(1, 1)
        return [Table.make("seeds", "Seeds", (Column("seed"),), [{"seed": request.seeds[0]}])]

    def summarize(self, config: SmallConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return [run.tables()["seeds"] for run in runs][:1]


@studies.register("a-bug")
class Bug(Small):
    """Prints where a worker's answers go, then raises what no one thought of, in two lines."""

    name = "a-bug"

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        print("a study may print")
        raise ZeroDivisionError("first line\nsecond line")


@studies.register("b-bug-in-summary")
class BugInSummary(Small):
    """Raises when everything is computed."""

    name = "b-bug-in-summary"

    def summarize(self, config: SmallConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        raise KeyError("no such column")


@studies.register("c-empty")
class Empty(Small):
    """Finds nothing."""

    name = "c-empty"

    def summarize(self, config: SmallConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return [Table.make("nothing", "Nothing was found", (Column("seed"),), [])]


if __name__ == "__main__":
    import sys

    from rote.cli import main

    main(sys.argv[1:])
