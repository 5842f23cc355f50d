"""Lookup models looked into as the text of source 002 says it, where its code or our first reading does otherwise:
sections 3.2 and 4.1, footnotes 4 and 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.config import at_least
from rote.laboratory import Study, studies
from rote.laboratory.aggregate import Row
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy_tables import LABELS
from rote.studies.realization.inside_tables import classifier_summary, label_columns, summed, value_columns
from rote.studies.realization.models import QUICK, SMOKE, LookupConfig
from rote.studies.realization.readings_claims import CLAIMS

COLUMNS: dict[str, tuple[str, tuple[Column, ...]]] = {  # table of a run -> title, columns beside cell, model and seed
    "probes": ("What classifiers with and without a penalty read from every model", (
        *label_columns(
            input="activations that the classifier sees", label="what it tells",
            penalty="none, as the text says, or L2 with C = 1, as the authors' code has",
            ranking="of the units: weights summed over classes, weights of the first class, or Shapley values",
        ),
        *value_columns(
            accuracy="of all units, held-out samples", group_accuracy="of the functional group",
            units="in the functional group",
        ),
    )),
    "shapley": ("Groups that tell the table, by weights and by Shapley values", (
        *label_columns(penalty="of the classifier"),
        *value_columns(
            units_weights="in the group by weights, mean over divisions of the samples",
            units_shapley="in the group by Shapley values", confirmed="share of the first that is in the second",
            alike_weights="units that the groups of two divisions share, of all that either has, by weights",
            alike_shapley="the same by Shapley values",
        ),
    )),
    "connected": ("How one-sided strongly connected neurons are", (
        *label_columns(matrix="weights of one gate"),
        *value_columns(
            neurons="that are strongly connected: the 5 % with the most strong edges",
            polarity="|sum| / sum of the absolute weights of such a neuron, mean",
            polarity_strong="the same of its strong edges alone",
        ),
    )),
    "opposite": ("Strongly connected neurons with opposite signs in update and reset gate", (
        *label_columns(part="encoder: received; decoder: sent"),
        *value_columns(
            neurons="that are strongly connected in either gate",
            opposite="share whose mean weights have opposite signs",
        ),
    )),
}  # fmt: skip
SUMMED = {  # name of a table of every model -> (place, labels beside cell and model, measures)
    "shapley": (
        "Section 4.1, footnote 5",
        ("penalty",),
        ("units_weights", "units_shapley", "confirmed", "alike_weights", "alike_shapley"),
    ),
    "connected": ("Section 3.2, Figure 2", ("matrix",), ("polarity", "polarity_strong")),
    "opposite": ("Section 3.2", ("part",), ("opposite",)),
}


def run_tables(rows: Mapping[str, Sequence[Row]]) -> list[Table]:
    """What is measured of the models of a seed, by the names of ``COLUMNS``; of what there is nothing, no table."""
    return [
        Table.make(name, title, (*LABELS, *columns), rows[name], details=True)
        for name, (title, columns) in COLUMNS.items()
        if rows.get(name)
    ]


def all_tables(every: Mapping[str, Table]) -> list[Table]:
    shown = [summed(every[name], COLUMNS[name][1], *how) for name, how in SUMMED.items() if name in every]
    return [_probes(every["probes"]), *shown, *(every[name] for name in COLUMNS if name in every)]


def _probes(every: Table) -> Table:
    return classifier_summary(
        every, "probes-summary", "Diagnostic classifiers with and without a penalty", ("penalty", "ranking"),
        "The source's text has no penalty, its code L2. Published numbers are the same in all rows of a model: which "
        "of the rankings and penalties they come from is not certain. Gates with the penalty: lookup-inside.",
    )  # fmt: skip


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
        return run_tables(read(trained, seed, self.splits, self.divisions, self.gate_groups, progress))


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
        "quick: models of 128 units as in lookup-accuracy, one division of the samples instead of five (two to compare "
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
        return all_tables(measured)
