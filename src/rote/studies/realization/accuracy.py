"""Lookup models with and without attentive guidance: source 002, section 2 and appendix, Tables 5 and 6.

The models that this study trains are what the other lookup studies look into.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from rote.config import at_least, from_plain, to_plain
from rote.store import Column, FinishedRun, Request, Run, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy_claims import CLAIMS
from rote.studies.realization.accuracy_tables import LABELS, all_tables, curves_table
from rote.studies.realization.settings import KINDS, QUICK, SMOKE, LookupModelConfig
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import collected

if TYPE_CHECKING:
    from rote.models import EncoderDecoder

EPOCHS_KEPT = (0, 2, 5, 10, 25, 50)  # whose weights stay, beside those at the end
VERSION = 1


@dataclass(frozen=True)
class AccuracyConfig(LookupModelConfig):
    seeds: int = 5
    lstm: bool = True  # the same with LSTM cells beside the configured ones

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "seeds")


def model_requests(config: LookupModelConfig, seeds: int, cells: Sequence[str]) -> list[Request]:
    """The runs that train the models: one population for each cell and kind. Other studies ask for them alike."""
    plain = LookupModelConfig(**{field.name: getattr(config, field.name) for field in fields(LookupModelConfig)})
    return [
        Request(
            "lookup-accuracy", VERSION, f"{cell} {kind}",
            to_plain(replace(plain, model=replace(plain.model, cell=cell))), tuple(range(seeds)),
        )
        for cell in cells for kind in KINDS
    ]  # fmt: skip


def cells_of(config: AccuracyConfig) -> tuple[str, ...]:
    """The configured cell, and LSTM where it is wanted too."""
    return tuple(dict.fromkeys((config.model.cell, *(("lstm",) if config.lstm else ()))))


def kept_steps(config: LookupModelConfig) -> dict[int, int]:
    """Steps whose weights stay, with the epoch that each ends."""
    per_epoch = -(-len(config.task.splits()["train"]) // config.training.batch)
    found = {epoch * per_epoch: epoch for epoch in EPOCHS_KEPT if epoch * per_epoch < config.training.steps}
    return {**found, config.training.steps: config.training.steps // per_epoch}


def load_models(run: FinishedRun, step: int | None = None) -> EncoderDecoder:
    """The trained population of a run: the selected weights, or those at a step whose weights were kept."""
    from rote.models import EncoderDecoder
    from rote.studies.realization.training import make_program

    config = from_plain(LookupModelConfig(), run.record.request.config)
    model = make_program(config, False, run.record.request.seeds, "cpu").model
    assert isinstance(model, EncoderDecoder)
    model.load(run.checkpoint(step)["model"])
    return model


@studies.register("lookup-accuracy")
class LookupAccuracyStudy(Study[AccuracyConfig]):
    """Do attention targets make the difference between composing lookup tables and memorizing them?"""

    name = "lookup-accuracy"
    version = VERSION
    source = published.SOURCE
    place = "Section 2, appendix, Tables 5 and 6"
    title = "Lookup tables with and without attentive guidance"
    about = (
        "Tables map bit strings to bit strings; a composition applies one after the other. Training shows every table "
        "alone and some compositions; the test sets are compositions with inputs, pairs or tables that were never seen "
        "together. A baseline learns from the outputs alone; a guided model of the same architecture is also told "
        "which input to attend to for each output. Only the one that has learned the parts can answer."
    )
    deviations = (
        "The tables are the published ones; what is held out is our own draw (task.seed), not the authors' sample 1, "
        "whose rows the task can rebuild from its files.",
        "From the authors' code, where the text is silent or says otherwise: batches of one, no teacher forcing, full "
        "focus, every parameter uniform in [-0.08, 0.08], gradient norm at most 5, decoder embedding as large as the "
        "state, losses summed over the steps, a dot after every input, no end symbol to predict, and the model with "
        "the lowest validation loss (not accuracy) of those measured every 200 examples.",
        "quick: 192 units instead of 512, batches of 4, learning rate 0.002, 25 epochs, no LSTM models (lstm=true adds "
        "them). At this size guided models do "
        "not reach the published accuracy on new compositions.",
        "LSTM models and longer compositions are not in the paper; their published values come from the authors' "
        "model collection. The longer compositions are our own draw, of three and four tables.",
    )
    claims = CLAIMS
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": SMOKE,
        "quick": {**QUICK, "lstm": False},
        "paper": {},
    }
    default = AccuracyConfig()

    def requests(self, config: AccuracyConfig) -> list[Request]:
        return model_requests(config, config.seeds, cells_of(config))

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization.training import make_program
        from rote.training import train

        config = from_plain(LookupModelConfig(), request.config)
        cell, kind = request.part.split()
        program = make_program(config, kind == "guided", request.seeds, device)
        train(program, config.training, run, progress=progress, snapshots=kept_steps(config))
        labels = {"cell": cell, "model": kind}
        last = run.metrics.rows()[-1]
        rows = [
            {**labels, "seed": seed, "split": split, "accuracy": accuracy, "last": _of(last, split, index)}
            for split in program.data.names()
            for index, (seed, accuracy) in enumerate(zip(request.seeds, program.accuracy(split), strict=True))
        ]
        per_epoch = -(-program.data.size("train") // config.training.batch)
        curves = [
            {**labels, "seed": seed, "epoch": row["step"] / per_epoch, "measure": measure, "value": value}
            for row in run.metrics.rows()
            for measure, values in row.items() if measure != "step"
            for seed, value in zip(request.seeds, values, strict=True)
        ]  # fmt: skip
        return [_accuracy_table(rows), _curve_table(curves)]

    def summarize(self, config: AccuracyConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        tables = collected(runs)
        return [*all_tables(tables["accuracy"]), curves_table(tables["curves"])]


def _of(row: Mapping[str, Any], split: str, index: int) -> float | None:
    return row[split][index] if split in row else None


def _accuracy_table(rows: list[dict[str, Any]]) -> Table:
    columns = (
        *LABELS,
        Column("split", "which examples", "label"),
        Column("accuracy", "share of sequences right in every position, model with the lowest validation loss"),
        Column("last", "the same after the last epoch"),
    )
    return Table.make("accuracy", "Sequence accuracy of every model", columns, rows, details=True)


def _curve_table(rows: list[dict[str, Any]]) -> Table:
    columns = (
        *LABELS,
        Column("epoch", "passes over the training examples", "label"),
        Column("measure", "sequence accuracy on a split, or the loss that models are selected by", "label"),
        Column("value", "what was measured"),
    )
    return Table.make("curves", "Every model over training", columns, rows, details=True)
