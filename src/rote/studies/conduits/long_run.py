"""The study of predictable conduits over the long run of training: source 000, section 4.2, Figure 3, and section 5.

What is claimed of the end of training is judged where the predictable setting has had the time to learn. In the
published setting these are the networks of the study conduit-predictability; where that one is scaled down and ends
early, this one trains the longer conduit alone, and longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rote.claims import Assertion, Claim, PerSeed, at_most, below, measured
from rote.laboratory import studies
from rote.store import Table
from rote.studies.conduits import predictability_tables as measure
from rote.studies.conduits import published
from rote.studies.conduits.predictability import (
    COPIES,
    SCALED,
    SCALED_DOWN,
    PredictabilityConfig,
    at_end,
    generator_harm,
)
from rote.studies.conduits.rules import AS_PUBLISHED, PREDICTABLE, UNPREDICTABLE, RulesStudy

JUDGED, BESIDE = 8, 4  # k: the longer conduit of Figure 3's study, and the shorter one


def _late(name: str, k: int, suffix: str = "") -> PerSeed:
    return at_end(name, PREDICTABLE + suffix, k) - at_end(name, UNPREDICTABLE + suffix, k)


@studies.register("conduit-long-run")
class LongRunStudy(RulesStudy[PredictabilityConfig]):
    """Does a familiar conduit keep a network from learning a long-distance rule with confidence, in the long run?"""

    name = "conduit-long-run"
    place = "Section 4.2, Figure 3; section 5"
    title = "Predictable conduits over the long run"
    about = (
        "The two settings of the study conduit-predictability, trained until the rule is learned in the predictable "
        "one as well. The source says that predictable conduits inhibit the rule over the long run: a network that has "
        "not had the time to learn it could be late and nothing worse."
    )
    deviations = (
        "Figure 3 has no numbers in the text, and does not say at which epoch the long run is over. Preset paper "
        "trains for the 50 epochs of Figure 2, by the trainings of the study conduit-predictability.",
        COPIES,
        "Tested with unseen conduits, as in the author's program, and with those of the training rules.",
        "Network, training and reading as in the study conduit-frequency: see its deviations.",
        f"{SCALED_DOWN} k = 8 alone, clean corpora, batch 20, learning rate 5, 30 epochs.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "tokens": 4000, "vocabulary": 20, "model.embedding": 8, "model.hidden": 8, "rules": 40, "conduits": 4,
            "copies": 9, "lengths": (JUDGED,), "settings": (UNPREDICTABLE, PREDICTABLE), "others": ("elman",),
            "other_lengths": (3,), "seeds": 2, "training.batch": 5, "training.epochs": 1.0,
            "training.measure_every": 0.5, "training.learning_rate": 5.0, "reading.rules": 4,
            "reading.checked": 2, "reading.gradients": 0,
        },
        "quick": {
            **SCALED, "lengths": (JUDGED,), "settings": (UNPREDICTABLE, PREDICTABLE), "training.batch": 20,
            "training.epochs": 30.0, "training.measure_every": 2.0, "training.learning_rate": 5.0,
            "reading.rules": 16, "reading.checked": 2, "reading.gradients": 0, "reading.gradients_every": 5,
        },
        "paper": {},
    }  # fmt: skip
    optional = (*RulesStudy.optional, "other_lengths")
    default = PredictabilityConfig()

    def tables(self, config: PredictabilityConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(config, measured)

    claims = (
        Claim(
            "conduit-late-harm", "conduits", "Section 4.2, Figure 3; section 5",
            "In the long run a predictable conduit keeps the network from learning the rule with confidence.",
            published.HURTS_LATE,
            (
                Assertion(
                    "Log odds of close from the open symbol at the end, predictable minus unpredictable, k = 8",
                    _late("open", JUDGED), below(0),
                ),
                Assertion(
                    "Share of training after which the predictable setting has learned the rule with the conduits of "
                    "its rules, k = 8",
                    measured(measure.learned_in, PREDICTABLE, JUDGED, "training"), at_most(1), role="condition",
                ),
                Assertion(
                    "The author's generator adds no harm (network's own log odds of close, conduits of the training "
                    "rules, clean predictable setting minus the author's), k = 8",
                    generator_harm(JUDGED), at_most(0), role="rival",
                ),
                Assertion("The first by the network itself", _late("own", JUDGED), below(0), role="report"),
                Assertion("The first of the shorter conduit, k = 4", _late("open", BESIDE), below(0), role="report"),
                Assertion(
                    "The same by the network itself, k = 4", _late("own", BESIDE), below(0), role="report",
                ),
                Assertion(
                    "The first with the author's generator", _late("open", JUDGED, AS_PUBLISHED), below(0),
                    role="report",
                ),
            ),
            remark="Judged at the longer conduit: with the shorter one P(close) from the open symbol is at its ceiling "
            "in both settings, as the study conduit-predictability shows, so that it is reported where it is trained. "
            "On clean corpora, in which every open symbol has its close symbol; the author's generator leaves many "
            "without. Learned: P(close) from the open symbol is above 1/2. A network that has not learned the rule "
            "even with the conduits of its rules has not had the time, and is no test.",
        ),
    )  # fmt: skip
