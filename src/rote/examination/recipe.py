"""A learner on a task of the battery, as a training of the store and what is measured on it: so an examination can be
stopped, resumed, and spread over workers and machines as every study is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rote.config import UNSAID
from rote.examination.asking import SEED, TASK
from rote.examination.forms import Form, Kind, drawn_as
from rote.examination.learners import enter, learner
from rote.examination.task import BATTERY, accuracy, battery
from rote.recipes import Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.training.settings import TrainingConfig

BATCH = 32
CURVE = 8  # records over training


@recipes.register("examination")
@dataclass(frozen=True)
class ExaminationRecipe(Recipe):
    """A learner on one task of the battery, with AdamW, a warm-up and a falling learning rate."""

    name = "examination"
    measured_inside = (
        "Known and new items over training, eight times: networks that are kept so often would fill the disk."
    )
    learner: str = "lstm"
    task: str = "lookup"
    rate: float = 0.004
    steps: int = 500
    battery: int = BATTERY
    kind: Kind = field(default="tokens", metadata=UNSAID)  # how the module is called
    form: Form = field(default="all", metadata=UNSAID)  # of the items

    def __post_init__(self) -> None:
        if ":" in self.learner:  # a user's own: a worker, too, must know what it rests on
            enter(self.learner)

    @property
    def label(self) -> str:
        return f"{self.learner}, {self.task}, rate {self.rate:g}"

    @property
    def training(self) -> TrainingConfig:
        return TrainingConfig(
            steps=self.steps, batch=BATCH, optimizer="adamw", learning_rate=self.rate, schedule="cosine", decay=0.05,
            clip=1.0, record_every=max(1, self.steps // CURVE),
        )  # fmt: skip

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.examination.training import ExaminationProgram
        from rote.training import train

        (seed,) = run.request.seeds
        program = ExaminationProgram(self.learner, battery[self.task](), seed, device, self.kind, self.form)
        train(program, self.training, run, progress=progress)

    def closed(self) -> str:
        return "" if self.kind == "tokens" else f"A {self.kind} model does not read one sequence. Ask it yourself."

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.examination.training import made_network

        task = battery[self.task]()
        model = made_network(self.learner, len(task.symbols), trained.seeds[index], self.kind)
        model.load_state_dict(dict(weights))
        return Network(model.eval(), inputs=task.symbols, outputs=task.symbols)


@measurements.register("examination")
@dataclass(frozen=True)
class ExaminationMeasurement(Measurement):
    """What a trained learner answers on known, fresh and new items, and what its answers rest on."""

    name = "examination"
    version = 2  # decomposition of the answers

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.examination.training import measured

        return measured(trained[0])


@measurements.register("examination-reference")
@dataclass(frozen=True)
class ReferenceMeasurement(Measurement):
    """What the rote learner answers on the items of a task and seed: no network."""

    name = "examination-reference"
    task: str = "lookup"
    battery: int = BATTERY
    form: Form = field(default="all", metadata=UNSAID)

    @property
    def label(self) -> str:
        return self.task

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.examination.memorizer import memorizer_accuracy, zero

        task, seed = battery[self.task](), run.request.seeds[0]
        drawn = drawn_as(task, seed, self.form)
        found = memorizer_accuracy(task, drawn)
        rule = accuracy(task.answers(drawn.new, seed), drawn.new, exact=task.exact)
        row = {"task": self.task, "seed": seed, **found, "zero": zero(task, drawn, found["new"]), "rule": rule}
        columns = (TASK, SEED, *(Column(name) for name in ("known", "fresh", "new", "zero", "rule")))
        return [Table.make("references", "The rote learner and the rule", columns, [row])]


@measurements.register("examination-fitted")
@dataclass(frozen=True)
class FittedMeasurement(Measurement):
    """What a learner answers that is no network: it is fitted to the items of a seed, and nothing is trained."""

    name = "examination-fitted"
    learner: str = "ngram"
    task: str = "lookup"
    battery: int = BATTERY
    form: Form = field(default="all", metadata=UNSAID)

    def __post_init__(self) -> None:
        if ":" in self.learner:
            enter(self.learner)

    @property
    def label(self) -> str:
        return f"{self.learner}, {self.task}"

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.examination.fitted import Fitted, measured

        task = battery[self.task]()
        fitted = learner(self.learner)(len(task.symbols))
        assert isinstance(fitted, Fitted)  # which was checked before
        return measured(self.learner, fitted, task, run.request.seeds[0], self.form)
