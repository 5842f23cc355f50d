"""Every analysis on every cell: the same networks, asked in every way that the five sources ask theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.claims import Claim, Source
from rote.config import at_least, not_empty
from rote.laboratory.aggregate import BAND, bands
from rote.laboratory.study import CELLS_DECIDE, Study, StudyConfig, studies
from rote.models import LanguageModelConfig
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.foundations.sentences import Batches, SentenceRecipe
from rote.studies.matrix.cued_tasks import TASKS, CuedTask
from rote.training import TrainingConfig

Values = dict[str, float | None]
# What each measure says: of composing, of learning by rote, or of neither by itself.
MEASURES: dict[str, tuple[str, str]] = {
    "behavior, new": ("composes", "skill on new questions: right answers beyond chance"),
    "decomposition, cue": ("composes", "the same skill of what the state owes to the cue alone"),
    "connectivity, cue": ("composes", "share of the answer's gradient that goes to the cue, new questions"),
    "functional groups, read": (
        "composes",
        "accuracy of a linear classifier of what the cue decides, from few units",
    ),
    "behavior, known minus new": ("by rote", "skill that is lost where the surroundings are new"),
    "decomposition, rest": ("by rote", "skill of what the state owes to everything but the cue, known questions"),
    "connectivity, rest": ("by rote", "share of the gradient that goes elsewhere, known questions"),
    "interdependence": (
        "by rote",
        "share of what cue and later symbols do that they only do together",
    ),
    "functional groups, units": ("by rote", "share of the units that the classifier needs"),
    "gates": ("neither", "share of steps at which a gate is nearly shut or open; none for the simple unit"),
    "gradient flow": ("neither", "log10 of the product of step Jacobians from the cue to the answer"),
}
LABELS = (Column("task", role="label"), Column("cell", "recurrent unit", "label"))
MEASURE = (
    Column("says", "high values speak for", "label"),
    Column("measure", role="label"),
    Column("about", role="label"),
)
SEED = Column("seed", "random seed of sentences and network", "label")
ABOUT = (
    "Skill and shares are between 0 and 1 (skill below 0: worse than guessing). The cue is what decides the answer; "
    "the rest of a sentence does not."
)


def networks_table(task: str, cell: str, seeds: Sequence[int], answers: Sequence[Values]) -> Table:
    """Every measure of the networks of a task and cell."""
    rows = [
        {"task": task, "cell": cell, "seed": seed, "measure": measure, "value": values[measure]}
        for seed, values in zip(seeds, answers, strict=True)
        for measure in MEASURES
    ]
    columns = (*LABELS, SEED, MEASURE[1], Column("value"))
    return Table.make("seeds", "Every measure of every network", columns, rows, details=True)


def all_tables(measured: Mapping[str, Table]) -> list[Table]:
    """The matrix, a mean over seeds for every task, cell and measure; and every network."""
    seeds = measured["seeds"]
    place = {measure: number for number, measure in enumerate(MEASURES)}
    rows = sorted(bands(seeds.records(), ("task", "cell", "measure"), "value"), key=lambda row: place[row["measure"]])
    rows = [{**row, "says": MEASURES[row["measure"]][0], "about": MEASURES[row["measure"]][1]} for row in rows]
    title = "How far each cell composes and how far it learns by rote, by every measure"
    return [Table.make("matrix", title, (*LABELS, *MEASURE, *BAND), rows, figure="matrix", note=ABOUT), seeds]


SOURCE = Source(
    "100", "across", "Across the sources", "",
    question="Which analysis can be trusted, on which recurrent unit?", hero="court-methods",
)  # fmt: skip
TODAY = (  # the units of the sources, and those of today
    "elman", "gru", "lstm", "nested_lstm", "min_gru", "min_lstm", "lru", "rg_lru", "s6", "ssd", "rwkv4", "rwkv7",
    "slstm", "mlstm", "linear_attention", "delta", "gated_delta", "block",
)  # fmt: skip


def model() -> LanguageModelConfig:
    """One size for all cells."""
    return LanguageModelConfig(embedding=32, hidden=64, limit=0.3, cell_limit=0.3)


def training() -> TrainingConfig:
    return TrainingConfig(steps=4000, batch=32, optimizer="adam", learning_rate=0.01, clip=1.0, record_every=1000)


@recipes.register("matrix")
@dataclass(frozen=True)
class MatrixRecipe(SentenceRecipe):
    """Language models of one task's sentences, in which a few symbols, the cue, decide what comes later."""

    name = "matrix"
    source = SOURCE
    version = 2  # sentences are drawn apart from the questions
    about = "a sentence begins behind “<start>” or “.”"
    model: LanguageModelConfig = field(default_factory=model)
    training: TrainingConfig = field(default_factory=training)
    task: CuedTask = field(default_factory=CuedTask)

    @property
    def label(self) -> str:
        return f"{self.task.name}, {self.model.cell}"

    def members(self, seeds: Sequence[int]) -> list[Mapping[str, int | str]]:
        return [{"seed": seed, "setting": self.task.name} for seed in seeds]

    def symbols(self) -> tuple[str, ...]:
        return self.task.symbols()

    def batches(self, seeds: Sequence[int]) -> Batches:
        import numpy as np

        from rote.studies.foundations.sentence_models import shuffled

        corpora = [self.task.sentences(seed) for seed in seeds]
        shortest = min(map(len, corpora))  # a rule too near the beginning has no context
        return shuffled(np.stack([corpus[:shortest] for corpus in corpora]), seeds, self.training.batch)

    def sentence(self, seeds: Sequence[int], index: int) -> Sequence[int]:
        symbols: list[int] = self.task.sentences(seeds[index])[0].tolist()
        return symbols


@measurements.register("matrix")
@dataclass(frozen=True)
class MatrixMeasurement(Measurement):
    """The networks of a task and cell asked in every way."""

    name = "matrix"
    source = SOURCE
    version = 2  # has the number of questions
    questions: int = 200  # known, and as many new
    jacobians: int = 8  # questions for the gradient flow

    def __post_init__(self) -> None:
        at_least(self, 8, "questions")
        at_least(self, 1, "jacobians")

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.matrix.matrix_training import measured

        return measured(self, trained[0], progress)


@dataclass(frozen=True)
class MatrixConfig(StudyConfig):
    seeds: int = 10
    tasks: tuple[str, ...] = TASKS
    cells: tuple[str, ...] = ("elman", "gru", "lstm", "nested_lstm")
    model: LanguageModelConfig = field(default_factory=model)
    training: TrainingConfig = field(default_factory=training)
    questions: int = 200  # known, and as many new
    jacobians: int = 8

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        known_cells(*self.cells)
        not_empty(self, "tasks", "cells")
        for task in self.tasks:
            CuedTask(task)
        self.measurement()

    def recipes(self) -> list[MatrixRecipe]:
        """One for each task and cell, the slowest cell first."""
        models = [replace(self.model, cell=cell) for cell in reversed(self.cells)]
        return [MatrixRecipe(model, self.training, CuedTask(task)) for task in self.tasks for model in models]

    def measurement(self) -> MatrixMeasurement:
        return MatrixMeasurement(self.questions, self.jacobians)


@studies.register("matrix")
class MatrixStudy(Study[MatrixConfig]):
    """How far does each recurrent unit compose, and how far does it learn by rote, by every analysis?"""

    name = "matrix"
    source = SOURCE
    place = "Not in the sources"
    title = "Every analysis on every cell"
    about = (
        "Elman networks, GRUs, LSTMs and Nested LSTMs of one size learn three tasks in which a few symbols, the cue, "
        "decide the answer and the rest of the sentence does not. Each network is asked about known and about new "
        "surroundings, and looked into by decomposition, connectivity, interdependence, functional groups, gates and "
        "gradient flow. The analyses come from different sources and were never compared on the same networks."
    )
    deviations = (
        "The tasks are scaled down and made alike: sentences for a language model with one layer. Rules have two pairs "
        "of open and close symbols; lookup tables are spelled out with their results, without attention.",
        "Quick: 32 units, fewer updates, questions and seeds. Cells: the same with recurrent units of today beside the "
        "sources' own.",
    )
    claims: ClassVar[tuple[Claim, ...]] = ()
    own_scale = True
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "tasks": ("rules", "lookup"), "cells": ("elman", "lstm"), "model.embedding": 8, "model.hidden": 8,
            "training.steps": 8, "training.record_every": 8, "questions": 16, "jacobians": 2, "seeds": 2,
        },
        "quick": {
            "model.embedding": 16, "model.hidden": 32, "training.steps": 800, "training.record_every": 400,
            "questions": 64, "jacobians": 4, "seeds": 5,
        },
        "cells": {
            "cells": TODAY, "model.embedding": 16, "model.hidden": 32, "training.steps": 800,
            "training.record_every": 400, "questions": 64, "jacobians": 4, "seeds": 5,
        },
        "paper": {},
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, str]] = CELLS_DECIDE
    default = MatrixConfig()

    def jobs(self, config: MatrixConfig) -> list[Job]:
        measurement = config.measurement()
        return [measurement.of(job) for recipe in config.recipes() for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: MatrixConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return all_tables(measured)
