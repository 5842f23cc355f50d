"""Tagging words: source 004, "Using RNNs" (many to many) and "Two Extensions" (deep, bidirectional)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Assertion, Claim, above, below, column, measured
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
from rote.tasks.text_tasks import TaggingTask

MOST_FREQUENT = "most frequent tag"
CEILING = 0.995  # share of words
NO_ROOM = f"Where networks are above {CEILING:g}, as on generated reviews, nothing can be told."
ROOM = Assertion(
    "Accuracy in test, one layer (Elman, both directions)", column("networks", "test", model="elman-both"),
    below(CEILING), role="condition", scale="unit",
)  # fmt: skip
VARIANTS = ("elman", "elman-both", "elman-both-deep", "lstm-both")


@recipes.register("tagging")
@dataclass(frozen=True)
class TaggingRecipe(TextRecipe):
    """Networks that say at every word which part of speech it is."""

    name = kind = "tagging"
    task: TaggingTask = field(default_factory=TaggingTask)


@measurements.register("tagging-baselines")
@dataclass(frozen=True)
class TaggingBaselines(TextBaselines):
    """Each word's most frequent tag, and the most frequent of all."""

    name, kind = "tagging-baselines", "tagging"
    task: TaggingTask = field(default_factory=TaggingTask)


@dataclass(frozen=True)
class TaggingConfig(TextConfig):
    task: TaggingTask = field(default_factory=TaggingTask)
    variants: tuple[str, ...] = (*VARIANTS, "elman-both-unpacked")


@studies.register("tagging")
class TaggingStudy(TextStudy[TaggingConfig]):
    """Does a tagger gain from reading in both directions and from a second layer, and does it beat counting?"""

    name = "tagging"
    recipe, baselines = TaggingRecipe, TaggingBaselines
    data = ("ewt",)
    objective = ("networks", "dev", "max")
    place = "Using RNNs; Two Extensions"
    title = "Tagging words"
    about = (
        "A recurrent network says at every word which part of speech it is. One direction or both, one layer or two, "
        "beside the tag that each word has most often in training. With files of your own: rote run tagging "
        "task.train=FILE.conllu task.dev=FILE.conllu."
    )
    deviations = (
        *DEVIATIONS,
        "Quick: 600 sentences, 32 units, 3 epochs, Adam at 0.01. Paper: all of UD English EWT, 64 units, 2 epochs, "
        "Adam at 0.003.",
    )
    known: ClassVar = {
        "elman": {"model.cell": "elman", "model.bidirectional": False, "model.layers": 1},
        "elman-both": {"model.cell": "elman", "model.bidirectional": True, "model.layers": 1},
        "elman-both-deep": {"model.cell": "elman", "model.bidirectional": True, "model.layers": 2},
        "lstm-both": {"model.cell": "lstm", "model.bidirectional": True, "model.layers": 1},
        "elman-both-unpacked": {
            "model.cell": "elman", "model.bidirectional": True, "model.layers": 1, "packed": False
        },
    }  # fmt: skip
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "task.data": "stand-in", "task.examples": 64, "seeds": 2, "training.epochs": 1.0, "model.embedding": 4,
            "model.hidden": 4,
        },
        "quick": {
            "task.examples": 600, "model.embedding": 32, "model.hidden": 32, "training.epochs": 3.0,
            "training.learning_rate": 0.01, "training.measure_every": 1.0,
        },
        "paper": {"task.data": "ewt", "training.epochs": 2.0, "training.measure_every": 1.0},
    }  # fmt: skip
    default = TaggingConfig(model=TextModelConfig(bidirectional=True), training=TextTraining())

    claims = (
        Claim(
            "tagging-bidirectional", "foundations", "Two Extensions",
            "A tagger that also reads from right to left does better.",
            published.EXTENSIONS,
            (
                Assertion(
                    "Accuracy in test, both directions minus one (Elman)", difference("elman-both", "elman"), above(0.0)
                ),
                Assertion(
                    "The same without packing: the backward direction begins in the padding",
                    difference("elman-both-unpacked", "elman"), above(0.0), role="report",
                ),
            ),
            kind="ours",
            remark="The lecture lists the extensions. Both directions have twice the units of one. On generated "
            "reviews some tags depend on the next word by construction.",
        ),
        Claim(
            "tagging-deep", "foundations", "Two Extensions",
            "A second layer makes the tagger better.",
            published.EXTENSIONS,
            (
                Assertion(
                    "Accuracy in test, two layers minus one (Elman, both directions)",
                    difference("elman-both-deep", "elman-both"), above(0.0),
                ),
                ROOM,
            ),
            kind="ours",
            remark=f"The lecture lists the extensions. {NO_ROOM}",
        ),
        Claim(
            "tagging-baseline", "foundations", "Using RNNs",
            "A recurrent network tags words, better than each word's most frequent tag does.",
            published.USES,
            tuple(
                Assertion(
                    f"Accuracy in test, {name} minus most frequent tag",
                    measured(over_baseline, {"model": MOST_FREQUENT}, model=name), above(0.0),
                    role="part" if name == "lstm-both" else "report",
                )
                for name in ("lstm-both", "elman-both", "elman")
            ),
            kind="ours",
            remark="The lecture has no baseline. After few epochs on little data counting may be ahead of them all.",
        ),
        Claim(
            "tagging-packing", "foundations", "Padding and Masking",
            "A bidirectional tagger that runs over padding is wrong inside, and that costs accuracy.",
            published.PADDED_LOSS,
            (
                Assertion(
                    "Accuracy in test, unpacked minus packed (Elman, both directions)",
                    difference("elman-both-unpacked", "elman-both"), below(0.0),
                ),
                ROOM,
            ),
            kind="ours",
            remark="The loss leaves padding out in both. That the states are wrong is shown exactly in the study "
            f"padding; here is what it costs. {NO_ROOM}",
        ),
    )  # fmt: skip
