"""Exclusive or in time: Elman 1990, p. 185-186, Figure 3 (source 004 shows his Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean, paired_difference
from rote.config import at_least
from rote.store import Column, FinishedRun, Request, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman_settings import OPEN, Procedure
from rote.studies.foundations.elman_tables import STEP, curve, over_steps, per_network
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import collected, column_of
from rote.tasks.elman import ElmanTask

if TYPE_CHECKING:
    from rote.studies.foundations.elman_training import Prediction

CYCLE = 12  # inputs that Figure 3 shows
BITS = ("a", "b", "a xor b")
MEASURED = (
    Column("drawn", "root mean squared error where the bit is random"),
    Column("determined", "the same at the third bit, which the two before it determine"),
    Column("exclusive", "share of random bits at which the prediction is on the side of the last two bits' XOR"),
)


@dataclass(frozen=True)
class XorConfig:
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=2, passes=published.XOR_PASSES, learning_rate=0.3, measure_every=20.0)
    )
    bits: int = published.XOR_BITS
    seeds: int = 32

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        at_least(self, 4 * CYCLE, "bits")
        self.task()  # refuses what cannot be

    def task(self) -> ElmanTask:
        return ElmanTask("xor", self.bits)


@studies.register("elman-xor")
class XorStudy(Study[XorConfig]):
    """Does a network with two hidden units find the bits of a stream that the two before them determine?"""

    name = "elman-xor"
    version = 1
    source = published.SOURCE
    place = "Elman 1990, p. 185-186, Figure 3"
    title = "Exclusive or in time"
    about = (
        "Two random bits and their exclusive or, over and over, without marks. A network that sees one bit at a time "
        "is to predict the next. Only every third can be predicted, and only from two bits together. The preset paper "
        "takes about a minute of one core."
    )
    deviations = (
        *OPEN,
        f"The error is that of a new stream, averaged over all its cycles of {CYCLE} bits; Figure 3 averages "
        f"{published.XOR_CYCLES} cycles.",
        "Counts of two and of three bits, which the article does not have, are the control.",
        "Preset quick: fewer passes.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {"training.passes": 2.0, "training.measure_every": 1.0, "bits": 300, "seeds": 2},
        "quick": {"training.passes": 100.0},
        "paper": {},
    }
    default = XorConfig()

    def requests(self, config: XorConfig) -> list[Request]:
        return [self.request("networks", config, range(config.seeds))]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.elman_training import Reading, simulate

        config = self.config_of(request)
        return simulate(
            config.task(), config.training, run, progress, (2, 3),
            Reading("seeds", "Every network", MEASURED, _errors),
            Reading("steps", "Error over cycles", STEP, _steps),
        )  # fmt: skip

    def summarize(self, config: XorConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        tables = collected(runs)
        note = f"After {config.training.passes:g} passes over {config.bits} bits; a new stream. {config.seeds} seeds."
        return [
            per_network(tables["seeds"], "Error at random and at determined bits", "Figure 3", note),
            over_steps(
                tables["steps"], [BITS[step % 3] for step in range(CYCLE)],
                f"Root mean squared error over {CYCLE} consecutive bits", "Figure 3", note, "bit that is predicted",
            ),
            curve(tables["curve"], note),
            tables["seeds"],
        ]  # fmt: skip

    claims = (
        Claim(
            "elman-xor-drop", "foundations", "Elman 1990, p. 185, Figure 3",
            "The error drops at every third bit, the one that can be predicted.",
            published.XOR,
            (
                Measurement(
                    "RMS error at random bits minus at the third", lambda tables: drop(tables, "trained"),
                    above(0.05, at_all=0.0),
                ),
                Measurement(
                    "The same before training", lambda tables: drop(tables, "untrained"), below(0.02), role="control"
                ),
                Measurement(
                    "The same of counts of two bits", lambda tables: drop(tables, "counts of 2"), below(0.02),
                    role="control",
                ),
                Measurement(
                    "The same of counts of three bits", lambda tables: drop(tables, "counts of 3"), above(0.05),
                    role="contrast",
                ),
            ),
            remark="Counts of three bits show the drop without any network: it takes two bits, not a memory of where "
            "in the cycle the stream is, which would bring the error to zero.",
        ),
        Claim(
            "elman-xor-everywhere", "foundations", "Elman 1990, p. 186",
            "The network expects the exclusive or of the last two bits at every place, also where the bit is random.",
            published.XOR,
            (
                Measurement(
                    "Share of random bits predicted to the side of the XOR",
                    lambda tables: exclusive(tables, "trained"), above(0.75, at_all=0.55),
                ),
                Measurement(
                    "The same before training", lambda tables: exclusive(tables, "untrained"), below(0.6),
                    role="control",
                ),
            ),
        ),
    )  # fmt: skip


def _errors(prediction: Prediction) -> list[dict[str, Any]]:
    error, third = prediction.error, prediction.place == 2
    symbols = prediction.stream.symbols
    before = symbols[:-1] ^ np.concatenate([[0], symbols[:-2]])  # the first prediction has one bit before it only
    random = ~third
    random[0] = False
    sides = (prediction.outputs[random, 0] > 0.5) == before[random]
    return [
        {
            "drawn": float(np.sqrt(error[~third].mean())), "determined": float(np.sqrt(error[third].mean())),
            "exclusive": float(sides.mean()),
        }
    ]  # fmt: skip


def _steps(prediction: Prediction) -> list[dict[str, Any]]:
    step = np.arange(1, len(prediction.stream.symbols)) % CYCLE
    means = np.bincount(step, weights=prediction.error, minlength=CYCLE) / np.bincount(step, minlength=CYCLE)
    return [{"step": int(index), "error": float(np.sqrt(value))} for index, value in enumerate(means)]


def drop(tables: Tables, network: str) -> Estimate:
    seeds = tables["seeds"]
    return paired_difference(
        column_of(seeds, "drawn", network=network), column_of(seeds, "determined", network=network)
    )


def exclusive(tables: Tables, network: str) -> Estimate:
    return mean(column_of(tables["seeds"], "exclusive", network=network), bounds=(0.0, 1.0))
