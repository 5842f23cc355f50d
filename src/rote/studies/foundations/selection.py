"""Selectional restrictions by gap: source 004, slides "Selectional Restrictions", "Summary" and "Next Time"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from rote.claims import Assertion, Claim, PerSeed, above, below, column
from rote.config import at_least, not_empty
from rote.errors import SettingError
from rote.laboratory import Study, StudyConfig, studies
from rote.laboratory.study import CELLS_DECIDE, RECORDS_SHOWN
from rote.models import LanguageModelConfig
from rote.models.settings import NeuralNGramConfig, known_cells
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.selection_tables import MIXED, all_tables
from rote.studies.foundations.sentences import (
    RIGHT,
    Batches,
    SentenceModel,
    SentenceRecipe,
    counted,
    neural,
    neural_n_grams,
    right,
    small_model,
)
from rote.tasks.selection import LECTURE, LONGEST, SelectionTask, check_gap
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.recipes.network import Label

GAPS = (2, 4, 6, LECTURE)
SHORT, ALONE = GAPS[0], f"gap {LECTURE}"  # the name of the training with the lecture's gap alone
GATED = ("lstm", "gru")
ORDERS = (2, 3, 4, 5)


def training() -> TrainingConfig:
    """As our preset paper has it; the lecture has none."""
    return TrainingConfig(steps=3000, batch=32, optimizer="adam", learning_rate=0.01, clip=1.0, record_every=100)


def settings(gaps: tuple[int, ...], alone: tuple[int, ...], variants: int) -> dict[str, SelectionTask]:
    """The task of each training, by name: with one gap each, and with several."""
    each = {f"gap {gap}": SelectionTask((gap,), variants) for gap in alone}
    return {**each, MIXED: SelectionTask(gaps, variants)}


@recipes.register("selection")
@dataclass(frozen=True)
class SelectionRecipe(SentenceRecipe):
    """Language models of sentences whose object goes with a noun some words before it; each training with its gaps and
    each seed as one program."""

    name = "selection"
    source = published.SOURCE
    about = "a sentence begins behind “.”"
    training: TrainingConfig = field(default_factory=training)
    gaps: tuple[int, ...] = GAPS
    alone: tuple[int, ...] = GAPS
    variants: int = 1

    def tasks(self, seeds: Sequence[int]) -> list[tuple[str, SelectionTask, int]]:
        """The name of the training, its task and the seed of each network."""
        named = settings(self.gaps, self.alone, self.variants)
        return [(name, task, seed) for name, task in named.items() for seed in seeds]

    def members(self, seeds: Sequence[int]) -> list[Mapping[str, Label]]:
        return [{"seed": seed, "setting": name} for name, _, seed in self.tasks(seeds)]

    def symbols(self) -> tuple[str, ...]:
        return SelectionTask(self.gaps, self.variants).words

    def batches(self, seeds: Sequence[int]) -> Batches:
        from rote.studies.foundations.selection_training import fresh

        return fresh(self.tasks(seeds), self.training.batch)

    def sentence(self, seeds: Sequence[int], index: int) -> Iterable[int]:
        _, task, seed = self.tasks(seeds)[index]
        return list(task.training(seed, 0, 1)[0])

    def snapshots(self) -> Sequence[int]:
        return self.training.recorded_steps()


@recipes.register("selection-neural-n-grams")
@dataclass(frozen=True)
class SelectionNeuralNGramRecipe(SelectionRecipe):
    """Feed-forward language models of the same sentences, which see the last few words."""

    name = "selection-neural-n-grams"
    model: SentenceModel = field(default_factory=NeuralNGramConfig)

    def snapshots(self) -> Sequence[int]:
        return (0,)


@measurements.register("selection")
@dataclass(frozen=True)
class SelectionMeasurement(Measurement):
    """Which kind of object the networks expect after each gap, at every kept step."""

    name = "selection"
    source = published.SOURCE
    further: int = LONGEST  # a gap that no network is trained with
    items: int = 500  # of the test, for each gap

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.selection_training import measured

        return measured(self, trained[0], progress, device)


@measurements.register("selection-n-grams")
@dataclass(frozen=True)
class SelectionCounts(Measurement):
    """The same of n-grams, tested with the gaps that they were counted on."""

    name = "selection-n-grams"
    source = published.SOURCE
    gaps: tuple[int, ...] = GAPS
    alone: tuple[int, ...] = GAPS
    variants: int = 1
    items: int = 500
    sentences: int = 20_000
    orders: tuple[int, ...] = ORDERS

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.selection_training import counted

        named = settings(self.gaps, self.alone, self.variants)
        return counted(self, named, run.request.seeds, progress)


@dataclass(frozen=True)
class SelectionConfig(StudyConfig):
    seeds: int = 6
    model: LanguageModelConfig = field(default_factory=small_model)
    training: TrainingConfig = field(default_factory=training)
    gaps: tuple[int, ...] = GAPS  # of the mixed training
    alone: tuple[int, ...] = GAPS  # each a training of its own
    further: int = LONGEST  # a gap that no network is trained with
    variants: int = 1  # alternatives of each word in the gap; 1: always the lecture's words
    items: int = 500  # of the test, for each gap
    sentences: int = 20_000  # that n-grams are counted on
    cells: tuple[str, ...] = ("elman", "gru", "lstm")
    orders: tuple[int, ...] = ORDERS  # of the n-grams, counted and neural

    def __post_init__(self) -> None:
        at_least(self, 1, "items", "sentences", "seeds", "orders")
        known_cells(*self.cells)
        not_empty(self, "cells", "orders")
        if self.further in self.gaps:
            raise SettingError("further", f"must be a gap that is not trained: not {self.gaps}. Got {self.further}.")
        for name, gaps in (("further", (self.further,)), ("alone", self.alone)):
            for gap in gaps:
                check_gap(name, gap)
        self.settings()  # refuses what cannot be

    def settings(self) -> dict[str, SelectionTask]:
        """The task of each training, by name."""
        return settings(self.gaps, self.alone, self.variants)


def _accuracy(model: str, trained: str = ALONE, gap: int = LECTURE) -> PerSeed:
    """The share of items right at the end of a training."""
    return column("networks", f"gap_{gap}", model=model, trained=trained)


@studies.register("selection")
class SelectionStudy(Study[SelectionConfig]):
    """Do recurrent networks remember the subject until its object comes, and does a long gap need shorter ones?"""

    name = "selection"
    source = published.SOURCE
    place = "Selectional Restrictions; Summary; Next Time"
    title = "Selectional restrictions by gap"
    about = (
        "'The family moved from the city because they wanted a larger ___': house after family, market after team, "
        "nine words later. Networks are trained with one length of that gap or with several, and asked at every "
        "recorded step which kind of object they expect. Whether the long gap is learned at all depends on the cell "
        "and on whether shorter ones are seen too, which ties this to source 000. n-grams of order 2 to 5, counted and "
        "as feed-forward networks, stand beside them."
    )
    deviations = (
        "The lecture has two sentences, no experiment. Grammar, sizes and training are ours: three nouns and three "
        "objects of each kind, always the same words between them (variants=3: alternatives that say nothing), new "
        "sentences at every update, tanh units, Adam.",
        "Learned: more than 95 % right, with the longest gap for the mixed training.",
        "n-grams are interpolated Kneser-Ney counts; neural ones are feed-forward networks on the last words (Bengio "
        "et al. 2003), with the sizes, sentences and updates of the recurrent ones.",
        "Preset quick: fewer gaps, seeds and updates.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "training.steps": 6, "training.record_every": 3, "training.batch": 8, "model.embedding": 8,
            "model.hidden": 8, "gaps": (2, 9), "alone": (2, 9), "items": 20, "sentences": 200, "seeds": 2,
            "cells": ("elman", "lstm"),
        },
        "quick": {
            "training.steps": 600, "gaps": (2, 4, 9), "alone": (2, 9), "items": 200, "sentences": 4000,
        },
        "paper": {},
    }  # fmt: skip
    own_scale = True
    optional = ("alone", "cells", "orders", "further")
    fixed: ClassVar[Mapping[str, str]] = {**CELLS_DECIDE, **RECORDS_SHOWN}
    default = SelectionConfig()

    def jobs(self, config: SelectionConfig) -> list[Job]:
        """The networks of each cell, the neural n-grams, and the counts."""
        gaps = (config.gaps, config.alone, config.variants)
        asked = SelectionMeasurement(config.further, config.items)
        recipes = [
            *(SelectionRecipe(replace(config.model, cell=cell), config.training, *gaps) for cell in config.cells),
            *(
                SelectionNeuralNGramRecipe(model, config.training, *gaps)
                for model in neural_n_grams(config.model, config.orders)
            ),
        ]
        networks = [asked.of(job) for recipe in recipes for job in recipe.jobs(config.seed_numbers)]
        counts = SelectionCounts(*gaps, config.items, config.sentences, config.orders)
        return [*networks, counts.of(seeds=config.seed_numbers)]

    def tables(self, config: SelectionConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return all_tables(config, measured)

    claims = (
        Claim(
            "selection-n-grams", "foundations", "Selectional Restrictions",
            "n-grams, as P(word | they wanted a larger), cannot tell the family's object from the team's.",
            published.SELECTION,
            kind="identity",
            test="tests/oracles/test_sentence_models.py::test_n_grams_know_no_noun_beyond_their_words",
        ),
        Claim(
            "selection-fixed-context", "foundations", "Selectional Restrictions",
            "n-grams, whether they are counted or neural networks, cannot: across the lecture's gap they do not expect "
            "the object that goes with the noun.",
            published.SELECTION,
            (
                *(
                    Assertion(f"{model}, gap of the lecture alone", _accuracy(model), below(RIGHT), scale="unit")
                    for kind in (counted, neural)
                    for model in map(kind, ORDERS)
                ),
                *(
                    right(
                        f"{model}, gap of {SHORT} alone: the noun is within its words",
                        _accuracy(model, f"gap {SHORT}", SHORT), role="condition",
                    )
                    for model in (counted(4), neural(4))
                ),
            ),
            remark="Both kinds have to fail, at every order from 2 to 5, and both must have learned what stands within "
            "their words.",
        ),
        Claim(
            "selection-rnn", "foundations", "Selectional Restrictions; Summary",
            "A vanilla recurrent network, in principle, captures such a dependency: trained on sentences with the "
            "lecture's gap, it expects the right object.",
            published.IN_PRINCIPLE,
            (
                right("Elman, gap of the lecture alone", _accuracy("elman"), "some"),
                Assertion(
                    "Elman before training", column("networks", "before", model="elman", trained=ALONE), below(RIGHT),
                    role="condition", scale="unit",
                ),
                right(f"Elman, gap of {SHORT} alone", _accuracy("elman", f"gap {SHORT}", SHORT), role="report"),
                *(right(f"{cell}, gap of the lecture alone", _accuracy(cell), role="report") for cell in GATED),
            ),
            kind="implied",
            remark="'In principle' is said of some network: one seed bears it out, and the count says how many do "
            f"within the updates of the run. More than {RIGHT:.0%} right is our measure; guessing has half.",
        ),
        Claim(
            "selection-vanishing", "foundations", "Next Time",
            "Vanilla recurrent networks have a problem with distance in training that gated ones have less.",
            published.VANISHING,
            (
                Assertion(
                    f"Elman: accuracy with a gap of {SHORT} alone minus with the lecture's alone",
                    _accuracy("elman", f"gap {SHORT}", SHORT) - _accuracy("elman"), above(0.0),
                ),
                *(
                    Assertion(
                        f"{cell} minus Elman, gap of the lecture alone", _accuracy(cell) - _accuracy("elman"),
                        above(0.0), role="part" if cell == "lstm" else "report",
                    )
                    for cell in GATED
                ),
            ),
            kind="implied",
            remark="The lecture announces it and measures nothing. Networks learn the gap or do not, so that a seed in "
            "which both do counts against it.",
        ),
        Claim(
            "selection-mixed", "foundations", "Selectional Restrictions; with source 000",
            "What the long gap alone does not teach a vanilla network, it learns when shorter gaps are seen beside it.",
            published.NOT_PUBLISHED,
            (
                Assertion(
                    "Elman, gap of the lecture: trained with all gaps minus with it alone",
                    _accuracy("elman", MIXED) - _accuracy("elman"), above(0.0),
                ),
                right("Elman, gap of the lecture, trained with all gaps", _accuracy("elman", MIXED)),
                *(
                    Assertion(
                        f"The difference, {cell}", _accuracy(cell, MIXED) - _accuracy(cell), above(0.0), role="report"
                    )
                    for cell in GATED
                ),
                *(
                    right(
                        f"{cell}, a gap longer than any trained", _accuracy(cell, MIXED, LONGEST),
                        role="report",
                    )
                    for cell in ("elman", "lstm")
                ),
            ),
            kind="ours",
            remark="Not a claim of the lecture: our question to it, from source 000, where a long rule is built on "
            "short constituents.",
        ),
    )  # fmt: skip
