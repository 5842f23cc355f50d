"""Lookup tables in a row (Liska et al. 2018, with the answer of the first table asked as well)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from rote.examination.task import NOTHING, START, BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN

COUNT = 8  # inputs, tables and values
INPUT, TABLE, VALUE = 1, 1 + COUNT, 1 + 2 * COUNT  # first symbol of each


@battery.register("lookup")
@dataclass(frozen=True)
class Lookup(BatteryTask):
    """Two tables, looked up one after the other, that never stood together in training."""

    name: ClassVar[str] = "lookup"
    dimension: ClassVar = "recombination"
    about: ClassVar[str] = "An input goes through two tables; new: two tables that never followed each other."
    steps: ClassVar[int] = 1500
    chance: ClassVar[float] = 1 / COUNT

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *(f"{kind}{index}" for kind in ("x", "t", "v") for index in range(COUNT)))

    def draw(self, seed: int) -> Drawn:
        """Every table is first in two held-out pairs, and second in two. There is nothing fresh: all inputs of the
        other pairs are trained on."""
        generator = np.random.default_rng((seed, 3))
        first, second = generator.permutation(COUNT), generator.permutation(COUNT)
        kept: list[tuple[int, int]] = []
        held: list[tuple[int, int]] = []
        for row, column in product(range(COUNT), repeat=2):
            (held if (column - row) % COUNT < 2 else kept).append((int(first[row]), int(second[column])))
        train = self._items(kept, seed)
        return Drawn(train=train, known=train, fresh=None, new=self._items(held, seed), others={})

    def _items(self, pairs: list[tuple[int, int]], seed: int) -> Items:
        tables = _tables(seed)
        x = np.tile(np.arange(COUNT), len(pairs))
        a, b = np.repeat(np.array(pairs), COUNT, axis=0).T
        tokens = np.stack([np.full_like(x, START), INPUT + x, TABLE + a, TABLE + b], 1)
        targets = np.full_like(tokens, NOTHING)
        targets[:, 2], targets[:, 3] = VALUE + tables[a, x], VALUE + tables[b, tables[a, x]]
        scored, cue = np.zeros(tokens.shape, bool), np.ones(tokens.shape, bool)
        scored[:, 3], cue[:, 0] = True, False
        return Items(tokens, targets, scored, cue)

    def answers(self, items: Items, seed: int) -> Integers:
        tables, found = _tables(seed), np.full(items.tokens.shape, NOTHING, np.int64)
        for row, (_, x, *names) in enumerate(items.tokens):
            value = x - INPUT
            for place, table in enumerate(names, 2):
                if table == START:  # it is cut off here
                    break
                value = tables[table - TABLE, value]
                found[row, place] = VALUE + value
        return found


def _tables(seed: int) -> Integers:
    """[table, input]: each a random bijection."""
    return np.random.default_rng((seed, 3, 1)).permuted(np.tile(np.arange(COUNT), (COUNT, 1)), axis=1)
