"""Language modeling on sentences: source 004, "RNNs for Language Modeling", against the previous, feed-forward one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Assertion, Claim, any_of, below, column, measured
from rote.laboratory import studies
from rote.models import TextModelConfig
from rote.recipes import measurements, recipes
from rote.studies.foundations import published
from rote.studies.foundations.text_study import (
    DEVIATIONS,
    TextBaselines,
    TextConfig,
    TextRecipe,
    TextStudy,
    TextTraining,
)
from rote.studies.foundations.text_tables import over_baseline
from rote.tasks.text_tasks import LanguageTask


@recipes.register("language-modeling")
@dataclass(frozen=True)
class LanguageRecipe(TextRecipe):
    """Networks that say at every word of a sentence which comes next."""

    name = kind = "language-modeling"
    task: LanguageTask = field(default_factory=LanguageTask)


@measurements.register("language-modeling-baselines")
@dataclass(frozen=True)
class LanguageBaselines(TextBaselines):
    """The perplexities of guessing and of counting words."""

    name, kind = "language-modeling-baselines", "language-modeling"
    task: LanguageTask = field(default_factory=LanguageTask)


@dataclass(frozen=True)
class LanguageConfig(TextConfig):
    task: LanguageTask = field(default_factory=LanguageTask)
    variants: tuple[str, ...] = ("window", "elman", "lstm")


def _against_window(name: str) -> Assertion:
    perplexity, other = (column("networks", "test", model=model) for model in (name, "window"))
    return Assertion(
        f"Perplexity in test, {name} over feed-forward", perplexity.log_ratio(other), below(0.0), scale="log"
    )


@studies.register("language-modeling")
class LanguageStudy(TextStudy[LanguageConfig]):
    """Does a recurrent language model predict words better than counting, and than one that sees three words?"""

    name = "language-modeling"
    recipe, baselines = LanguageRecipe, LanguageBaselines
    data = ("ewt",)
    objective = ("networks", "dev", "min")
    place = "RNNs for Language Modeling; RNNs: high-level"
    title = "Language modeling"
    about = (
        "At every word of a sentence the network says which comes next, up to the end of the sentence. Beside it the "
        "previous language model of the lecture, which sees a fixed number of words, and the perplexities of guessing "
        "and of counting words. With text of your own, a sentence per line: rote run language-modeling task.train=FILE."
    )
    deviations = (
        *DEVIATIONS,
        "Perplexity per word and end of sentence; words that are not in the vocabulary count as one word, so that "
        "perplexities of different vocabularies cannot be compared.",
        "Quick: 800 sentences, 500 words, 32 units, 3 epochs, Adam at 0.01. Paper: UD English EWT with "
        "4,000 words, 64 units, 4 epochs, Adam at 0.003.",
    )
    known: ClassVar = {
        "window": {"network": "window"},
        "elman": {"model.cell": "elman"},
        "lstm": {"model.cell": "lstm"},
    }
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "task.data": "stand-in", "task.examples": 64, "seeds": 2, "training.epochs": 1.0, "model.embedding": 4,
            "model.hidden": 4,
        },
        "quick": {
            "task.examples": 800, "task.largest": 500, "model.embedding": 32, "model.hidden": 32,
            "training.epochs": 3.0, "training.learning_rate": 0.01, "training.measure_every": 1.0,
        },
        "paper": {"task.data": "ewt", "task.largest": 4000, "training.measure_every": 1.0},
    }  # fmt: skip
    default = LanguageConfig(model=TextModelConfig(), training=TextTraining())

    claims = (
        Claim(
            "language-modeling-unigram", "foundations", "RNNs for Language Modeling",
            "A recurrent network predicts the next word from those before it, better than word counts do.",
            published.WINDOW,
            tuple(
                Assertion(
                    f"Perplexity in test, {name} minus unigram",
                    measured(over_baseline, {"model": "unigram"}, model=name), below(0.0),
                )
                for name in ("elman", "lstm")
            ),
            kind="ours",
            remark="The lecture shows the model and compares it with nothing.",
        ),
        Claim(
            "language-modeling-window", "foundations", "RNNs: high-level",
            "A recurrent language model predicts better than a feed-forward one, which sees a fixed number of words.",
            published.WINDOW,
            (any_of(*(_against_window(name) for name in ("elman", "lstm"))),),
            kind="implied",
            remark="The lecture contrasts the two and measures nothing; recurrent networks are those of any cell.",
        ),
    )  # fmt: skip
