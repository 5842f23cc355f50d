"""Studies that a user might have written, with the mistakes that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.claims import Source
from rote.laboratory import Study, StudyConfig, studies
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table


@measurements.register("own-seeds")
@dataclass(frozen=True)
class Seeds(Measurement):
    """Which seed it is."""

    name = "own-seeds"

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        progress(1, 1)
        return [Table.make("seeds", "Seeds", (Column("seed"),), [{"seed": run.request.seeds[0]}])]


@measurements.register("own-bug")
@dataclass(frozen=True)
class BuggySeeds(Measurement):
    """Prints where a worker's answers go, then raises what no one thought of, in two lines."""

    name = "own-bug"

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        print("a study may print")
        raise ZeroDivisionError("first line\nsecond line")


class Small(Study[StudyConfig]):
    source = Source("900", "own", "A source of one's own", "@misc{own}")
    place = title = about = "nowhere"
    claims = ()
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": {}, "quick": {}, "paper": {}}
    default = StudyConfig(2)
    measurement: ClassVar[Measurement] = Seeds()

    def jobs(self, config: StudyConfig) -> list[Job]:
        return [self.measurement.of(seeds=(seed,)) for seed in range(config.seeds)]

    def tables(self, config: StudyConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return [measured["seeds"]]


@studies.register("a-bug")
class Bug(Small):
    """Measures what cannot be measured."""

    name = "a-bug"
    measurement = BuggySeeds()


@studies.register("b-bug-in-tables")
class BugInTables(Small):
    """Raises when everything is computed."""

    name = "b-bug-in-tables"

    def tables(self, config: StudyConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        raise KeyError("no such column")


@studies.register("c-empty")
class Empty(Small):
    """Finds nothing."""

    name = "c-empty"

    def tables(self, config: StudyConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return [Table.make("nothing", "Nothing was found", (Column("seed"),), [])]


if __name__ == "__main__":
    import sys

    from rote.cli import main

    main(sys.argv[1:])
