"""Classifying texts: source 004, "RNN for Text Classification", against the previous classifier; and training notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Assertion, Claim, above, column, measured
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
from rote.studies.foundations.text_tables import difference, over_baseline
from rote.tasks.text_tasks import ClassificationTask

L2, WORD_DROPOUT = 1e-4, 0.3
LONG = 20.0  # epochs, long behind the best one
MAJORITY = "majority"


@recipes.register("classification")
@dataclass(frozen=True)
class ClassificationRecipe(TextRecipe):
    """Networks that say the class of a text."""

    name = kind = "classification"
    about = "what it says at a word is what it would say of a text that ends there"
    task: ClassificationTask = field(default_factory=ClassificationTask)


@measurements.register("classification-baselines")
@dataclass(frozen=True)
class ClassificationBaselines(TextBaselines):
    """The most frequent class."""

    name, kind = "classification-baselines", "classification"
    task: ClassificationTask = field(default_factory=ClassificationTask)


@dataclass(frozen=True)
class ClassificationConfig(TextConfig):
    task: ClassificationTask = field(default_factory=ClassificationTask)
    variants: tuple[str, ...] = ("average", "average-l2", "average-words", "average-long", "elman", "lstm", "lstm-both")


@studies.register("classification")
class ClassificationStudy(TextStudy[ClassificationConfig]):
    """Do recurrent networks classify texts better than an average of word vectors, and what do L2 and dropout bring?"""

    name = "classification"
    recipe, baselines = ClassificationRecipe, ClassificationBaselines
    data = ("sst2", "trec")
    objective = ("networks", "dev", "max")
    place = "RNN for Text Classification; Additional Training Notes"
    title = "Classifying texts"
    about = (
        "A recurrent network reads a text and says its class from its last state. Beside it the previous classifier of "
        "the lecture, which averages word vectors and knows no order; plain, with L2, and with word dropout; and the "
        "most frequent class. With files of your own: rote run classification task.train=FILE task.dev=FILE."
    )
    deviations = (
        *DEVIATIONS,
        f"L2 is {L2:g} times the sum of all squared parameters, word dropout {WORD_DROPOUT:g} (Iyyer et al. 2015).",
        "Quick: 1,000 texts, 32 units, 4 epochs, Adam at 0.01. Paper: all of SST-2, 64 units, 6 epochs, Adam at 0.003.",
    )
    known: ClassVar = {
        "average": {"network": "average"},
        "average-l2": {"network": "average", "training.l2": L2},
        "average-words": {"network": "average", "model.word_dropout": WORD_DROPOUT},
        "average-long": {"network": "average", "training.epochs": LONG},
        "elman": {"model.cell": "elman", "model.bidirectional": False},
        "lstm": {"model.cell": "lstm", "model.bidirectional": False},
        "lstm-both": {"model.cell": "lstm", "model.bidirectional": True},
    }
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "task.data": "stand-in", "task.examples": 64, "seeds": 2, "training.epochs": 1.0, "model.embedding": 4,
            "model.hidden": 4,
        },
        "quick": {
            "task.examples": 1000, "model.embedding": 32, "model.hidden": 32, "training.epochs": 4.0,
            "training.learning_rate": 0.01, "training.measure_every": 1.0,
            "variants": ("average", "average-l2", "average-words", "average-long", "elman", "lstm"),
        },
        "paper": {"task.data": "sst2", "training.measure_every": 1.0},
    }  # fmt: skip
    optional: ClassVar[tuple[str, ...]] = ("variants",)
    default = ClassificationConfig(model=TextModelConfig(), training=TextTraining(epochs=6.0))

    claims = (
        Claim(
            "classification-final-state", "foundations", "RNN for Text Classification",
            "The last state of a recurrent network tells the class of a text.",
            published.USES,
            tuple(
                Assertion(
                    f"Accuracy in test, {name} minus the most frequent class",
                    measured(over_baseline, {"model": MAJORITY}, model=name), above(0.0),
                )
                for name in ("elman", "lstm")
            ),
            kind="implied",
            remark="The lecture shows a classifier that reads the last state as one of the uses.",
        ),
        Claim(
            "classification-order", "foundations", "RNNs: high-level",
            "A network that reads a sequence classifies better than an average of word vectors, which has no order.",
            published.AVERAGE,
            tuple(
                Assertion(
                    f"Accuracy in test, {name} minus averaging network", difference(name, "average"), above(0.0),
                    role="part" if name == "lstm" else "report",
                )
                for name in ("lstm", "lstm-both", "elman")
            ),
            kind="ours",
            remark="In generated reviews order decides the label by construction; in real ones single words tell most.",
        ),
        Claim(
            "classification-regularization", "foundations", "Additional Training Notes",
            "L2 and word dropout raise the accuracy of the averaging network on dev.",
            published.REGULARIZATION,
            tuple(
                Assertion(
                    f"Accuracy in {part}, {words} minus plain", difference(name, "average", part), above(0.0),
                    role="part" if part == "dev" else "report",
                )
                for part in ("dev", "test")
                for name, words in (("average-l2", "L2"), ("average-words", "word dropout"))
            ),
            kind="ours",
            remark="The lecture names regularization; the numbers are of the course's homework, of five classes and "
            "one seed each.",
        ),
        Claim(
            "classification-early-stopping", "foundations", "Additional Training Notes",
            "The weights that were best on dev do better in test than the last ones.",
            published.STOPPING,
            tuple(
                Assertion(
                    f"Accuracy in test, best on dev minus last, {name}",
                    column("networks", "test", model=name) - column("networks", "last_test", model=name), above(0.0),
                    role="part" if name == "average-long" else "report",
                )
                for name in ("average-long", "lstm")
            ),
            kind="ours",
            remark=f"The lecture has early stopping as a heading. The averaging network goes on for {LONG:g} epochs, "
            "the LSTM for fewer.",
        ),
    )  # fmt: skip
