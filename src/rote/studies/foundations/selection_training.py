"""Sentences for the study of selection, and which object networks and n-grams expect after each gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.models import KneserNey
from rote.store import Table
from rote.studies.foundations.selection_tables import ACCURACY
from rote.studies.foundations.sentence_models import after, larger, stacked
from rote.tasks.selection import Items, SelectionTask

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.foundations.selection import SelectionCounts, SelectionMeasurement, SelectionRecipe
    from rote.studies.foundations.sentences import Batches

Row = dict[str, Any]
BLOCK = 50  # updates whose sentences are drawn at once


def fresh(tasks: Sequence[tuple[str, SelectionTask, int]], batch: int) -> Batches:
    """New sentences of each network's own task and seed at every update."""

    @lru_cache(maxsize=2)
    def block(number: int) -> NDArray[np.int64]:
        """[replica, update, sentence, time]"""
        drawn = [task.training(seed, number, BLOCK * batch) for _, task, seed in tasks]
        return np.stack(drawn).reshape(len(tasks), BLOCK, batch, -1)

    return lambda step: block(step // BLOCK)[:, step % BLOCK]


def measured(asked: SelectionMeasurement, trained: Trained, progress: Progress, device: str) -> list[Table]:
    """The networks of a recipe at every kept step, with the gaps of all trainings and a further one."""
    recipe: SelectionRecipe = trained.recipe
    tasks = recipe.tasks(trained.seeds)
    tested = (*sorted({*recipe.gaps, *recipe.alone}), asked.further)
    items = {gap: [task.items(seed, gap, asked.items) for _, task, seed in tasks] for gap in tested}
    rows: list[Row] = []
    for done, step in enumerate(trained.steps):
        model = stacked(trained, trained.weights(step), device)
        for gap, group in items.items():
            chances = after(model, np.stack([one.prefix for one in group]))
            for (name, task, seed), one, own in zip(tasks, group, chances, strict=True):
                labels = {"model": recipe.label, "trained": name, "seed": seed, "step": step, "gap": gap}
                rows.append({**labels, "accuracy": _accuracy(one, own, task.objects)})
        progress(done + 1, len(trained.steps))
    return [_table(rows)]


def counted(
    asked: SelectionCounts, settings: Mapping[str, SelectionTask], seeds: Sequence[int], progress: Progress
) -> list[Table]:
    """The n-grams of each seed and training."""
    rows: list[Row] = []
    for done, seed in enumerate(seeds):
        for name, task in settings.items():
            tokens = task.training(seed, 0, asked.sentences)
            sentences = [row[row >= 0] for row in tokens]
            for order in asked.orders:
                model = KneserNey(order, len(task.words), sentences)
                for gap in task.gaps:
                    items = task.items(seed, gap, asked.items)
                    begun = np.concatenate([np.full((asked.items, order), -1), items.prefix], axis=1)
                    right = _accuracy(items, model.probabilities(begun), task.objects)
                    labels = {"model": f"{order}-gram", "trained": name, "seed": seed, "step": 0, "gap": gap}
                    rows.append({**labels, "accuracy": right})
        progress(done + 1, len(seeds))
    return [_table(rows)]


def _accuracy(items: Items, chances: NDArray[np.float64], objects: NDArray[np.int64]) -> float:
    by_kind, rows = chances[:, objects].sum(2), np.arange(len(chances))
    return larger(by_kind[rows, items.kind], by_kind[rows, 1 - items.kind])


def _table(rows: list[Row]) -> Table:
    return Table.make("accuracy", "Every model over training", ACCURACY, rows, details=True)
