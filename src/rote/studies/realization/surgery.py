"""Exchanging parts of lookup models and cutting neurons out of them: source 002, section 5, Table 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.config import at_least
from rote.errors import UsageError
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy import KINDS, model_requests
from rote.studies.realization.settings import LookupModelConfig, published_training
from rote.studies.realization.surgery_tables import tables_of, trial_table
from rote.studies.study import Progress, Study, studies
from rote.training import TrainingConfig

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
STRENGTHS = ("edges", "mean", "max")  # what strong may mean; the first is the one that decides
PRUNED = (*STRENGTHS, "random", "none")  # by what the kept neurons are chosen; none: nothing is cut
SPLITS = ("new_compositions", "heldout_tables", "heldout_compositions", "heldout_inputs")


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
class LookupSurgery(Study[SurgeryConfig]):
    """Which parts of a lookup model hold the compositional solution, and how few neurons does it need?"""

    name = "lookup-surgery"
    version = 1
    source = published.SOURCE
    place = "Section 5, Table 4"
    title = "Lookup models with exchanged parts, and with 5 % of their neurons"
    about = "x"
    claims = ()
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "seeds": 2, "model.hidden": 16, "training.batch": 16, "training.steps": 30, "training.record_every": 15,
            "retraining.batch": 16, "retraining.steps": 4, "retraining.record_every": 2, "pruned_steps": 4,
            "keep": 0.25,
        },
        "quick": {
            "model.hidden": 192, "training.batch": 4, "training.learning_rate": 0.002, "training.steps": 1450,
            "training.record_every": 29, "retraining.batch": 4, "retraining.learning_rate": 0.002,
            "retraining.steps": 290, "retraining.record_every": 29, "pruned_steps": 290,
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
        return tables_of([table for run in runs for table in run.tables().values()])
