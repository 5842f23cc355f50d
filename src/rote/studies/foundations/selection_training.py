"""Training and counting for the study of selection: all gaps and seeds of a cell as one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.models import KneserNey
from rote.store import Column, Run, Table
from rote.studies.foundations.sentence_models import SentenceProgram, larger
from rote.tasks.selection import Items, SelectionTask
from rote.training import train

if TYPE_CHECKING:
    from rote.studies.foundations.selection import SelectionConfig
    from rote.studies.study import Progress

BLOCK = 50  # updates whose sentences are drawn at once
COLUMNS = (
    Column("model", "recurrent unit, or order of the n-grams", "label"),
    Column("trained", "gaps of the training", "label"),
    Column("seed", "random seed of sentences and network", "label"),
    Column("step", "updates", "label"),
    Column("gap", "words between noun and object in the test", "label"),
    Column("accuracy", "share of items in which objects of the right kind are more probable"),
)
Member = tuple[str, SelectionTask, int]  # name of the training, its task, seed


def train_and_measure(config: SelectionConfig, run: Run, progress: Progress, device: str) -> list[Table]:
    members: list[Member] = [
        (name, task, seed) for name, task in config.settings().items() for seed in run.request.seeds
    ]
    items = {gap: [task.items(seed, gap, config.items) for _, task, seed in members] for gap in tested(config)}
    objects = members[0][1].objects

    def measure(program: SentenceProgram) -> dict[str, Any]:
        right = {
            str(gap): [
                _accuracy(one, chances, objects)
                for one, chances in zip(group, program.after(np.stack([one.prefix for one in group])), strict=True)
            ]
            for gap, group in items.items()
        }
        return {"loss": program.losses(0).tolist(), "right": right}

    words, seeds = len(members[0][1].words), [seed for _, _, seed in members]
    batches = _batches(members, config.training.batch)
    program = SentenceProgram(words, config.model, config.training, seeds, batches, measure, device)
    train(program, config.training, run, progress=progress)
    rows = [
        {
            "model": config.model.cell, "trained": name, "seed": seed, "step": record["step"], "gap": int(gap),
            "accuracy": right,
        }
        for record in run.metrics.rows()
        for gap, values in record["right"].items()
        for (name, _, seed), right in zip(members, values, strict=True)
    ]  # fmt: skip
    return [Table.make("accuracy", "Every model over training", COLUMNS, rows, details=True)]


def count(config: SelectionConfig, seeds: Sequence[int], progress: Progress) -> list[Table]:
    """n-grams of so many sentences, tested with the gaps that they were counted on."""
    rows: list[dict[str, Any]] = []
    for done, seed in enumerate(seeds):
        for name, task in config.settings().items():
            tokens = task.training(seed, 0, config.sentences)
            sentences = [row[row >= 0] for row in tokens]
            for order in config.orders:
                model = KneserNey(order, len(task.words), sentences)
                for gap in task.gaps:
                    items = task.items(seed, gap, config.items)
                    begun = np.concatenate([np.full((config.items, order), -1), items.prefix], axis=1)
                    right = _accuracy(items, model.probabilities(begun), task.objects)
                    labels = {"model": f"{order}-gram", "trained": name, "seed": seed, "step": 0, "gap": gap}
                    rows.append({**labels, "accuracy": right})
        progress(done + 1, len(seeds))
    return [Table.make("accuracy", "Every model over training", COLUMNS, rows, details=True)]


def tested(config: SelectionConfig) -> tuple[int, ...]:
    return (*sorted({*config.gaps, *config.alone}), config.further)


def _accuracy(items: Items, chances: NDArray[np.float64], objects: NDArray[np.int64]) -> float:
    by_kind, rows = chances[:, objects].sum(2), np.arange(len(chances))
    return larger(by_kind[rows, items.kind], by_kind[rows, 1 - items.kind])


def _batches(members: Sequence[Member], batch: int) -> Callable[[int], NDArray[np.int64]]:
    @lru_cache(maxsize=2)
    def block(number: int) -> NDArray[np.int64]:
        """[replica, update, sentence, time]"""
        drawn = [task.training(seed, number, BLOCK * batch) for _, task, seed in members]
        return np.stack(drawn).reshape(len(members), BLOCK, batch, -1)

    return lambda step: block(step // BLOCK)[:, step % BLOCK]
