"""Exchanging parts of lookup models and cutting neurons out of them: source 002, section 5, Table 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.config import at_least
from rote.errors import UsageError
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy import model_requests
from rote.studies.realization.settings import KINDS, QUICK, SMOKE, LookupModelConfig, published_training
from rote.studies.realization.surgery_claims import CLAIMS
from rote.studies.realization.surgery_measures import COMPONENTS, PRUNED, SPLITS
from rote.studies.realization.surgery_tables import all_tables, trial_table
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import collected
from rote.training import TrainingConfig


def published_retraining() -> TrainingConfig:
    """As the main training; at most 100 epochs, and no more once the validation loss has not fallen for ten."""
    return replace(published_training(), patience=12)


@dataclass(frozen=True)
class SurgeryConfig(LookupModelConfig):
    seeds: int = 5
    retraining: TrainingConfig = field(default_factory=published_retraining)  # with exchanged parts
    pruned_steps: int = 4640  # of retraining after pruning: 20 epochs
    keep: float = 0.05  # share of the neurons that stay
    strongest: float = published.STRONGEST  # share of a layer's weights that count as strong edges

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "seeds", "pruned_steps")
        at_least(self.task, 1, "unseen_tables", "heldout_compositions", "heldout_inputs", "validation")
        for name in ("keep", "strongest"):
            if not 0 < getattr(self, name) <= 1:
                raise UsageError(f"{name!r} must be a share above 0 and at most 1. Got {getattr(self, name)}.")


@studies.register("lookup-surgery")
class LookupSurgeryStudy(Study[SurgeryConfig]):
    """Which parts of a lookup model hold the compositional solution, and how few neurons does it need?"""

    name = "lookup-surgery"
    version = 1
    source = published.SOURCE
    place = "Section 5, Table 4"
    title = "Lookup models with exchanged parts, and with 5 % of their neurons"
    about = (
        "A part of a model trained without attention targets is put into a model trained with them, frozen, and the "
        "rest is retrained: where accuracy on compositions of tables that were never composed does not come back, the "
        "part was needed for it. The same the other way round. And all but the 5 % most strongly connected neurons are "
        "cut out of the guided models. Cost of the preset paper, with the trained models at hand: about 14 "
        "seconds of one core per epoch of five models; at most 100 epochs, 18 exchanges, and 5 times 20 for pruning."
    )
    deviations = (
        "Left open by the source and chosen here: W_ih and W_hh are matrices without their biases; a part goes into "
        "the model of the same seed; the whole decoder includes attention, focus and readout; the order of the "
        "examples is a new one; Adam starts anew.",
        "At most 100 epochs: retraining ends when the validation loss of no model has fallen for about 10 epochs "
        "(retraining.patience=none for all 100). The model with the lowest validation loss is taken, which may be that "
        "before retraining. The authors' public script for it exchanges whole modules and takes all epochs.",
        "The source's row without an exchanged part is the model as trained, not retrained. We have both: what is "
        "gained over the original may come from the longer training alone.",
        "The source tuned 16 models and reports three; here every seed is reported.",
        "Which neurons are strongly connected is not said, and no script for it is public: three readings, of which "
        "the number of strong edges decides. What is cut stays zero, also in the state that the decoder starts from.",
        "Preset quick: 192 units, batch 4, learning rate 0.002, 25 epochs of training and 3 of retraining; 5 % are 10 "
        "neurons, and the guided models compose less well to begin with.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            **SMOKE, "retraining.batch": 16, "retraining.steps": 4, "retraining.record_every": 2, "pruned_steps": 4,
            "keep": 0.25,
        },
        "quick": {
            **QUICK, "retraining.batch": 4, "retraining.learning_rate": 0.002, "retraining.steps": 174,
            "retraining.record_every": 29, "pruned_steps": 174,
        },
        "paper": {},
    }  # fmt: skip
    default = SurgeryConfig()

    def needs(self, config: SurgeryConfig) -> list[Request]:
        return model_requests(config, config.seeds, (config.model.cell,))

    def requests(self, config: SurgeryConfig) -> list[Request]:
        """A run for each exchanged part and each way to prune, all seeds in one; each with what it depends on, so that
        other settings of the rest find it again. The slowest first."""
        seeds = range(config.seeds)
        exchange = replace(config, pruned_steps=1, keep=1.0, strongest=1.0)
        after_pruning = replace(config.retraining, steps=config.pruned_steps, patience=None)
        pruning = replace(config, retraining=after_pruning, pruned_steps=1)
        return [
            *(self.request(f"{kind}, {part}", exchange, seeds) for kind in reversed(KINDS) for part in COMPONENTS),
            *(self.request(f"pruned, {by}", pruning, seeds) for by in PRUNED),
        ]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization import surgery_training as training

        config, seeds = self.config_of(request), request.seeds
        trial, what = request.part.split(", ")
        models = training.trained(config, seeds, run)
        if trial == "pruned":
            model = models["guided"]
            training.cut(model, training.kept_neurons(model, config.keep, what, config.strongest, seeds))
        else:
            model = training.exchanged(models, trial, COMPONENTS[what])
        rows = training.retrain(model, trial != "baseline", config, seeds, run, progress, device, SPLITS)
        return [trial_table(trial, what, rows)]

    def summarize(self, config: SurgeryConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(collected(runs))

    claims = CLAIMS
