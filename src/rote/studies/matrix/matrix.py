"""Every analysis on every cell: the same networks, asked in every way that the five sources ask theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.claims import Claim, Source
from rote.config import at_least
from rote.errors import UnknownNameError, UsageError
from rote.models import LanguageModelConfig
from rote.models.settings import known_cells
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.matrix.lessons import TASKS
from rote.studies.matrix.tables import all_tables
from rote.studies.study import Progress, Study, studies
from rote.training import TrainingConfig

SOURCE = Source("100", "across", "Across the sources", "")


@dataclass(frozen=True)
class MatrixConfig:
    tasks: tuple[str, ...] = TASKS
    cells: tuple[str, ...] = ("elman", "gru", "lstm", "nested_lstm")
    model: LanguageModelConfig = field(
        default_factory=lambda: LanguageModelConfig(embedding=32, hidden=64, limit=0.3, cell_limit=0.3)
    )
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=4000, batch=32, optimizer="adam", learning_rate=0.01, clip=1.0, record_every=1000
        )
    )
    questions: int = 200  # known, and as many new
    jacobians: int = 8  # questions for the gradient flow
    seeds: int = 10

    def __post_init__(self) -> None:
        at_least(self, 8, "questions")
        at_least(self, 1, "jacobians", "seeds")
        known_cells(*self.cells)
        for task in self.tasks:
            if task not in TASKS:
                raise UnknownNameError("task of the matrix", task, TASKS)
        if not self.tasks or not self.cells:
            raise UsageError("'tasks' and 'cells' of MatrixConfig must each name at least one.")


@studies.register("matrix")
class MatrixStudy(Study[MatrixConfig]):
    """How far does each recurrent unit compose, and how far does it learn by rote, by every analysis?"""

    name = "matrix"
    version = 1
    source = SOURCE
    place = "Not in the sources"
    title = "Every analysis on every cell"
    about = (
        "Elman networks, GRUs, LSTMs and Nested LSTMs of one size learn three tasks in which a few symbols, the cue, "
        "decide the answer and the rest of the sentence does not. Each network is asked about known and about new "
        "surroundings, and looked into by decomposition, connectivity, interdependence, functional groups, gates and "
        "gradient flow. The analyses come from different sources and were never compared on the same networks."
    )
    deviations = (
        "The tasks are scaled down and made alike: sentences for a language model with one layer. Rules have two pairs "
        "of open and close symbols; lookup tables are spelled out with their results, without attention.",
        "Quick: 32 units, fewer updates, questions and seeds.",
    )
    claims: ClassVar[tuple[Claim, ...]] = ()
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "tasks": ("rules", "lookup"), "cells": ("elman", "lstm"), "model.embedding": 8, "model.hidden": 8,
            "training.steps": 8, "training.record_every": 8, "questions": 16, "jacobians": 2, "seeds": 2,
        },
        "quick": {
            "model.embedding": 16, "model.hidden": 32, "training.steps": 800, "training.record_every": 400,
            "questions": 64, "jacobians": 4, "seeds": 5,
        },
        "paper": {},
    }  # fmt: skip
    default = MatrixConfig()

    def requests(self, config: MatrixConfig) -> list[Request]:
        """A run for each task and cell, all seeds in one."""
        return [
            self.request(
                f"{task}, {cell}",
                replace(config, tasks=(task,), cells=(cell,), model=replace(config.model, cell=cell)),
                range(config.seeds),
            )
            for task in config.tasks
            for cell in reversed(config.cells)  # the slowest first
        ]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.matrix.training import train_and_look

        return train_and_look(self.config_of(request), run, progress, device)

    def summarize(self, config: MatrixConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(runs)
