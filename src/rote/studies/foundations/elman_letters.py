"""Structure in letter sequences: Elman 1990, p. 187-190, Figures 4 and 5 (source 004 shows his Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from rote.claims import Assertion, Claim, above, below
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, studies
from rote.laboratory.aggregate import BAND, bands
from rote.recipes import Job, measurements
from rote.store import Column, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman import OPEN, ElmanRecipe, Procedure, Row, SimulationMeasurement
from rote.studies.foundations.elman_tables import (
    ERROR,
    NETWORK,
    STEP,
    average,
    curve,
    difference,
    over_steps,
    per_network,
)
from rote.tasks.elman import FEATURES, ElmanTask

if TYPE_CHECKING:
    from rote.studies.foundations.elman_training import Prediction

SHOWN = "dii ba guuu ba dii guuu dii ba guuu dii"
KIND, FEATURE = Column("letter", "consonant or vowel", "label"), Column("feature", "bit of its code", "label")


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
class LettersConfig(StudyConfig):
    seeds: int = 10
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=20, passes=published.LETTER_PASSES, measure_every=10.0)
    )
    consonants: int = published.LETTER_CONSONANTS

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        at_least(self, 20, "consonants")


@studies.register("elman-letters")
class LettersStudy(Study[LettersConfig]):
    """Does a network learn how many vowels follow each consonant, and where its own error must be large?"""

    name = "elman-letters"
    source = published.SOURCE
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

    def jobs(self, config: LettersConfig) -> list[Job]:
        recipe = ElmanRecipe(ElmanTask("letters", config.consonants), config.training)
        return [LettersMeasurement().of(job) for job in recipe.jobs(range(config.seeds))]

    def tables(self, config: LettersConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        note = f"After {config.training.passes:g} passes over {config.consonants} consonants. {config.seeds} seeds."
        return [
            per_network(measured["seeds"], "Error at consonants and vowels", "Figures 4 and 5", note),
            over_steps(
                measured["steps"], list("".join(SHOWN.split()))[1:], "Squared error over a sequence", "Figure 4", note,
                "letter that is predicted",
            ),
            Table.make(
                "bits", "Squared error of each bit", (NETWORK, KIND, FEATURE, *BAND),
                bands(measured["bits"].records(), ("network", "letter", "feature"), "error", ERROR), place="Figure 5",
                figure="elman-bits", details=True, note=f"Bars: 95 % intervals. {note}",
            ),
            curve(measured["curve"], note),
            measured["seeds"],
        ]  # fmt: skip

    claims = (
        Claim(
            "elman-letters-vowels", "foundations", "Elman 1990, p. 189, Figure 4",
            "The error is high where a consonant comes and low where a vowel comes.",
            published.LETTERS,
            (
                Assertion(
                    "Squared error at consonants minus at vowels", difference("consonant", "vowel"),
                    above(0.3, at_all=0.0),
                ),
                Assertion("Squared error at vowels", average("vowel"), below(0.05, at_all=0.2)),
                Assertion(
                    "Squared error at vowels before training", average("vowel", "untrained"), above(0.5), "control"
                ),
                Assertion(
                    "Squared error at vowels of counts of two letters", average("vowel", "counts of 2"), above(0.2),
                    "contrast",
                ),
            ),
        ),
        Claim(
            "elman-letters-bits", "foundations", "Elman 1990, p. 190, Figure 5",
            "When a consonant comes, the network knows; which one, it does not: of a consonant's bits, Consonant has "
            "a low error and High a large one.",
            published.LETTERS,
            (
                Assertion(
                    "Squared error of the bit Consonant, all letters", average("is_consonant"), below(0.02, at_all=0.1)
                ),
                Assertion("Squared error of the bit High at consonants", average("high"), above(0.15, at_all=0.05)),
                Assertion("Bit Consonant before training", average("is_consonant", "untrained"), above(0.1), "control"),
                Assertion(
                    "Bit Consonant of counts of two letters", average("is_consonant", "counts of 2"), above(0.1),
                    "contrast",
                ),
            ),
        ),
    )  # fmt: skip
