"""Studies that share trainings, whose trainings start from others and fail, and whose tables cannot be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tiny_study import Tiny, TinyConfig, TinyMeasurement, TinyRecipe

from rote.laboratory import studies
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table


@measurements.register("other")
@dataclass(frozen=True)
class OtherMeasurement(TinyMeasurement):
    """The same of another name."""

    name = "other"


@studies.register("other")
class Other(Tiny):
    """Asks for the same trainings."""

    name = "other"
    measurement: ClassVar[Measurement] = OtherMeasurement()

    def jobs(self, config: TinyConfig) -> list[Job]:
        return [self.measurement.of(job) for job in self.recipe(config).jobs(range(config.seeds))]


@recipes.register("failing")
@dataclass(frozen=True)
class FailingRecipe(TinyRecipe):
    """Seed 1 cannot be trained."""

    name = "failing"

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        if run.request.seeds == (1,):
            raise ZeroDivisionError("no such seed")
        super().fit(trained, run, progress, device)


@recipes.register("next")
@dataclass(frozen=True)
class NextRecipe(TinyRecipe):
    """Starts from what the failing one has trained."""

    name = "next"

    def needs(self, seeds: Sequence[int]) -> list[Job]:
        return FailingRecipe(self.steps).jobs(seeds)

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        assert trained[0].weights()["value"]
        super().fit(trained, run, progress, device)


@studies.register("failing")
class Failing(Tiny):
    """Chains of three: a training, one that starts from it, and a measurement."""

    name = "failing"

    def recipe(self, config: TinyConfig) -> TinyRecipe:
        return NextRecipe(config.steps)


@studies.register("bad-tables")
class BadTables(Tiny):
    """Raises when everything is computed."""

    name = "bad-tables"

    def tables(self, config: TinyConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        raise KeyError("no such column")
