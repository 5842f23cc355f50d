"""Nothing but memory: labels that no rule gives, the other pole of the battery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import NOTHING, START, BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN

SYMBOLS, ROWS, LENGTH = 16, 1500, 4


@battery.register("memory")
@dataclass(frozen=True)
class Memory(BatteryTask):
    """Random strings with random labels. There is no rule, so nothing can be new: ``new`` are the known items again.

    What counts is how many bits of the labels a model has: 4 for each item at most, 6,000 altogether.
    """

    name: ClassVar[str] = "memory"
    dimension: ClassVar = "memory"
    about: ClassVar[str] = "Random strings and their random labels, to be learned by heart."
    steps: ClassVar[int] = 700
    chance: ClassVar[float] = 1 / SYMBOLS

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *(f"{kind}{index}" for kind in ("s", "label") for index in range(SYMBOLS)))

    def draw(self, seed: int) -> Drawn:
        strings, labels = _labelled(seed)
        tokens = np.hstack([np.full((ROWS, 1), START), 1 + strings])
        targets = np.full_like(tokens, NOTHING)
        targets[:, -1] = 1 + SYMBOLS + labels
        items = Items(tokens, targets, targets != NOTHING, np.zeros(tokens.shape, bool))
        return Drawn(train=items, known=items, fresh=None, new=items, others={})

    def answers(self, items: Items, seed: int) -> Integers:
        """By looking them up, as there is nothing to be understood."""
        strings, labels = _labelled(seed)
        known = {tuple(string): 1 + SYMBOLS + int(label) for string, label in zip(strings, labels, strict=True)}
        found = np.full(items.tokens.shape, NOTHING, np.int64)
        found[:, -1] = [known[tuple(row)] for row in items.tokens[:, 1:] - 1]
        return found


def _labelled(seed: int) -> tuple[Integers, Integers]:
    """Different strings [string, place] and their labels."""
    generator = np.random.default_rng((seed, 12))
    numbers = generator.choice(SYMBOLS**LENGTH, size=ROWS, replace=False)
    strings = numbers[:, None] // SYMBOLS ** np.arange(LENGTH) % SYMBOLS
    return strings, generator.integers(SYMBOLS, size=ROWS)
