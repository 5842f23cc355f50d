"""What an exchanged decoder holds: source 002, section 5.1, with the decoder taken apart and with both kinds of GRU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.config import not_empty
from rote.errors import SettingError
from rote.laboratory import Study, studies
from rote.laboratory.study import CELLS_DECIDE
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.realization import parts_tables as measure
from rote.studies.realization import published
from rote.studies.realization.models import QUICK, SMOKE, LookupConfig
from rote.studies.realization.parts_claims import CLAIMS
from rote.studies.realization.retraining import PIECES, ExchangeRecipe, published_retraining
from rote.training import TrainingConfig

EXCHANGES = ("none", "decoder", *PIECES)


@measurements.register("lookup-parts")
@dataclass(frozen=True)
class PartsMeasurement(Measurement):
    """Accuracy of lookup models with a piece of the other kind's decoder, before and after they were trained again."""

    name = "lookup-parts"
    source = published.SOURCE

    def of(self, *trainings: Job, seeds: Sequence[int] | None = None) -> Job:
        """The retrained models first, then those that they were made from. The first tell the measurements apart."""
        job = super().of(*trainings, seeds=seeds)
        return replace(job, request=replace(job.request, label=trainings[0].request.label))

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization.surgery_training import before_and_after

        retrained, *models = trained
        recipe: ExchangeRecipe = retrained.recipe
        rows = before_and_after(recipe.program(models, device), retrained, measure.SPLITS)
        return [measure.trial_table(recipe.cell, recipe.kind, recipe.component, rows)]


@dataclass(frozen=True)
class PartsConfig(LookupConfig):
    cells: tuple[str, ...] = ("gru", "gru_before")  # recurrent units of encoder and decoder
    retraining: TrainingConfig = field(default_factory=published_retraining)

    def __post_init__(self) -> None:
        super().__post_init__()
        not_empty(self, "cells")
        known_cells(*self.cells)
        if self.model.attention == "dot":
            raise SettingError("model.attention", "must be mlp or general: dot has no weights to exchange. Got dot.")

    def recipes(self) -> list[ExchangeRecipe]:
        """Each piece exchanged in both kinds of models, with each cell."""
        return [
            ExchangeRecipe(self.guided(cell), self.retraining, kind, part)
            for cell in self.cells
            for kind in ("guided", "baseline")
            for part in EXCHANGES
        ]


@studies.register("lookup-parts")
class LookupPartsStudy(Study[PartsConfig]):
    """Which piece of a decoder holds the compositional solution, and does the form of the GRU matter?"""

    name = "lookup-parts"
    source = published.SOURCE
    place = "Section 5.1, Table 4; section 2.2"
    title = "Lookup models with pieces of the other kind's decoder"
    about = (
        "What the source calls the decoder is not said, and it decides: a frozen guided decoder with its attention and "
        "readout lifts our baselines at the published size, where the source has no gain. Here the attention alone, "
        "the recurrent part alone, the readout alone, and the decoder without its attention are exchanged, each way, "
        "as in lookup-surgery. With two kinds of GRU: that of PyTorch, and that of the source's equations, in which "
        "the reset gate acts on the state before its matrix."
    )
    deviations = (
        "The source exchanges a decoder and does not say what belongs to it; the pieces are ours. The decoder without "
        "attention is its embedding, focus, recurrent part and readout.",
        "All choices of lookup-surgery: a part goes into the model of the same seed, the order of the examples is a "
        "new one, Adam starts anew, retraining ends when no model has become better for about 10 epochs.",
        "The equations of the text have the reset gate inside the product with W_hh (gru_before), the authors' code "
        "and all our other studies of the source PyTorch's GRU, where it multiplies what W_hh gives (gru).",
        "quick: 192 units, batch 4, learning rate 0.002, 25 epochs of training and 3 of retraining, in which a "
        "baseline does not learn much anew; PyTorch's GRU only (cells=gru,gru_before for both).",
    )
    claims = CLAIMS
    optional = ("cells",)
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {**SMOKE, "retraining.batch": 16, "retraining.steps": 4, "retraining.record_every": 2},
        "quick": {
            **QUICK, "cells": ("gru",), "retraining.batch": 4, "retraining.learning_rate": 0.002,
            "retraining.steps": 174, "retraining.record_every": 29,
        },
        "paper": {},
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, str]] = {
        **CELLS_DECIDE,
        "task.longer": "only lookup-accuracy measures longer compositions.",
        "retraining.dtype": "retraining goes on with the numbers of 'training.dtype'.",
    }
    default = PartsConfig()

    def jobs(self, config: PartsConfig) -> list[Job]:
        retrained = [job for recipe in config.recipes() for job in recipe.jobs(config.seed_numbers)]
        return [PartsMeasurement().of(job, *job.needs) for job in retrained]

    def tables(self, config: PartsConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(measured)
