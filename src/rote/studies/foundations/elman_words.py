"""The notion word, in a stream of letters: Elman 1990, p. 191-194, Figure 6 (source 004 shows his Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

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
    SHARE,
    STEP,
    average,
    curve,
    difference,
    over,
    over_steps,
    per_network,
)
from rote.tasks.elman import TEXT, ElmanTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rote.studies.foundations.elman_training import Prediction

PLACE = Column("place", "letter of the word, counted from 1", "label")


@measurements.register("elman-words")
@dataclass(frozen=True)
class WordsMeasurement(SimulationMeasurement):
    """Errors by the letter of the word that is predicted, and how well they tell where words begin."""

    name = "elman-words"
    text = TEXT
    columns: ClassVar[Mapping[str, tuple[Column, ...]]] = {
        "seeds": (
            Column("onset", "squared error where the first letter of a word is predicted, summed over its five bits"),
            Column("second", "the same at the second letter"),
            Column("later", "the same at the third letter and behind it"),
            Column(
                "detection",
                "probability that the error at an onset is larger than elsewhere (area under the ROC curve)",
            ),
        ),
        "places": (PLACE, Column("error", "squared")),
        "steps": STEP,
    }

    def rows(self, new: Prediction, shown: Prediction) -> dict[str, list[Row]]:
        error, place = new.error, new.place
        parts = {"onset": place == 0, "second": place == 1, "later": place > 1}
        means = {name: float(error[chosen].mean()) for name, chosen in parts.items()}
        sums, counts = np.bincount(place, weights=error), np.bincount(place)
        places = [
            {"place": number + 1, "error": float(total / count)}
            for number, (total, count) in enumerate(zip(sums, counts, strict=True))
            if count
        ]
        seed = {**means, "detection": area(error, place == 0)}
        return {"seeds": [seed], "places": places, "steps": shown.error_by_step()}


def area(error: NDArray[Any], onset: NDArray[np.bool_]) -> float:
    """Of all pairs of an onset and another letter, the share in which the onset has the larger error; ties half."""
    from scipy.stats import rankdata

    first, rest = int(onset.sum()), int((~onset).sum())
    return float((rankdata(error)[onset].sum() - first * (first + 1) / 2) / (first * rest))


@dataclass(frozen=True)
class WordsConfig(StudyConfig):
    seeds: int = 10
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=20, passes=published.WORD_PASSES, measure_every=1.0)
    )
    sentences: int = published.WORD_SENTENCES

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "sentences")


@studies.register("elman-words")
class WordsStudy(Study[WordsConfig]):
    """Does the error of a network that predicts letters show where words begin?"""

    name = "elman-words"
    source = published.SOURCE
    place = "Elman 1990, p. 191-194, Figure 6"
    title = "The notion word"
    about = (
        "Sentences of a small lexicon as a stream of letters without spaces. Within a word the next letter is more and "
        "more certain, at its end it is not: the error of the prediction marks the onsets of words."
    )
    deviations = (
        *OPEN,
        "The 15 words are not published. Ours: the 14 of Figure 6 and 'house', drawn evenly and independently, in "
        f"sentences of 4 to 9 words. The article has {published.WORD_WORDS} words and {published.WORD_LETTERS} "
        "letters; ours differ by seed.",
        "Errors are those of a new stream; Figure 6 is drawn for the article's sentence.",
        "Counts of two and three letters, which the article does not have, are the control.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {"training.passes": 2.0, "sentences": 10, "seeds": 2},
        "quick": {},
        "paper": {},
    }
    default = WordsConfig()

    def jobs(self, config: WordsConfig) -> list[Job]:
        recipe = ElmanRecipe(ElmanTask("words", config.sentences), config.training)
        return [WordsMeasurement().of(job) for job in recipe.jobs(range(config.seeds))]

    def tables(self, config: WordsConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        note = f"After {config.training.passes:g} passes over {config.sentences} sentences. {config.seeds} seeds."
        return [
            per_network(measured["seeds"], "Error at the onset of words and within them", "Figure 6", note),
            over_steps(
                measured["steps"], list("".join(TEXT.split()))[1:], "Squared error over a sentence", "Figure 6", note,
                "letter that is predicted",
            ),
            Table.make(
                "places", "Squared error by letter of the word", (NETWORK, PLACE, *BAND),
                bands(measured["places"].records(), ("network", "place"), "error", ERROR), place="Figure 6",
                figure="elman-places", details=True, note=f"Bands: 95 % intervals. {note}",
            ),
            curve(measured["curve"], note),
            measured["seeds"],
        ]  # fmt: skip

    claims = (
        Claim(
            "elman-words-onset", "foundations", "Elman 1990, p. 193, Figure 6",
            "The error is high at the onset of a word and falls as more of the word is received.",
            published.WORDS,
            (
                Assertion(
                    "Squared error at the first letter minus at the second", difference("onset", "second"),
                    above(0.3, at_all=0.0),
                ),
                Assertion(
                    "Squared error at the second letter minus behind it", difference("second", "later"),
                    above(0.05, at_all=0.0),
                ),
                Assertion(
                    "First minus second letter before training", difference("onset", "second", "untrained"), below(0.3),
                    "control",
                ),
            ),
        ),
        Claim(
            "elman-words-boundaries", "foundations", "Elman 1990, p. 194",
            "The error could be used to find the words of a stream.",
            published.WORDS,
            (
                Assertion(
                    "Probability that the error at an onset is larger than elsewhere",
                    average("detection", bounds=SHARE), above(0.85, at_all=0.6),
                ),
                Assertion("The same before training", average("detection", "untrained", SHARE), below(0.6), "control"),
                Assertion(
                    "Trained minus counts of two letters", over("detection", "counts of 2"), above(0.0), "contrast"
                ),
                Assertion(
                    "Trained minus counts of three letters", over("detection", "counts of 3"), above(0.0), "contrast"
                ),
            ),
            remark="Counts of two or three letters find onsets as well: the contrasts say what the network adds.",
        ),
    )  # fmt: skip
