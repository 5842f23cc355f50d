"""The notion word, in a stream of letters: Elman 1990, p. 191-194, Figure 6 (source 004 shows his Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rote.claims import Assertion, Claim, above
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
from rote.tasks.elman import TEXT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rote.studies.foundations.elman_training import Prediction

PLACE = Column("place", "letter of the word, counted from 1", "label")
_onset, _found = partial(drop, "onset", "second"), partial(per_seed, "detection")


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
class WordsConfig(SimulationConfig):
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=20, passes=published.WORD_PASSES, measure_every=1.0)
    )
    sentences: int = published.WORD_SENTENCES
    counted = "sentences"


@studies.register("elman-words")
class WordsStudy(SimulationStudy[WordsConfig]):
    """Does the error of a network that predicts letters show where words begin?"""

    name = "elman-words"
    simulation, measurement = "words", WordsMeasurement()
    errors = ("Error at the onset of words and within them", "Figure 6")
    steps = ("Squared error over a sentence", "Figure 6", "letter that is predicted")
    symbols = tuple(TEXT.replace(" ", ""))[1:]
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

    def by_place(self, measured: Mapping[str, Table], note: str) -> Sequence[Table]:
        title, note = "Squared error by letter of the word", f"Bands: 95 % intervals. {note}"
        return [by_label(measured["places"], (PLACE,), title, "Figure 6", "elman-places", note)]

    claims = (
        Claim(
            "elman-words-onset", "foundations", "Elman 1990, p. 193, Figure 6",
            "The error is high at the onset of a word and falls as more of the word is received.",
            published.WORDS_ONSET,
            (
                Assertion("Squared error at the first letter minus at the second", _onset(TRAINED), above(0.0)),
                Assertion("Squared error at the second letter minus behind it", drop("second", "later"), above(0.0)),
                *more_than("First minus second letter", _onset, UNTRAINED),
            ),
            kind="cited",
        ),
        Claim(
            "elman-words-boundaries", "foundations", "Elman 1990, p. 194",
            "The error could be used to find the words of a stream.",
            published.WORDS_BOUNDARIES,
            (
                Assertion(
                    "Probability that the error at an onset is larger than elsewhere", _found(TRAINED), above(0.5),
                    scale="unit",
                ),
                *more_than("The probability", _found, UNTRAINED, counts_name(2), counts_name(3)),
            ),
            kind="cited",
            remark="Counts of two or three letters find onsets as well: the rivals say what the network adds.",
        ),
    )  # fmt: skip
