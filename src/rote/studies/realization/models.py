"""The models of source 002: an encoder and a decoder with attention that learn lookup tables (section 2, appendix).

Baseline and guided models of a seed start alike and see their examples in one order; the guided ones are also told
which input to attend to for each output. All studies of the source look at these models, or change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rote.config import at_least
from rote.laboratory import StudyConfig
from rote.models import EncoderDecoderConfig
from rote.recipes import Network, Recipe, Trained, recipes
from rote.recipes.recipe import Progress
from rote.store import Run
from rote.studies.realization import published
from rote.tasks.lookup import LookupTask
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.models import EncoderDecoder

KINDS = ("baseline", "guided")
EPOCHS_KEPT = (0, 2, 5, 10, 25, 50)  # whose weights stay, beside those at the end
SMOKE: Mapping[str, object] = {
    "seeds": 2, "model.hidden": 16, "training.batch": 16, "training.steps": 30, "training.record_every": 15,
}  # fmt: skip
QUICK: Mapping[str, object] = {
    "model.hidden": 128, "model.limit": 0.2, "training.batch": 4, "training.learning_rate": 0.003,
    "training.schedule": "cosine", "training.decay": 0.001, "training.optimizer": "adamw", "training.weight_decay": 0.2,
    "training.steps": 1450, "training.record_every": 58,
}  # fmt: skip

SCALED: Mapping[str, object] = {
    "training.batch": 4, "training.steps": 3480, "training.record_every": 58, "lstm": False,
}  # fmt: skip


def published_training() -> TrainingConfig:
    """Batches of one, 100 epochs of 232 examples, Adam; the model with the lowest validation loss is taken."""
    return TrainingConfig(
        steps=23_200, batch=1, optimizer="adam", learning_rate=0.001, clip=5.0, record_every=200, select="best"
    )


@recipes.register("lookup-models")
@dataclass(frozen=True)
class LookupRecipe(Recipe):
    """Encoders and decoders with attention that learn lookup tables, with attention targets or without."""

    name = "lookup-models"
    source = published.SOURCE
    together = 6
    measured_inside = "The curves have a point for every 200 examples; weights of all of them would take gigabytes."
    view = "lookup"
    task: LookupTask = field(default_factory=lambda: LookupTask(longer=0))
    model: EncoderDecoderConfig = field(default_factory=EncoderDecoderConfig)
    training: TrainingConfig = field(default_factory=published_training)
    guided: bool = True  # told where to attend; a baseline is not
    guidance: float = 1.0  # weight of the attention loss; of baselines 0, whatever it is set to
    teacher_forcing: bool = False  # feed the decoder with the targets instead of its own output in training

    def __post_init__(self) -> None:
        if not self.guided:  # so that baselines are the same beside all guided models
            object.__setattr__(self, "guidance", 0.0)

    @property
    def kind(self) -> str:
        """What the source calls them: one of ``KINDS``."""
        return KINDS[self.guided]

    @property
    def label(self) -> str:
        return f"{self.cell} {self.kind}"

    def baseline(self) -> LookupRecipe:
        """The recipe of the models that guided ones are compared with: the same without attention targets."""
        return replace(self, guided=False)

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.realization.training import make_program
        from rote.training import train

        program = make_program(self, run.request.seeds, device)
        train(program, self.training, run, progress=progress, snapshots=self.kept_steps())

    def kept_steps(self) -> list[int]:
        """The steps whose weights stay."""
        kept = [epoch * self.steps_per_epoch() for epoch in EPOCHS_KEPT]
        return [*(step for step in kept if step < self.training.steps), self.training.steps]

    def epochs(self, steps: Iterable[int]) -> dict[int, int]:
        """Step -> how many epochs it ends; early stopping ends within one."""
        return {step: step // self.steps_per_epoch() for step in steps}

    def steps_per_epoch(self) -> int:
        return -(-len(self.task.splits()["train"]) // self.training.batch)

    def closed(self) -> str:
        return "An encoder and a decoder with attention: open it in the view Lookup tables."

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        inputs, outputs = self.task.vocabulary()
        example = " ".join(self.task.splits()["train"][-1].inputs)
        model = self.population(trained, weights).select([index]).eval()
        return Network(model, inputs=tuple(inputs), outputs=tuple(outputs), example=example)

    def population(self, trained: Trained, weights: Mapping[str, Any] | None = None) -> EncoderDecoder:
        """All models of a training as one, by default as they were at the end."""
        from rote.models.fitting import fitted
        from rote.studies.realization.training import make_models

        needed = (len(trained.seeds) * self.model.hidden * size for size in (self.model.hidden, self.model.embedding))
        saved = trained.weights() if weights is None else weights
        return fitted(lambda: make_models(self, trained.seeds), saved, trained.run.folder, *needed)


@dataclass(frozen=True)
class LookupConfig(StudyConfig):
    """The settings that all lookup studies share."""

    task: LookupTask = field(default_factory=LookupTask)
    model: EncoderDecoderConfig = field(default_factory=EncoderDecoderConfig)
    training: TrainingConfig = field(default_factory=published_training)
    guidance: float = 1.0  # weight of the attention loss of the guided models
    teacher_forcing: bool = False  # feed the decoder with the targets instead of its own output in training

    def __post_init__(self) -> None:
        at_least(self, 0, "guidance")
        at_least(self, 1, "seeds")

    def guided(self, cell: str) -> LookupRecipe:
        """The recipe of the guided models. No model sees the longer compositions, so they are no part of it."""
        task, model = replace(self.task, longer=0), replace(self.model, cell=cell)
        return LookupRecipe(task, model, self.training, True, self.guidance, self.teacher_forcing)
