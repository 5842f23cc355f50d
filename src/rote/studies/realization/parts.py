"""What an exchanged decoder holds: source 002, section 5.1, with the decoder taken apart and with both kinds of GRU."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from rote.claims import (
    Assertion,
    Claim,
    PerSeed,
    Published,
    Tables,
    Values,
    above,
    any_of,
    at_most,
    column,
    inside,
    measured,
)
from rote.config import not_empty
from rote.errors import SettingError
from rote.laboratory import Study, studies
from rote.laboratory.aggregate import grouped
from rote.laboratory.study import CELLS_DECIDE
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.realization import published
from rote.studies.realization.models import QUICK, SMOKE, LookupConfig
from rote.studies.realization.retraining import PIECES, ExchangeRecipe, published_retraining
from rote.studies.realization.surgery_tables import DECISIVE, EXCHANGED, SPLITS, table_4
from rote.training import TrainingConfig

COLUMNS = (Column("cell", "recurrent unit of encoder and decoder", "label"), *EXCHANGED)


def trial_table(cell: str, kind: str, component: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    """What was measured of one retraining."""
    labeled = [{"cell": cell, "model": kind, "component": component, **row} for row in rows]
    return Table.make("pieces", "Every model with an exchanged piece", COLUMNS, labeled, details=True)


def all_tables(every: Mapping[str, Table]) -> list[Table]:
    """One like Table 4 for each cell, and every model."""
    pieces = every["pieces"]
    shown = [
        replace(
            table_4({"substitution": pieces.where(cell=cell)}), name=f"pieces-{cell}",
            title=f"New compositions with a frozen piece of the other kind's decoder ({cell})",
            note="Original: as the main training left it, without retraining. None: retrained like the others, with "
            "nothing exchanged. The pieces are ours; the source exchanges a decoder.",
        )
        for (cell,) in grouped(pieces.records(), ("cell",))
    ]  # fmt: skip
    return [*shown, pieces]


def pieced(kind: str, component: str, cell: str = "gru") -> PerSeed:
    """Accuracy on new compositions of the models of a kind with a piece of the other's; "original": as trained."""
    value, component = ("before", "none") if component == "original" else ("accuracy", component)
    return column("pieces", value, cell=cell, model=kind, component=component, split=DECISIVE)


def lost_share(tables: Tables, component: str, cell: str) -> Values:
    """What share of a guided model's accuracy is lost with a piece of a baseline's decoder."""
    before, after = (pieced("guided", name, cell)(tables) for name in ("original", component))
    return {seed: 1 - after[seed] / accuracy if accuracy else math.nan for seed, accuracy in before.items()}


NEW_COMPOSITIONS = 32  # rows of the test set
DECODERS = ("decoder", "decoder without attention", "recurrent part")  # what decoder may mean
BASELINE = pieced("baseline", "original")
COMPOSES = Assertion(
    "Guided minus baseline, both as trained", pieced("guided", "original") - BASELINE, above(0), role="condition"
)
FORMS = {"original": "as trained", "none": "only retrained", "decoder": "with a baseline's decoder"}


def _numbers(kind: str) -> tuple[Published, ...]:
    """The row of Table 4 with a decoder, three models, against each reading of it."""
    mean, sd = published.SUBSTITUTION[kind, "decoder"]
    return tuple(
        Published(f"Table 4, {kind}, decoder read as {name}", pieced(kind, name), mean=mean, sd=sd, m=3, divisor="m",
                  rows=NEW_COMPOSITIONS)
        for name in DECODERS
    )  # fmt: skip


CLAIMS = (
    Claim(
        "lookup-parts-decoder", "realization", "Section 5.1, Table 4",
        "With a frozen baseline decoder, in one of the readings of decoder, a guided model loses most of its accuracy "
        "on new compositions.",
        "Table 4: .12 ± .05 against .82 ± .12; “the network is apparently unable to recover”",
        (
            any_of(
                *(
                    Assertion(f"Share of the accuracy that is lost, {name} exchanged",
                              measured(lost_share, name, "gru"), above(0.5))
                    for name in DECODERS
                )
            ),
            COMPOSES,
        ),
        kind="implied",
        numbers=_numbers("guided"),
        remark="Most: more than half. With or without attention, or the recurrent part alone: one reading is enough.",
    ),
    Claim(
        "lookup-parts-baseline", "realization", "Section 5.1, Table 4",
        "In one of the readings of decoder, a guided decoder does not make a baseline better on new compositions.",
        "“None of the baseline models given a frozen component from an AG model are able to retrain themselves such "
        "that they significantly increase performance”",
        (
            any_of(
                *(
                    Assertion(f"Gain with a guided {name}", pieced("baseline", name) - BASELINE, at_most(0.1))
                    for name in DECODERS
                )
            ),
            *(
                Assertion(f"Gain with a guided {name} alone", pieced("baseline", name) - BASELINE, at_most(0.1),
                          role="report")
                for name in PIECES if name not in DECODERS
            ),
            COMPOSES,
        ),
        kind="implied",
        numbers=_numbers("baseline"),
        remark="Significantly: by more than 0.1, as in lookup-substitution-baseline, which has the whole decoder.",
    ),
    Claim(
        "lookup-parts-attention", "realization", "Not in the source",
        "What lifts a baseline with a guided decoder is its attention: without it, less is gained.",
        "not in the source, where a guided decoder lifts no baseline",
        (
            Assertion("Accuracy of a baseline, guided decoder with minus without attention",
                      pieced("baseline", "decoder") - pieced("baseline", "decoder without attention"), above(0)),
            Assertion("Gain with a whole guided decoder", pieced("baseline", "decoder") - BASELINE, above(0.1),
                      role="condition"),
            Assertion("Gain with a guided attention alone", pieced("baseline", "attention") - BASELINE, above(0.1),
                      role="report"),
        ),
        kind="ours",
    ),
    Claim(
        "lookup-gru-form", "realization", "Section 2.2, equations, against the authors' code",
        "Whether the reset gate acts before the matrix, as in the equations, or after it, as in the authors' code, "
        "guided models are about as accurate on new compositions, as trained and with a baseline's decoder.",
        "the equation of the candidate state has the reset gate inside the product with W_hh",
        tuple(
            Assertion(f"Reset before minus reset after, guided, {told}",
                      pieced("guided", name, "gru_before") - pieced("guided", name), inside(-0.15, 0.15))
            for name, told in FORMS.items()
        ),
        kind="ours",
        remark="About: within 0.15, about the standard deviation of the source's own guided models.",
    ),
)  # fmt: skip


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
        rows = before_and_after(recipe.program(models, device), retrained, SPLITS)
        return [trial_table(recipe.cell, recipe.kind, recipe.component, rows)]


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
        "quick: models of 128 units as in lookup-accuracy, and 3 epochs of retraining (batches of 4, Adam, learning "
        "rate 0.002), in which a baseline does not learn much anew.",
    )
    claims = CLAIMS
    optional = ("cells",)
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {**SMOKE, "retraining.batch": 16, "retraining.steps": 4, "retraining.record_every": 2},
        "quick": {
            **QUICK, "retraining.batch": 4, "retraining.learning_rate": 0.002, "retraining.steps": 174,
            "retraining.record_every": 29,
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
        return all_tables(measured)
