"""Structure in letter sequences: Elman 1990, p. 187-190, Figures 4 and 5 (source 004 shows his Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean, paired_difference
from rote.config import at_least
from rote.store import Column, FinishedRun, Request, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman_settings import OPEN, Procedure
from rote.studies.foundations.elman_tables import ERROR, NETWORK, STEP, curve, over_steps, per_network
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import BAND, bands, collected, column_of
from rote.tasks.elman import FEATURES, ElmanTask

if TYPE_CHECKING:
    from rote.studies.foundations.elman_training import Prediction

SHOWN = "dii ba guuu ba dii guuu dii ba guuu dii"
KIND, FEATURE = Column("letter", "consonant or vowel", "label"), Column("feature", "bit of its code", "label")
MEASURED = (
    Column("consonant", "squared error where a consonant is predicted, summed over its six bits"),
    Column("vowel", "the same where a vowel is predicted"),
    Column("is_consonant", "squared error of the bit Consonant, all letters"),
    Column("high", "squared error of the bit High, where a consonant is predicted"),
)


@dataclass(frozen=True)
class LettersConfig:
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=20, passes=published.LETTER_PASSES, measure_every=10.0)
    )
    consonants: int = published.LETTER_CONSONANTS
    seeds: int = 10

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        at_least(self, 20, "consonants")

    def task(self) -> ElmanTask:
        return ElmanTask("letters", self.consonants)


@studies.register("elman-letters")
class LettersStudy(Study[LettersConfig]):
    """Does a network learn how many vowels follow each consonant, and where its own error must be large?"""

    name = "elman-letters"
    version = 1
    source = published.SOURCE
    place = "Elman 1990, p. 187-190, Figures 4 and 5"
    title = "Letter sequences"
    about = (
        "Consonants in random order, each followed by its vowels: ba, dii, guuu. The vowels and their number are "
        "certain, the next consonant is not; that it is a consonant, is. The preset paper takes less than a minute."
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

    def requests(self, config: LettersConfig) -> list[Request]:
        return [self.request("networks", config, range(config.seeds))]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.elman_training import Reading, simulate

        config = self.config_of(request)
        task = config.task()
        return simulate(
            task, config.training, run, progress, (2,),
            Reading("seeds", "Every network", MEASURED, _errors),
            Reading("bits", "Error of each bit", (KIND, FEATURE, Column("error", "squared")), _bits),
            Reading("steps", "Error over letters", STEP, _steps, on=lambda seed: task.spelled(SHOWN, seed)),
        )  # fmt: skip

    def summarize(self, config: LettersConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        tables = collected(runs)
        note = f"After {config.training.passes:g} passes over {config.consonants} consonants. {config.seeds} seeds."
        return [
            per_network(tables["seeds"], "Error at consonants and vowels", "Figures 4 and 5", note),
            over_steps(
                tables["steps"], list("".join(SHOWN.split()))[1:], "Squared error over a sequence", "Figure 4", note,
                "letter that is predicted",
            ),
            Table.make(
                "bits", "Squared error of each bit", (NETWORK, KIND, FEATURE, *BAND),
                bands(tables["bits"].records(), ("network", "letter", "feature"), "error", ERROR), place="Figure 5",
                figure="elman-bits", details=True, note=f"Bars: 95 % intervals. {note}",
            ),
            curve(tables["curve"], note),
            tables["seeds"],
        ]  # fmt: skip

    claims = (
        Claim(
            "elman-letters-vowels", "foundations", "Elman 1990, p. 189, Figure 4",
            "The error is high where a consonant comes and low where a vowel comes.",
            published.LETTERS,
            (
                Measurement(
                    "Squared error at consonants minus at vowels",
                    lambda tables: difference(tables, "consonant", "vowel", "trained"), above(0.3, at_all=0.0),
                ),
                Measurement(
                    "Squared error at vowels", lambda tables: error(tables, "vowel", "trained"),
                    below(0.05, at_all=0.2),
                ),
                Measurement(
                    "Squared error at vowels before training", lambda tables: error(tables, "vowel", "untrained"),
                    above(0.5), role="control",
                ),
                Measurement(
                    "Squared error at vowels of counts of two letters",
                    lambda tables: error(tables, "vowel", "counts of 2"), above(0.2), role="contrast",
                ),
            ),
        ),
        Claim(
            "elman-letters-bits", "foundations", "Elman 1990, p. 190, Figure 5",
            "When a consonant comes, the network knows; which one, it does not: of a consonant's bits, Consonant has "
            "a low error and High a large one.",
            published.LETTERS,
            (
                Measurement(
                    "Squared error of the bit Consonant, all letters",
                    lambda tables: error(tables, "is_consonant", "trained"), below(0.02, at_all=0.1),
                ),
                Measurement(
                    "Squared error of the bit High at consonants", lambda tables: error(tables, "high", "trained"),
                    above(0.15, at_all=0.05),
                ),
                Measurement(
                    "Bit Consonant before training", lambda tables: error(tables, "is_consonant", "untrained"),
                    above(0.1), role="control",
                ),
                Measurement(
                    "Bit Consonant of counts of two letters",
                    lambda tables: error(tables, "is_consonant", "counts of 2"), above(0.1), role="contrast",
                ),
            ),
        ),
    )  # fmt: skip


def _errors(prediction: Prediction) -> list[dict[str, Any]]:
    error, consonant, squared = prediction.error, prediction.place == 0, prediction.squared
    return [
        {
            "consonant": float(error[consonant].mean()), "vowel": float(error[~consonant].mean()),
            "is_consonant": float(squared[:, FEATURES.index("Consonant")].mean()),
            "high": float(squared[consonant, FEATURES.index("High")].mean()),
        }
    ]  # fmt: skip


def _bits(prediction: Prediction) -> list[dict[str, Any]]:
    consonant = prediction.place == 0
    return [
        {"letter": name, "feature": feature, "error": float(prediction.squared[chosen, bit].mean())}
        for name, chosen in (("consonant", consonant), ("vowel", ~consonant))
        for bit, feature in enumerate(FEATURES)
    ]


def _steps(prediction: Prediction) -> list[dict[str, Any]]:
    return [{"step": step, "error": float(value)} for step, value in enumerate(prediction.error)]


def error(tables: Tables, name: str, network: str) -> Estimate:
    return mean(column_of(tables["seeds"], name, network=network))


def difference(tables: Tables, first: str, second: str, network: str) -> Estimate:
    values = (column_of(tables["seeds"], name, network=network) for name in (first, second))
    return paired_difference(*values)
