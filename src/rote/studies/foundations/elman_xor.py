"""Exclusive or in time: Elman 1990, p. 185-186, Figure 3 (source 004 shows his Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rote.claims import Assertion, Claim, above, below
from rote.config import at_least
from rote.errors import SettingError
from rote.laboratory import Study, StudyConfig, studies
from rote.recipes import Job, measurements
from rote.store import Column, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman import OPEN, ElmanRecipe, Procedure, Row, SimulationMeasurement
from rote.studies.foundations.elman_tables import SHARE, STEP, average, curve, difference, over_steps, per_network
from rote.tasks.elman import ElmanTask

if TYPE_CHECKING:
    from rote.studies.foundations.elman_training import Prediction

CYCLE = 12  # inputs that Figure 3 shows
BITS = ("a", "b", "a xor b")


@measurements.register("elman-xor")
@dataclass(frozen=True)
class XorMeasurement(SimulationMeasurement):
    """Errors at random and at determined bits, and what is expected at the random ones."""

    name = "elman-xor"
    columns: ClassVar[Mapping[str, tuple[Column, ...]]] = {
        "seeds": (
            Column("drawn", "root mean squared error where the bit is random"),
            Column("determined", "the same at the third bit, which the two before it determine"),
            Column(
                "exclusive", "share of random bits at which the prediction is on the side of the last two bits' XOR"
            ),
        ),
        "steps": STEP,
    }

    def rows(self, new: Prediction, shown: Prediction) -> dict[str, list[Row]]:
        step = np.arange(1, len(new.stream.symbols)) % CYCLE
        means = np.bincount(step, weights=new.error, minlength=CYCLE) / np.bincount(step, minlength=CYCLE)
        steps = [{"step": index, "error": float(np.sqrt(value))} for index, value in enumerate(means)]
        return {"seeds": [errors(new)], "steps": steps}


def errors(prediction: Prediction) -> Row:
    """By place in the cycle, and on which side of the last two bits' exclusive or the random bits are expected."""
    error, third, symbols = prediction.error, prediction.place == 2, prediction.stream.symbols
    before = symbols[:-1] ^ np.concatenate([[0], symbols[:-2]])  # the first prediction has one bit before it only
    random = ~third
    random[0] = False
    sides = (prediction.outputs[random, 0] > 0.5) == before[random]
    return {
        "drawn": float(np.sqrt(error[~third].mean())), "determined": float(np.sqrt(error[third].mean())),
        "exclusive": float(sides.mean()),
    }  # fmt: skip


@dataclass(frozen=True)
class XorConfig(StudyConfig):
    seeds: int = 32
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=2, passes=published.XOR_PASSES, learning_rate=0.3, measure_every=20.0)
    )
    bits: int = published.XOR_BITS

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        at_least(self, 4 * CYCLE, "bits")
        if self.bits % 3:
            raise SettingError("bits", f"must be a multiple of 3. Got {self.bits}.")


@studies.register("elman-xor")
class XorStudy(Study[XorConfig]):
    """Does a network with two hidden units find the bits of a stream that the two before them determine?"""

    name = "elman-xor"
    source = published.SOURCE
    place = "Elman 1990, p. 185-186, Figure 3"
    title = "Exclusive or in time"
    about = (
        "Two random bits and their exclusive or, over and over, without marks. A network that sees one bit at a time "
        "is to predict the next. Only every third can be predicted, and only from two bits together."
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

    def jobs(self, config: XorConfig) -> list[Job]:
        recipe = ElmanRecipe(ElmanTask("xor", config.bits), config.training)
        return [XorMeasurement().of(job) for job in recipe.jobs(range(config.seeds))]

    def tables(self, config: XorConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        note = f"After {config.training.passes:g} passes over {config.bits} bits; a new stream. {config.seeds} seeds."
        return [
            per_network(measured["seeds"], "Error at random and at determined bits", "Figure 3", note),
            over_steps(
                measured["steps"], [BITS[step % 3] for step in range(CYCLE)],
                f"Root mean squared error over {CYCLE} consecutive bits", "Figure 3", note, "bit that is predicted",
            ),
            curve(measured["curve"], note),
            measured["seeds"],
        ]  # fmt: skip

    claims = (
        Claim(
            "elman-xor-drop", "foundations", "Elman 1990, p. 185, Figure 3",
            "The error drops at every third bit, the one that can be predicted.",
            published.XOR,
            (
                Assertion(
                    "RMS error at random bits minus at the third", difference("drawn", "determined"),
                    above(0.05, at_all=0.0),
                ),
                Assertion(
                    "The same before training", difference("drawn", "determined", "untrained"), below(0.02), "control"
                ),
                Assertion(
                    "The same of counts of two bits", difference("drawn", "determined", "counts of 2"), below(0.02),
                    "control",
                ),
                Assertion(
                    "The same of counts of three bits", difference("drawn", "determined", "counts of 3"), above(0.05),
                    "contrast",
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
                Assertion(
                    "Share of random bits predicted to the side of the XOR", average("exclusive", bounds=SHARE),
                    above(0.75, at_all=0.55),
                ),
                Assertion("The same before training", average("exclusive", "untrained", SHARE), below(0.6), "control"),
            ),
        ),
    )  # fmt: skip
