"""Structure in letter sequences: Elman 1990, p. 187-190, Figures 4 and 5 (source 004 shows his Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rote.claims import Assertion, Claim, PerSeed, above
from rote.laboratory import studies
from rote.recipes import measurements
from rote.store import Column, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman import (
    OPEN,
    Procedure,
    Row,
    SimulationConfig,
    SimulationMeasurement,
    SimulationStudy,
)
from rote.studies.foundations.elman_tables import (
    STEP,
    TRAINED,
    UNTRAINED,
    by_label,
    counts_name,
    drop,
    more_than,
    per_seed,
)
from rote.tasks.elman import FEATURES

if TYPE_CHECKING:
    from rote.studies.foundations.elman_training import Prediction

SHOWN = "dii ba guuu ba dii guuu dii ba guuu dii"
KIND, FEATURE = Column("letter", "consonant or vowel", "label"), Column("feature", "bit of its code", "label")
_bits = partial(drop, "high", "is_consonant")


def _vowels(network: str) -> PerSeed:
    """The error at consonants minus that at vowels."""
    return per_seed("consonant", network) - per_seed("vowel", network)


@measurements.register("elman-letters")
@dataclass(frozen=True)
class LettersMeasurement(SimulationMeasurement):
    """Errors where consonants and where vowels are predicted, in all and of each bit."""

    name = "elman-letters"
    orders = (2,)
    text = SHOWN
    columns: ClassVar[Mapping[str, tuple[Column, ...]]] = {
        "seeds": (
            Column("consonant", "squared error where a consonant is predicted, summed over its six bits"),
            Column("vowel", "the same where a vowel is predicted"),
            Column("is_consonant", "squared error of the bit Consonant, all letters"),
            Column("high", "squared error of the bit High, where a consonant is predicted"),
        ),
        "bits": (KIND, FEATURE, Column("error", "squared")),
        "steps": STEP,
    }

    def rows(self, new: Prediction, shown: Prediction) -> dict[str, list[Row]]:
        error, consonant, squared = new.error, new.place == 0, new.squared
        seed = {
            "consonant": float(error[consonant].mean()), "vowel": float(error[~consonant].mean()),
            "is_consonant": float(squared[:, FEATURES.index("Consonant")].mean()),
            "high": float(squared[consonant, FEATURES.index("High")].mean()),
        }  # fmt: skip
        bits = [
            {"letter": name, "feature": feature, "error": float(squared[chosen, bit].mean())}
            for name, chosen in (("consonant", consonant), ("vowel", ~consonant))
            for bit, feature in enumerate(FEATURES)
        ]
        return {"seeds": [seed], "bits": bits, "steps": shown.error_by_step()}


@dataclass(frozen=True)
class LettersConfig(SimulationConfig):
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=20, passes=published.LETTER_PASSES, measure_every=10.0)
    )
    consonants: int = published.LETTER_CONSONANTS
    counted, least = "consonants", 20


@studies.register("elman-letters")
class LettersStudy(SimulationStudy[LettersConfig]):
    """Does a network learn how many vowels follow each consonant, and where its own error must be large?"""

    name = "elman-letters"
    simulation, measurement = "letters", LettersMeasurement()
    errors = ("Error at consonants and vowels", "Figures 4 and 5")
    steps = ("Squared error over a sequence", "Figure 4", "letter that is predicted")
    symbols = tuple(SHOWN.replace(" ", ""))[1:]
    place = "Elman 1990, p. 187-190, Figures 4 and 5"
    title = "Letter sequences"
    about = (
        "Consonants in random order, each followed by its vowels: ba, dii, guuu. The vowels and their number are "
        "certain, the next consonant is not; that it is a consonant, is."
    )
    deviations = (
        *OPEN,
        "Tested, as in the article, with a new sequence.",
        "Counts of two letters, which the article does not have, are the control: they cannot know how many vowels "
        "have passed.",
        "Preset quick: fewer passes.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {"training.passes": 2.0, "training.measure_every": 1.0, "consonants": 60, "seeds": 2},
        "quick": {"training.passes": 40.0},
        "paper": {},
    }
    default = LettersConfig()

    def by_place(self, measured: Mapping[str, Table], note: str) -> Sequence[Table]:
        note = f"Bars: 95 % intervals. {note}"
        return [
            by_label(measured["bits"], (KIND, FEATURE), "Squared error of each bit", "Figure 5", "elman-bits", note)
        ]

    claims = (
        Claim(
            "elman-letters-vowels", "foundations", "Elman 1990, p. 189, Figure 4",
            "The error is high where a consonant comes and low where a vowel comes.",
            published.LETTERS_VOWELS,
            (
                Assertion("Squared error at consonants minus that at vowels", _vowels(TRAINED), above(0.0)),
                *more_than("The difference", _vowels, UNTRAINED, counts_name(2)),
            ),
            kind="cited",
        ),
        Claim(
            "elman-letters-bits", "foundations", "Elman 1990, p. 190, Figure 5",
            "When a consonant comes, the network knows; which one, it does not: of a consonant's bits, Consonant has "
            "a low error and High a large one.",
            published.LETTERS_BITS,
            (
                Assertion(
                    "Squared error of the bit High at consonants minus of the bit Consonant at all letters",
                    _bits(TRAINED), above(0.0),
                ),
                *more_than("The difference", _bits, UNTRAINED, counts_name(2)),
            ),
            kind="cited",
        ),
    )  # fmt: skip
