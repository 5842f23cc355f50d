"""Selectional restrictions by gap: source 004, slides "Selectional Restrictions", "Summary" and "Next Time"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rote.config import at_least
from rote.errors import UsageError
from rote.models import LanguageModelConfig
from rote.models.settings import known_cells
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations import selection_claims as judged
from rote.studies.foundations.against_counts import COUNTS, AgainstCounts
from rote.studies.foundations.selection_tables import all_tables
from rote.studies.study import Progress, studies
from rote.tasks.selection import LECTURE, LONGEST, SelectionTask, check_gap
from rote.training import TrainingConfig


@dataclass(frozen=True)
class SelectionConfig:
    model: LanguageModelConfig = field(
        default_factory=lambda: LanguageModelConfig(cell="elman", embedding=32, hidden=32, limit=0.5)
    )
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=3000, batch=32, optimizer="adam", learning_rate=0.01, clip=1.0, record_every=100
        )
    )
    gaps: tuple[int, ...] = (2, 4, 6, LECTURE)  # of the mixed training
    alone: tuple[int, ...] = (2, 4, 6, LECTURE)  # each a training of its own
    further: int = LONGEST  # a gap that no network is trained with
    variants: int = 1  # alternatives of each word in the gap; 1: always the lecture's words
    items: int = 500  # of the test, for each gap
    sentences: int = 20_000  # that n-grams are counted on
    cells: tuple[str, ...] = ("elman", "gru", "lstm")
    orders: tuple[int, ...] = (2, 3, 4, 5)  # of the n-grams
    seeds: int = 6

    def __post_init__(self) -> None:
        at_least(self, 1, "items", "sentences", "seeds", "orders")
        known_cells(*self.cells)
        if not self.cells or not self.orders:
            raise UsageError("'cells' and 'orders' of SelectionConfig must each name at least one.")
        if self.further in self.gaps:
            raise UsageError(
                f"'further' must be a gap that is not trained, not one of {self.gaps}. Got {self.further}."
            )
        check_gap(self.further)
        self.settings()  # refuses what cannot be

    def settings(self) -> dict[str, SelectionTask]:
        """The gaps of each training, by name."""
        alone = {f"gap {gap}": SelectionTask((gap,), self.variants) for gap in self.alone}
        return {**alone, judged.MIXED: SelectionTask(self.gaps, self.variants)}


@studies.register("selection")
class SelectionStudy(AgainstCounts[SelectionConfig]):
    """Do recurrent networks remember the subject until its object comes, and does a long gap need shorter ones?"""

    name = "selection"
    version = 1
    source = published.SOURCE
    place = "Selectional Restrictions; Summary; Next Time"
    title = "Selectional restrictions by gap"
    about = (
        "'The family moved from the city because they wanted a larger ___': house after family, market after team, "
        "nine words later. Networks are trained with one length of that gap or with several, and asked at every "
        "recorded step which kind of object they expect. Whether the long gap is learned at all depends on the cell "
        "and on whether shorter ones are seen too, which ties this to source 000. The preset paper takes about eight "
        "minutes of one core."
    )
    deviations = (
        "The lecture has two sentences, no experiment. Grammar, sizes and training are ours: three nouns and three "
        "objects of each kind, always the same words between them (variants=3: alternatives that say nothing), new "
        "sentences at every update, tanh units, Adam.",
        "Learned: more than 95 % right, with the longest gap for the mixed training.",
        "n-grams are interpolated Kneser-Ney counts.",
        "Preset quick: fewer gaps, seeds and updates.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "training.steps": 6, "training.record_every": 3, "training.batch": 8, "model.embedding": 8,
            "model.hidden": 8, "gaps": (2, 9), "alone": (2, 9), "items": 20, "sentences": 200, "seeds": 2,
            "cells": ("elman", "lstm"),
        },
        "quick": {
            "training.steps": 600, "gaps": (2, 4, 9), "alone": (2, 9), "items": 200, "sentences": 4000, "seeds": 5,
        },
        "paper": {},
    }  # fmt: skip
    default = SelectionConfig()

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.selection_training import count, train_and_measure

        config = self.config_of(request)
        if request.part == COUNTS:
            return count(config, request.seeds, progress)
        return train_and_measure(config, run, progress, device)

    def summarize(self, config: SelectionConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(config, runs)

    claims = judged.CLAIMS
