"""Training and counting for the study of agreement, and the accuracy of both in every condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.models import KneserNey
from rote.store import Column, Run, Table
from rote.studies.foundations.sentence_models import SentenceProgram, larger, shuffled
from rote.tasks.agreement import Attractors, Items, Structure
from rote.training import train

if TYPE_CHECKING:
    from rote.studies.foundations.agreement import AgreementConfig
    from rote.studies.study import Progress

UNTRAINED = "untrained"
MODEL = Column("model", "recurrent unit, the same before training, or order of the n-grams", "label")
SEED = Column("seed", "random seed of corpus and network", "label")
CONDITION = (
    Column("structure", "what stands between subject and verb", "label"),
    Column("depth", "nouns between subject and verb", "label"),
    Column("attractors", "number of those nouns: as the subject's, opposite, or mixed", "label"),
)
ACCURACY = Column("accuracy", "share of items in which the right form is more probable")
CURVE = (MODEL, SEED, Column("step", "updates", "label"), Column("loss", "cross entropy, nats per word"))


def conditions(config: AgreementConfig) -> Iterator[tuple[Structure, int, Attractors]]:
    every: tuple[Attractors, ...] = ("congruent", "opposite", "mixed")
    for depth in config.depths:
        for attractors in every if depth else every[:1]:
            yield "phrases", depth, attractors
    for attractors in every[:2]:
        yield "subject relative", 1, attractors
        yield "object relative", 1, attractors


def train_and_measure(config: AgreementConfig, run: Run, progress: Progress, device: str) -> list[Table]:
    seeds, task = run.request.seeds, config.task
    corpora = np.stack([task.training(seed, config.sentences).tokens for seed in seeds])
    program = SentenceProgram(
        len(task.words), config.model, config.training, seeds, shuffled(corpora, seeds, config.training.batch),
        lambda program: {"loss": program.losses(0).tolist()}, device,
    )  # fmt: skip
    before = _accuracies(config, seeds, program)
    train(program, config.training, run, progress=progress)
    cell = config.model.cell
    rows = [{"model": f"{UNTRAINED} {cell}", **row} for row in before]
    rows += [{"model": cell, **row} for row in _accuracies(config, seeds, program)]
    losses = [
        {"model": cell, "seed": seed, "step": record["step"], "loss": loss}
        for record in run.metrics.rows()
        for seed, loss in zip(seeds, record["loss"], strict=True)
    ]
    return [
        Table.make("accuracy", "Every model", (MODEL, SEED, *CONDITION, ACCURACY), rows, details=True),
        Table.make("curve", "Loss on the first batch", CURVE, losses, details=True),
    ]


def count(config: AgreementConfig, seeds: Sequence[int], progress: Progress) -> list[Table]:
    """n-grams of the seeds' corpora."""
    rows: list[dict[str, Any]] = []
    for done, seed in enumerate(seeds):
        corpus = config.task.training(seed, config.sentences)
        sentences = [tokens[:length] for tokens, length in zip(corpus.tokens, corpus.lengths, strict=True)]
        for order in config.orders:
            model = KneserNey(order, len(config.task.words), sentences)
            for condition, items in _items(config, seed):
                begun = np.concatenate([np.full((config.items, order), -1), items.prefix], axis=1)
                found = _accuracy(items, model.probabilities(begun))
                rows.append({"model": f"{order}-gram", "seed": seed, **condition, "accuracy": found})
        progress(done + 1, len(seeds))
    return [Table.make("accuracy", "Every model", (MODEL, SEED, *CONDITION, ACCURACY), rows, details=True)]


def _items(config: AgreementConfig, seed: int) -> Iterator[tuple[dict[str, Any], Items]]:
    for structure, depth, attractors in conditions(config):
        labels = {"structure": structure, "depth": depth, "attractors": attractors}
        yield labels, config.task.items(seed, structure, depth, attractors, config.items)


def _accuracies(config: AgreementConfig, seeds: Sequence[int], program: SentenceProgram) -> list[dict[str, Any]]:
    """One condition after the other, all networks at once, each with the items of its own seed."""
    by_seed = [list(_items(config, seed)) for seed in seeds]
    rows: list[dict[str, Any]] = []
    for together in zip(*by_seed, strict=True):
        chances = program.after(np.stack([items.prefix for _, items in together]))
        for seed, (labels, items), found in zip(seeds, together, chances, strict=True):
            rows.append({"seed": seed, **labels, "accuracy": _accuracy(items, found)})
    return rows


def _accuracy(items: Items, chances: NDArray[np.float64]) -> float:
    rows = np.arange(len(chances))
    return larger(chances[rows, items.right], chances[rows, items.wrong])
