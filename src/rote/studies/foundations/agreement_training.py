"""How often networks and n-grams give a verb the right number, in every condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.models import KneserNey
from rote.store import Table
from rote.studies.foundations.agreement import ACCURACY, CURVE
from rote.studies.foundations.sentence_models import Population, after, larger, stacked
from rote.tasks.agreement import AgreementTask, Items

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.foundations.agreement import AgreementCounts, AgreementMeasurement

Row = dict[str, Any]
UNTRAINED = "untrained"


def measured(asked: AgreementMeasurement, trained: Trained, device: str) -> list[Table]:
    """The networks of a recipe before training, where these were kept, and after it; and their loss in between."""
    learned, rows = trained.recipe.label, []
    for step in trained.steps:
        name = learned if step else f"{UNTRAINED} {learned}"
        model = stacked(trained, trained.weights(step), device)
        rows += [{"model": name, **row} for row in _accuracies(asked, trained, model)]
    losses = [
        {"model": learned, "seed": seed, "step": record["step"], "loss": loss}
        for record in trained.run.metrics()
        for seed, loss in zip(trained.seeds, record["loss"], strict=True)
    ]
    return [_accuracy_table(rows), Table.make("curve", "Loss on the first batch", CURVE, losses, details=True)]


def counted(asked: AgreementCounts, seeds: Sequence[int], progress: Progress) -> list[Table]:
    """The n-grams of the seeds' corpora."""
    rows: list[Row] = []
    for done, seed in enumerate(seeds):
        corpus = asked.task.training(seed, asked.sentences)
        sentences = [tokens[:length] for tokens, length in zip(corpus.tokens, corpus.lengths, strict=True)]
        for order in asked.orders:
            model = KneserNey(order, len(asked.task.words), sentences)
            for labels, items in _items(asked, asked.task, seed):
                begun = np.concatenate([np.full((asked.items, order), -1), items.prefix], axis=1)
                right = _accuracy(items, model.probabilities(begun))
                rows.append({"model": f"{order}-gram", "seed": seed, **labels, "accuracy": right})
        progress(done + 1, len(seeds))
    return [_accuracy_table(rows)]


def _items(asked: AgreementMeasurement, task: AgreementTask, seed: int) -> Iterator[tuple[Row, Items]]:
    for structure, depth, attractors in asked.conditions():
        labels = {"structure": structure, "depth": depth, "attractors": attractors}
        yield labels, task.items(seed, structure, depth, attractors, asked.items)


def _accuracies(asked: AgreementMeasurement, trained: Trained, model: Population) -> list[Row]:
    """One condition after the other, all networks at once, each with the items of its own seed."""
    by_seed = [list(_items(asked, trained.recipe.task, seed)) for seed in trained.seeds]
    rows: list[Row] = []
    for together in zip(*by_seed, strict=True):
        chances = after(model, np.stack([items.prefix for _, items in together]))
        for seed, (labels, items), own in zip(trained.seeds, together, chances, strict=True):
            rows.append({"seed": seed, **labels, "accuracy": _accuracy(items, own)})
    return rows


def _accuracy(items: Items, chances: NDArray[np.float64]) -> float:
    rows = np.arange(len(chances))
    return larger(chances[rows, items.right], chances[rows, items.wrong])


def _accuracy_table(rows: list[Row]) -> Table:
    return Table.make("accuracy", "Every model", ACCURACY, rows, details=True)
