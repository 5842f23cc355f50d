"""The notion word, in a stream of letters: Elman 1990, p. 191-194, Figure 6 (source 004 shows his Figure 7)."""

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
from rote.studies.foundations.elman_tables import ERROR, NETWORK, STEP, curve, over_steps, per_network
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import BAND, bands, collected, column_of
from rote.tasks.elman import TEXT, ElmanTask

if TYPE_CHECKING:
    from rote.studies.foundations.elman_training import Prediction

MEASURED = (
    Column("onset", "squared error where the first letter of a word is predicted, summed over its five bits"),
    Column("second", "the same at the second letter"),
    Column("later", "the same at the third letter and behind it"),
    Column("detection", "probability that the error at an onset is larger than elsewhere (area under the ROC curve)"),
)
PLACE = (Column("place", "letter of the word, counted from 1", "label"), Column("error", "squared"))


@dataclass(frozen=True)
class WordsConfig:
    training: Procedure = field(
        default_factory=lambda: Procedure(hidden=20, passes=published.WORD_PASSES, measure_every=1.0)
    )
    sentences: int = published.WORD_SENTENCES
    seeds: int = 10

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "sentences")

    def task(self) -> ElmanTask:
        return ElmanTask("words", self.sentences)


@studies.register("elman-words")
class WordsStudy(Study[WordsConfig]):
    """Does the error of a network that predicts letters show where words begin?"""

    name = "elman-words"
    version = 1
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

    def requests(self, config: WordsConfig) -> list[Request]:
        return [self.request("networks", config, range(config.seeds))]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.elman_training import Reading, simulate

        config = self.config_of(request)
        task = config.task()
        return simulate(
            task, config.training, run, progress, (2, 3),
            Reading("seeds", "Every network", MEASURED, _errors),
            Reading("places", "Error by letter of the word", PLACE, _places),
            Reading("steps", "Error over letters", STEP, _steps, on=lambda seed: task.spelled(TEXT, seed)),
        )  # fmt: skip

    def summarize(self, config: WordsConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        tables = collected(runs)
        note = f"After {config.training.passes:g} passes over {config.sentences} sentences. {config.seeds} seeds."
        return [
            per_network(tables["seeds"], "Error at the onset of words and within them", "Figure 6", note),
            over_steps(
                tables["steps"], list("".join(TEXT.split()))[1:], "Squared error over a sentence", "Figure 6", note,
                "letter that is predicted",
            ),
            Table.make(
                "places", "Squared error by letter of the word", (NETWORK, PLACE[0], *BAND),
                bands(tables["places"].records(), ("network", "place"), "error", ERROR), place="Figure 6",
                figure="elman-places", details=True, note=f"Bands: 95 % intervals. {note}",
            ),
            curve(tables["curve"], note),
            tables["seeds"],
        ]  # fmt: skip

    claims = (
        Claim(
            "elman-words-onset", "foundations", "Elman 1990, p. 193, Figure 6",
            "The error is high at the onset of a word and falls as more of the word is received.",
            published.WORDS,
            (
                Measurement(
                    "Squared error at the first letter minus at the second",
                    lambda tables: difference(tables, "onset", "second", "trained"), above(0.3, at_all=0.0),
                ),
                Measurement(
                    "Squared error at the second letter minus behind it",
                    lambda tables: difference(tables, "second", "later", "trained"), above(0.05, at_all=0.0),
                ),
                Measurement(
                    "First minus second letter before training",
                    lambda tables: difference(tables, "onset", "second", "untrained"), below(0.3), role="control",
                ),
            ),
        ),
        Claim(
            "elman-words-boundaries", "foundations", "Elman 1990, p. 194",
            "The error could be used to find the words of a stream.",
            published.WORDS,
            (
                Measurement(
                    "Probability that the error at an onset is larger than elsewhere",
                    lambda tables: detection(tables, "trained"), above(0.85, at_all=0.6),
                ),
                Measurement(
                    "The same before training", lambda tables: detection(tables, "untrained"), below(0.6),
                    role="control",
                ),
                Measurement(
                    "Trained minus counts of two letters",
                    lambda tables: over_counts(tables, "counts of 2"), above(0.0), role="contrast",
                ),
                Measurement(
                    "Trained minus counts of three letters",
                    lambda tables: over_counts(tables, "counts of 3"), above(0.0), role="contrast",
                ),
            ),
            remark="Counts of two or three letters find onsets as well: the contrasts say what the network adds.",
        ),
    )  # fmt: skip


def _errors(prediction: Prediction) -> list[dict[str, Any]]:
    error, place = prediction.error, prediction.place
    parts = {"onset": place == 0, "second": place == 1, "later": place > 1}
    return [{**{name: float(error[chosen].mean()) for name, chosen in parts.items()}, "detection": _area(error, place)}]


def _area(error: np.ndarray, place: np.ndarray) -> float:
    """Of all pairs of an onset and another letter, the share in which the onset has the larger error; ties half."""
    from scipy.stats import rankdata

    onset = place == 0
    first, rest = int(onset.sum()), int((~onset).sum())
    return float((rankdata(error)[onset].sum() - first * (first + 1) / 2) / (first * rest))


def _places(prediction: Prediction) -> list[dict[str, Any]]:
    sums, counts = np.bincount(prediction.place, weights=prediction.error), np.bincount(prediction.place)
    return [
        {"place": place + 1, "error": float(total / count)}
        for place, (total, count) in enumerate(zip(sums, counts, strict=True))
        if count
    ]


def _steps(prediction: Prediction) -> list[dict[str, Any]]:
    return [{"step": step, "error": float(value)} for step, value in enumerate(prediction.error)]


def difference(tables: Tables, first: str, second: str, network: str) -> Estimate:
    values = (column_of(tables["seeds"], name, network=network) for name in (first, second))
    return paired_difference(*values)


def detection(tables: Tables, network: str) -> Estimate:
    return mean(column_of(tables["seeds"], "detection", network=network), bounds=(0.0, 1.0))


def over_counts(tables: Tables, counts: str) -> Estimate:
    values = (column_of(tables["seeds"], "detection", network=network) for network in ("trained", counts))
    return paired_difference(*values)
