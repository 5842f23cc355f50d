"""Backpropagation through time, term by term: source 004, slides "@tensor_op", "Training: BPTT" and "Next Time".

The lecture derives dJ/dW_h = sum over i of dJ/dW_h at step i and announces vanishing gradients; it measures neither.
Here the terms of that sum are computed by two engines, for networks before and after they learned to remember.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.config import at_least
from rote.errors import UsageError
from rote.models import LanguageModelConfig
from rote.store import Column, FinishedRun, Request, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.bptt_claims import CLAIMS
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import BAND, bands, collected, grouped
from rote.training import TrainingConfig

CELLS = ("elman", "lstm", "gru")
CELL = Column("cell", "recurrent unit", "label")
NETWORK = Column("network", "before or after training", "label")
SEED = Column("seed", "random seed of network and sequences", "label")
DISTANCE = Column("distance", "steps back from the loss", "label")
MEASURED = (
    Column("decay", "change of log10 of a term's norm for each step back, least squares"),
    Column("farthest", "log10 of the norm of the farthest term over that of the nearest"),
    Column("right", "share of sequences whose first symbol is recalled at the end"),
    Column("sum_error", "log10 of the relative difference between the summed terms and the gradient"),
    Column("without_nearest", "log10 of the same if the nearest term is left out of the sum"),
    Column("engines", "log10 of the largest difference between the terms of chalk and those of torch"),
    Column("states", "log10 of the largest difference between the states of chalk's cell and torch's"),
    Column("derivative", "the same between chalk's gradients and finite differences, a small network"),
)


@dataclass(frozen=True)
class BpttConfig:
    model: LanguageModelConfig = field(
        default_factory=lambda: LanguageModelConfig(cell="elman", embedding=16, hidden=32, limit=1.0)
    )
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(steps=2000, batch=32, optimizer="adam", learning_rate=0.003, clip=1.0)
    )
    cells: tuple[str, ...] = CELLS
    time: int = 20  # symbols of a sequence
    symbols: int = 4  # to be recalled, and as many others
    sequences: int = 32  # that the loss is summed over
    seeds: int = 10

    def __post_init__(self) -> None:
        at_least(self, 1, "sequences", "seeds")
        at_least(self, 2, "symbols")
        at_least(self, 4, "time")
        strange = [name for name in self.cells if name not in CELLS]
        if strange or not self.cells:
            raise UsageError(f"'cells' must be of {', '.join(CELLS)}. Got {', '.join(strange) or 'none'}.")


@studies.register("bptt")
class BpttStudy(Study[BpttConfig]):
    """Where does the gradient of a recurrent weight come from, and how fast does it fade with distance?"""

    name = "bptt"
    version = 1
    source = published.SOURCE
    place = "Training: BPTT; Next Time"
    title = "Backpropagation through time, term by term"
    about = (
        "A network reads a symbol, others after it, and is asked for the first at the end. The gradient of its "
        "recurrent weights is a sum with one term for each step. The terms are computed twice, by the teaching engine "
        "with a copy of the weights at every step, and by rote.gradient_flow, before and after training; their norms "
        "say from how far back the weights learn."
    )
    deviations = (
        "The lecture derives the sum and announces vanishing gradients; task, sizes and training are ours. In training "
        "the symbol to be recalled stands anywhere in the sequence, marked by its kind; in the test it comes first.",
        "The weight is the whole recurrent matrix, for LSTM and GRU with the rows of all gates.",
        "Initial weights are torch's, uniform in 1 / sqrt(hidden), and no forget gate starts open.",
        "Preset quick: fewer seeds and updates.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "training.steps": 4, "training.batch": 4, "model.embedding": 4, "model.hidden": 5, "time": 6,
            "sequences": 4, "seeds": 2,
        },
        "quick": {"training.steps": 400, "seeds": 5},
        "paper": {},
    }  # fmt: skip
    default = BpttConfig()

    def requests(self, config: BpttConfig) -> list[Request]:
        parts = [replace(config, model=replace(config.model, cell=cell), cells=(cell,)) for cell in config.cells]
        return [self.request(part.model.cell, part, range(config.seeds)) for part in parts]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.bptt_training import train_and_measure

        return train_and_measure(self.config_of(request), run, progress, device)

    def summarize(self, config: BpttConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        tables = collected(runs)
        note = f"{config.time} steps, {config.sequences} sequences, {config.seeds} seeds."
        return [
            _outcome(tables["seeds"], note),
            Table.make(
                "terms", "Terms of the gradient by distance", (CELL, NETWORK, DISTANCE, *BAND),
                bands(tables["terms"].records(), ("cell", "network", "distance"), "log_norm"),
                place="Training: BPTT", figure="bptt-terms", details=True,
                note=f"log10 of the norm over that of the nearest term. Bands: 95 % intervals. {note}",
            ),
            tables["seeds"],
        ]  # fmt: skip

    claims = CLAIMS


def _outcome(table: Table, note: str) -> Table:
    rows = [
        {
            "cell": cell, "network": network, "seeds": len(group),
            **{column.name: bands(group, (), column.name)[0]["mean"] for column in MEASURED},
        }
        for (cell, network), group in grouped(table.records(), ("cell", "network")).items()
    ]  # fmt: skip
    columns = (CELL, NETWORK, Column("seeds", "networks", "label"), *MEASURED)
    return Table.make("outcome", "Terms of the gradient", columns, rows, note=f"Means over seeds. {note}")
