"""Exclusive or in time: Elman 1990, p. 185-186, Figure 3 (source 004 shows his Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rote.claims import Assertion, Claim, above, below
from rote.errors import SettingError
from rote.laboratory import studies
from rote.recipes import measurements
from rote.store import Column
from rote.studies.foundations import published
from rote.studies.foundations.elman import (
    OPEN,
    Procedure,
    Row,
    SimulationConfig,
    SimulationMeasurement,
    SimulationStudy,
)
from rote.studies.foundations.elman_tables import STEP, TRAINED, UNTRAINED, counts_name, drop, more_than, per_seed

if TYPE_CHECKING:
    from rote.studies.foundations.elman_training import Prediction

CYCLE = 12  # inputs that Figure 3 shows
BITS = ("a", "b", "a xor b")
CHANCE = 0.025  # a drop that an untrained network may have by chance
_drop, _exclusive = partial(drop, "drawn", "determined"), partial(per_seed, "exclusive")


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
class XorConfig(SimulationConfig):
    seeds: int = 32
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=2, passes=published.XOR_PASSES, learning_rate=0.3, measure_every=20.0)
    )
    bits: int = published.XOR_BITS
    counted, least = "bits", 4 * CYCLE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits % 3:
            raise SettingError("bits", f"must be a multiple of 3. Got {self.bits}.")


@studies.register("elman-xor")
class XorStudy(SimulationStudy[XorConfig]):
    """Does a network with two hidden units find the bits of a stream that the two before them determine?"""

    name = "elman-xor"
    simulation, measurement = "xor", XorMeasurement()
    errors = ("Error at random and at determined bits", "Figure 3")
    steps = (f"Root mean squared error over {CYCLE} consecutive bits", "Figure 3", "bit that is predicted")
    symbols = tuple(BITS[step % len(BITS)] for step in range(CYCLE))
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

    claims = (
        Claim(
            "elman-xor-drop", "foundations", "Elman 1990, p. 185, Figure 3",
            "The error drops at every third bit, the one that can be predicted.",
            published.XOR_DROP,
            (
                Assertion("RMS error at random bits minus at the third", _drop(TRAINED), above(0.0)),
                Assertion("The same before training", _drop(UNTRAINED), below(CHANCE), role="condition"),
                *more_than("The drop", _drop, counts_name(2), counts_name(3)),
            ),
            kind="cited",
            remark=f"Before training the drop must be less than {CHANCE:g}, a twentieth of the error of a guess: more "
            "than streams of this length have by chance. Counts of three bits show the drop without any network: it "
            "takes two bits, not a memory of where in the cycle the stream is, which would bring the error to zero.",
        ),
        Claim(
            "elman-xor-everywhere", "foundations", "Elman 1990, p. 186",
            "The network expects the exclusive or of the last two bits at every place, also where the bit is random.",
            published.XOR_EVERYWHERE,
            (
                Assertion(
                    "Share of random bits predicted to the side of the XOR", _exclusive(TRAINED), above(0.5),
                    scale="unit",
                ),
                *more_than("The share", _exclusive, UNTRAINED),
            ),
            kind="cited",
        ),
    )  # fmt: skip
