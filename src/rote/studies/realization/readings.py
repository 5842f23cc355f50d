"""Lookup models looked into as the text of source 002 says it, where its code or our first reading does otherwise:
sections 3.2 and 4.1, footnotes 4 and 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.config import at_least
from rote.laboratory import Study, studies
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.realization import published
from rote.studies.realization import readings_tables as measure
from rote.studies.realization.models import QUICK, SMOKE, LookupConfig
from rote.studies.realization.readings_claims import CLAIMS


@measurements.register("lookup-readings")
@dataclass(frozen=True)
class ReadingsMeasurement(Measurement):
    """Classifiers without a penalty, Shapley values and strongly connected neurons of one seed's lookup models."""

    name = "lookup-readings"
    source = published.SOURCE
    splits: int = 5  # random divisions of the samples into training and test, for each classifier
    divisions: int = 3  # of which each gives groups of its own, to compare them
    gate_groups: bool = True  # look also for the functional groups of the decoder's gates

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization.readings_measures import read

        (seed,) = run.request.seeds
        return measure.run_tables(read(trained, seed, self.splits, self.divisions, self.gate_groups, progress))


@dataclass(frozen=True)
class ReadingsConfig(LookupConfig):
    splits: int = 5  # random divisions of the samples into training and test, for each classifier
    divisions: int = 3  # of which each gives groups of its own, to compare them
    gate_groups: bool = True  # look also for the functional groups of the decoder's gates

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "splits", "task.unseen_tables", "task.heldout_compositions")
        at_least(self, 2, "divisions")


@studies.register("lookup-readings")
class LookupReadingsStudy(Study[ReadingsConfig]):
    """Does what the source says of lookup models inside depend on how its sentences are read?"""

    name = "lookup-readings"
    source = published.SOURCE
    place = "Sections 3.2 and 4.1, footnotes 4 and 5"
    title = "Inside lookup models, as the text says it"
    about = (
        "The models of lookup-accuracy again. Classifiers without any penalty, which the text has and the authors' "
        "code has not; functional groups by Shapley values beside those by weights, and how alike the groups of "
        "several divisions of the samples are; polar neurons, and opposite signs in update and reset gates, among the "
        "neurons with the most strong connections."
    )
    deviations = (
        "Without a penalty the weights of a classifier that makes no error have no end: ours stops where no entry of "
        "the gradient is above 0.0001.",
        "Shapley values: the source approximates them by a method that it does not name. Ours are those of a class's "
        "logit with units taken as independent; of a linear classifier they are known exactly, so what the source puts "
        "down to approximation cannot show here.",
        "Less consistent is not defined: we compare the groups that several divisions of the samples give.",
        "Strongly connected: the 5 % of the neurons with the most weights among the strongest 1 % of a matrix. A "
        "neuron is as polar as its mean weight is large against its mean absolute weight, of all or of strong weights.",
        "Weights are PyTorch's, as in the authors' code. By the equations of the text the update gate has the opposite "
        "sign, and opposite signs in the two gates would be equal ones.",
        "Samples: all rows, as in lookup-inside; time steps include the final dot.",
        "quick: models of 192 units as in lookup-accuracy, one division of the samples instead of five (two to compare "
        "groups), and of gates only what all units tell: gate_groups=true looks for their groups.",
    )
    claims = CLAIMS
    optional = ("gate_groups",)
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {**SMOKE, "splits": 1, "divisions": 2},
        "quick": {**QUICK, "splits": 1, "divisions": 2, "gate_groups": False},
        "paper": {},
    }
    fixed: ClassVar[Mapping[str, str]] = {"task.longer": "only lookup-accuracy measures longer compositions."}
    default = ReadingsConfig()

    def jobs(self, config: ReadingsConfig) -> list[Job]:
        """One for each seed: both models of that seed."""
        guided = config.guided(config.model.cell)
        trained = zip(*(recipe.jobs(config.seed_numbers) for recipe in (guided.baseline(), guided)), strict=True)
        return [
            ReadingsMeasurement(config.splits, config.divisions, config.gate_groups).of(*both, seeds=(seed,))
            for both in trained
            for seed in both[0].request.seeds
        ]

    def tables(self, config: ReadingsConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(measured)
