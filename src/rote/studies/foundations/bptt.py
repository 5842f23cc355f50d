"""Backpropagation through time, term by term: source 004, slides "@tensor_op", "Training: BPTT" and "Next Time".

The lecture derives dJ/dW_h = sum over i of dJ/dW_h at step i and announces vanishing gradients; it measures neither.
Here the terms of that sum are computed by two engines, for networks before and after they learned to remember.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from rote.claims import Assertion, Claim, PerSeed, above, below, column
from rote.claims.claim import Role
from rote.config import at_least
from rote.errors import SettingError
from rote.laboratory import Study, StudyConfig, studies
from rote.laboratory.aggregate import BAND, bands, grouped
from rote.laboratory.study import CELLS_DECIDE
from rote.models import LanguageModelConfig
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.foundations import published
from rote.training import TrainingConfig

CELLS = ("elman", "lstm", "gru")
GATED = CELLS[1:]
NETWORKS = ("untrained", "trained")
LEARNED = 0.9  # share of sequences whose first symbol is recalled
CELL = Column("cell", "recurrent unit", "label")
NETWORK = Column("network", "before or after training", "label")
DISTANCE = Column("distance", "steps back from the loss", "label")
LABELS = (CELL, NETWORK, Column("seed", "random seed of network and sequences", "label"))
TERM = (DISTANCE, Column("log_norm", "log10 of the norm over that of the nearest term"))
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


def small_model() -> LanguageModelConfig:
    return LanguageModelConfig(cell="elman", embedding=16, hidden=32, limit=1.0)


def training() -> TrainingConfig:
    return TrainingConfig(steps=2000, batch=32, optimizer="adam", learning_rate=0.003, clip=1.0)


@recipes.register("bptt")
@dataclass(frozen=True)
class RecallRecipe(Recipe):
    """Networks that read a symbol to be recalled among others, and are asked for it at the end."""

    name = "bptt"
    source = published.SOURCE
    together = 64
    view = "sequence"
    about = "what it says at the last symbol is its answer: the one symbol k that it has read"
    model: LanguageModelConfig = field(default_factory=small_model)
    training: TrainingConfig = field(default_factory=training)
    time: int = 20  # symbols of a sequence
    symbols: int = 4  # to be recalled, and as many others

    @property
    def label(self) -> str:
        return self.model.cell

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.foundations.bptt_training import RecallProgram
        from rote.training import train

        program = RecallProgram(self, run.request.seeds, device)
        train(program, self.training, run, progress=progress, snapshots=(0,))

    def closed(self) -> str:
        return ""

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.studies.foundations.bptt_training import draw, reopened

        names = tuple(f"{kind}{number}" for kind in "kx" for number in range(self.symbols))
        tokens, _ = draw(self, trained.seeds[index], 0, 1)
        example = " ".join(names[token] for token in tokens[0])
        return Network(reopened(trained, weights).replica(index), inputs=names, outputs=names, example=example)


@measurements.register("bptt")
@dataclass(frozen=True)
class TermsMeasurement(Measurement):
    """The terms of the gradient of the recurrent weights by two engines, before and after training."""

    name = "bptt"
    source = published.SOURCE
    sequences: int = 32  # that the loss is summed over

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.bptt_training import measured

        return measured(self, trained[0])


@dataclass(frozen=True)
class BpttConfig(StudyConfig):
    seeds: int = 10
    model: LanguageModelConfig = field(default_factory=small_model)
    training: TrainingConfig = field(default_factory=training)
    cells: tuple[str, ...] = CELLS
    time: int = 20  # symbols of a sequence
    symbols: int = 4  # to be recalled, and as many others
    sequences: int = 32  # that the loss is summed over

    def __post_init__(self) -> None:
        at_least(self, 1, "sequences", "seeds")
        at_least(self, 2, "symbols")
        at_least(self, 4, "time")
        strange = [name for name in self.cells if name not in CELLS]
        if strange or not self.cells:
            raise SettingError("cells", f"must be of {', '.join(CELLS)}. Got {', '.join(strange) or 'none'}.")


def _seeds(name: str, cell: str, network: str) -> PerSeed:
    return column("seeds", name, cell=cell, network=network)


def _recalled(cell: str, role: Role) -> Assertion:
    label = f"Share of sequences that the trained {cell} recalls"
    return Assertion(label, _seeds("right", cell, "trained"), above(LEARNED), role=role, scale="unit")


@studies.register("bptt")
class BpttStudy(Study[BpttConfig]):
    """Where does the gradient of a recurrent weight come from, and how fast does it fade with distance?"""

    name = "bptt"
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
        "quick": {"training.steps": 400, "seeds": 6},
        "paper": {},
    }  # fmt: skip
    own_scale = True
    optional = ("cells",)
    fixed: ClassVar[Mapping[str, str]] = CELLS_DECIDE
    default = BpttConfig()

    def jobs(self, config: BpttConfig) -> list[Job]:
        measurement = TermsMeasurement(config.sequences)
        models = [replace(config.model, cell=cell) for cell in config.cells]
        recipes = [RecallRecipe(model, config.training, config.time, config.symbols) for model in models]
        return [measurement.of(job) for recipe in recipes for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: BpttConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        note = f"{config.time} steps, {config.sequences} sequences, {config.seeds} seeds."
        return [
            _outcome(measured["seeds"], note),
            Table.make(
                "terms", "Terms of the gradient by distance", (CELL, NETWORK, DISTANCE, *BAND),
                bands(measured["terms"].records(), ("cell", "network", "distance"), "log_norm"),
                place="Training: BPTT", figure="bptt-terms", details=True,
                note=f"log10 of the norm over that of the nearest term. Bands: 95 % intervals. {note}",
            ),
            measured["seeds"],
        ]  # fmt: skip

    claims = (
        Claim(
            "bptt-sum", "foundations", "Training: BPTT",
            "The gradient of a weight that all steps share is the sum of what each step contributes.",
            published.BPTT,
            kind="identity",
            test="tests/oracles/test_gradient_flow.py::test_the_terms_sum_to_the_gradient_of_the_whole_model",
            remark="A theorem; what is tested are two programs.",
        ),
        Claim(
            "bptt-unrolled", "foundations", "Training: BPTT; Simple / Vanilla / Elman RNNs",
            "Unrolled across time, with the weights of every step as nodes of their own, plain backpropagation gives "
            "these terms.",
            published.UNROLLED,
            kind="identity",
            test="tests/oracles/test_chalk_gradients.py"
            "::test_the_terms_of_bptt_are_those_of_gradient_flow_and_sum_to_the_gradient",
        ),
        Claim(
            "bptt-tensor-op", "foundations", "@tensor_op",
            "A forward and a backward function, wrapped by tensor_op, are enough for right gradients of a whole "
            "network.",
            published.TENSOR_OP,
            kind="identity",
            test="tests/oracles/test_chalk_gradients.py::test_operations_of_ones_own_make_a_network_with_torchs_gradients",
            remark="The lecture's example of a decorator, printer, prints the result of the wrapped function but does "
            "not return it.",
        ),
        Claim(
            "bptt-vanishing", "foundations", "Next Time",
            "In a vanilla network the terms fade with distance.",
            published.VANISHING,
            (
                *(
                    Assertion(
                        f"Change of log10 of a term's norm per step back, Elman's cell, {network}",
                        _seeds("decay", "elman", network), below(0.0),
                    )
                    for network in NETWORKS
                ),
                _recalled("elman", "report"),
            ),
            kind="implied",
            remark="The lecture announces vanishing gradients and measures nothing.",
        ),
        Claim(
            "bptt-gates", "foundations", "Next Time",
            "Once trained, gated cells keep the terms of distant steps larger than a vanilla cell does.",
            published.VANISHING,
            (
                *(
                    Assertion(
                        f"Change per step back of {cell} minus Elman's, {network}",
                        _seeds("decay", cell, network) - _seeds("decay", "elman", network), above(0.0),
                        role="part" if network == "trained" else "report",
                    )
                    for network in NETWORKS
                    for cell in GATED
                ),
                *(_recalled(cell, "condition") for cell in GATED),
            ),
            kind="ours",
            remark="The lecture announces gated networks next to vanishing gradients; that they help is our reading. "
            f"Trained: the first symbol is recalled in more than {LEARNED:.0%} of the sequences.",
        ),
    )  # fmt: skip


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
