"""Exchanging parts of lookup models and cutting neurons out of them: source 002, section 5, Table 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.config import at_least
from rote.errors import SettingError
from rote.laboratory import Study, studies
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.realization import published
from rote.studies.realization import surgery_tables as measure
from rote.studies.realization.models import QUICK, SMOKE, LookupConfig
from rote.studies.realization.retraining import (
    COMPONENTS,
    PRUNED,
    ExchangeRecipe,
    PruningRecipe,
    RetrainedRecipe,
    published_retraining,
)
from rote.studies.realization.surgery_claims import CLAIMS
from rote.training import TrainingConfig


@measurements.register("lookup-surgery")
@dataclass(frozen=True)
class SurgeryMeasurement(Measurement):
    """Accuracy of changed lookup models, before and after they were trained again."""

    name = "lookup-surgery"
    source = published.SOURCE

    def of(self, *trainings: Job, seeds: Sequence[int] | None = None) -> Job:
        """The retrained models first, then those that they were made from. The first tell the measurements apart."""
        job = super().of(*trainings, seeds=seeds)
        return replace(job, request=replace(job.request, label=trainings[0].request.label))

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization.surgery_training import before_and_after

        retrained, *models = trained
        recipe: RetrainedRecipe = retrained.recipe
        rows = before_and_after(recipe.program(models, device), retrained, measure.SPLITS)
        return [measure.trial_table(*recipe.trial, rows)]


@dataclass(frozen=True)
class SurgeryConfig(LookupConfig):
    retraining: TrainingConfig = field(default_factory=published_retraining)  # with exchanged parts
    pruned_steps: int = 4640  # of retraining after pruning: 20 epochs
    keep: float = 0.05  # share of the neurons that stay
    strongest: float = published.STRONGEST  # share of a layer's weights that count as strong edges

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "pruned_steps")
        at_least(self, 1, "task.unseen_tables", "task.heldout_compositions", "task.heldout_inputs", "task.validation")
        for name in ("keep", "strongest"):
            if not 0 < getattr(self, name) <= 1:
                raise SettingError(name, f"must be a share above 0 and at most 1. Got {getattr(self, name)}.")

    def recipes(self) -> list[RetrainedRecipe]:
        """Each part exchanged in both kinds of models, and each way to prune."""
        models = self.guided(self.model.cell)
        after_pruning = replace(self.retraining, steps=self.pruned_steps, patience=None)
        return [
            *(
                ExchangeRecipe(models, self.retraining, kind, part)
                for kind in ("guided", "baseline")
                for part in COMPONENTS
            ),
            *(PruningRecipe(models, after_pruning, by, self.keep, self.strongest) for by in PRUNED),
        ]


@studies.register("lookup-surgery")
class LookupSurgeryStudy(Study[SurgeryConfig]):
    """Which parts of a lookup model hold the compositional solution, and how few neurons does it need?"""

    name = "lookup-surgery"
    source = published.SOURCE
    place = "Section 5, Table 4"
    title = "Lookup models with exchanged parts, and with 5 % of their neurons"
    about = (
        "A part of a model trained without attention targets is put into a model trained with them, frozen, and the "
        "rest is retrained: where accuracy on compositions of tables that were never composed does not come back, the "
        "part was needed for it. The same the other way round. And all but the 5 % most strongly connected neurons are "
        "cut out of the guided models."
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
        "Which neurons are strongly connected is not said, and no script for it is public: three readings, one "
        "of which is enough. What is cut stays zero, also in the state that the decoder starts from.",
        "The GRU is PyTorch's, as in the authors' code; lookup-parts has that of the text's equations, and the decoder "
        "taken apart.",
        "quick: models of 128 units as in lookup-accuracy, and 3 epochs of retraining (batches of 4, Adam, learning "
        "rate 0.002); 5 % are 6 neurons.",
    )
    claims = CLAIMS
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
    fixed: ClassVar[Mapping[str, str]] = {
        "task.longer": "only lookup-accuracy measures longer compositions.",
        "retraining.dtype": "retraining goes on with the numbers of 'training.dtype'.",
    }
    default = SurgeryConfig()

    def jobs(self, config: SurgeryConfig) -> list[Job]:
        retrained = [job for recipe in config.recipes() for job in recipe.jobs(config.seed_numbers)]
        return [SurgeryMeasurement().of(job, *job.needs) for job in retrained]

    def tables(self, config: SurgeryConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(measured)
