"""Lookup models that are changed after their training and trained again: source 002, section 5.

Either a part is taken from the model of the other kind and the same seed, and frozen (5.1); or all but a few neurons
are cut out of a guided model (5.2).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from rote.config import one_of
from rote.recipes import Job, Recipe, Trained, recipes
from rote.recipes.recipe import Progress
from rote.store import Run
from rote.studies.realization import published
from rote.studies.realization.models import LookupRecipe, published_training
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.models import EncoderDecoder
    from rote.studies.realization.surgery_training import Retraining

COMPONENTS: dict[str, tuple[str, ...]] = {  # beginnings of the names of their parameters
    "none": (),
    "encoder": ("encoder",),
    "encoder embedding": ("encoder.embedding",),
    "encoder W_ih": ("encoder.cell.weight_ih",),
    "encoder W_hh": ("encoder.cell.weight_hh",),
    "decoder": ("decoder",),
    "decoder embedding": ("decoder.embedding",),
    "decoder W_ih": ("decoder.cell.weight_ih",),
    "decoder W_hh": ("decoder.cell.weight_hh",),
}
EXCHANGED = tuple(COMPONENTS)[1:]
PIECES: dict[str, tuple[str, ...]] = {  # of the decoder, whose extent the source leaves open
    "attention": ("decoder.attention",),
    "recurrent part": ("decoder.cell",),
    "readout": ("decoder.readout",),
    "decoder without attention": (
        "decoder.embedding", "decoder.cell", "decoder.focus", "decoder.focus_other", "decoder.readout",
    ),
}  # fmt: skip
STRENGTHS = ("edges", "mean", "max")  # what strong may mean
MEASURED = "measured"  # in the last state of a run: all is known, and nothing has to be trained any more
PRUNED = (*STRENGTHS, "random", "none")  # by what the kept neurons are chosen; none: nothing is cut


def published_retraining() -> TrainingConfig:
    """As the main training; at most 100 epochs, and no more once the validation loss has not fallen for ten."""
    return replace(published_training(), patience=12)


@dataclass(frozen=True)
class RetrainedRecipe(Recipe):
    """Lookup models that are changed after their training, and trained again."""

    source = published.SOURCE
    together = LookupRecipe.together  # so that each training starts from one of either kind
    measured_inside = "The models are asked for their accuracy alone; the weights of all trials would take gigabytes."
    keeps_none = "Its models are those of lookup-accuracy with a change; their accuracy was measured at the end."
    models: LookupRecipe = field(default_factory=LookupRecipe)  # the guided ones; their baselines are the other kind
    training: TrainingConfig = field(default_factory=published_retraining)

    @property
    def cell(self) -> str:
        return self.models.cell

    @property
    @abstractmethod
    def trial(self) -> tuple[str, str]:
        """What is retrained, and what was changed."""

    @property
    def label(self) -> str:
        return ", ".join(self.trial)

    def needs(self, seeds: Sequence[int]) -> list[Job]:
        return [*self.models.baseline().jobs(seeds), *self.models.jobs(seeds)]

    @abstractmethod
    def changed(self, models: Mapping[str, EncoderDecoder], seeds: Sequence[int]) -> EncoderDecoder:
        """The models to train again, made from those of either kind."""

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.realization.surgery_training import measured_at_the_end
        from rote.training import train

        resumed = run.resume()
        if resumed is None or MEASURED not in resumed[1]:
            program = self.program(trained, device)
            train(program, self.training, run, progress=progress)
            run.metrics.append(measured_at_the_end(program, self.training.steps))
            run.save(self.training.steps + 1, {MEASURED: True})  # in place of the weights

    def program(self, trained: Sequence[Trained], device: str) -> Retraining:
        """The retraining of the changed models, before its first step."""
        from rote.studies.realization.surgery_training import make_retraining

        models, seeds = {one.recipe.kind: one.recipe.population(one) for one in trained}, trained[0].seeds
        return make_retraining(self, self.changed(models, seeds), seeds, device)

    def closed(self) -> str:
        return "It keeps no weights. It changes the models of lookup-accuracy: open these in the view Lookup tables."


@recipes.register("lookup-exchange")
@dataclass(frozen=True)
class ExchangeRecipe(RetrainedRecipe):
    """Lookup models with a part of the other kind's, which is frozen while the rest is trained again."""

    name = "lookup-exchange"
    kind: Literal["baseline", "guided"] = "guided"  # that is trained again
    component: str = "encoder"  # of the model of the other kind and the same seed

    def __post_init__(self) -> None:
        one_of("component", self.component, (*COMPONENTS, *PIECES))

    @property
    def trial(self) -> tuple[str, str]:
        return self.kind, self.component

    def changed(self, models: Mapping[str, EncoderDecoder], seeds: Sequence[int]) -> EncoderDecoder:
        from rote.studies.realization.surgery_training import exchanged

        return exchanged(models, self.kind, (COMPONENTS | PIECES)[self.component])


@recipes.register("lookup-pruning")
@dataclass(frozen=True)
class PruningRecipe(RetrainedRecipe):
    """Guided lookup models of which few neurons are left, trained again."""

    name = "lookup-pruning"
    by: str = "edges"  # how the neurons that stay are chosen
    keep: float = 0.05  # share of the neurons that stay
    strongest: float = published.STRONGEST  # share of a layer's weights that count as strong edges

    def __post_init__(self) -> None:
        one_of("by", self.by, PRUNED)

    @property
    def trial(self) -> tuple[str, str]:
        return "pruned", self.by

    def needs(self, seeds: Sequence[int]) -> list[Job]:
        return self.models.jobs(seeds)

    def changed(self, models: Mapping[str, EncoderDecoder], seeds: Sequence[int]) -> EncoderDecoder:
        from rote.studies.realization.surgery_training import cut, kept_neurons

        model = models["guided"]
        cut(model, kept_neurons(model, self.keep, self.by, self.strongest, seeds))
        return model
