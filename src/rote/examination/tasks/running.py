"""Running products: the state of a group after every symbol, in sequences longer than those of training."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np

from rote.examination.task import NOTHING, START, BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, some


@dataclass(frozen=True)
class Running(BatteryTask):
    """Elements of a group, whose product is asked for at each place. The first element is the neutral one."""

    dimension: ClassVar = "state"
    rows: ClassVar[int]
    trained: ClassVar[int]  # elements of a training item
    longest: ClassVar[int]  # of a new one
    number: ClassVar[int]

    @property
    @abstractmethod
    def products(self) -> Integers:
        """[so far, next] -> product."""

    def draw(self, seed: int) -> Drawn:
        """The first answers of new items are not scored: those places were trained on. Fresh items are other
        sequences, whose first symbols are known all the same."""
        generator = np.random.default_rng((seed, self.number))
        train = self._items(generator.integers(len(self.products), size=(self.rows, self.trained)))
        fresh = generator.integers(len(self.products), size=(300, self.trained))
        new = self._items(generator.integers(len(self.products), size=(200, self.longest)))
        new.scored[:, : 1 + self.trained] = False
        seen = {row.tobytes() for row in train.tokens[:, 1:] - 1}
        return Drawn(
            train=train,
            known=some(train, 200, generator),
            fresh=self._items(np.stack([row for row in fresh if row.tobytes() not in seen][:200])),
            new=new,
            others={},
        )

    def _items(self, elements: Integers) -> Items:
        order = len(self.products)
        states = np.zeros_like(elements)
        state = np.zeros(len(elements), np.int64)
        for place in range(elements.shape[1]):
            state = states[:, place] = self.products[state, elements[:, place]]
        start = np.full((len(elements), 1), START)
        tokens = np.hstack([start, 1 + elements])
        targets = np.hstack([np.full_like(start, NOTHING), 1 + order + states])
        return Items(tokens, targets, targets != NOTHING, tokens > 1)


@battery.register("parity")
@dataclass(frozen=True)
class Parity(Running):
    """Whether the ones so far are even or odd, in longer sequences."""

    name: ClassVar[str] = "parity"
    about: ClassVar[str] = "Whether the ones so far are even or odd; new: further on than in training."
    steps: ClassVar[int] = 800
    chance: ClassVar[float] = 1 / 2
    rows: ClassVar[int] = 2000
    trained: ClassVar[int] = 16
    longest: ClassVar[int] = 40
    number: ClassVar[int] = 6

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, "0", "1", "even", "odd")

    @property
    def products(self) -> Integers:
        return np.array([[0, 1], [1, 0]])

    def answers(self, items: Items, seed: int) -> Integers:
        found = 3 + np.cumsum(items.tokens == 2, axis=1) % 2
        return np.where(items.tokens == START, NOTHING, found)


@battery.register("s3")
@dataclass(frozen=True)
class Permutations(Running):
    """Where three things stand after they were permuted again and again, in longer sequences."""

    name: ClassVar[str] = "s3"
    about: ClassVar[str] = "The running product of permutations of three things; new: further on than in training."
    steps: ClassVar[int] = 700
    chance: ClassVar[float] = 1 / 6
    rows: ClassVar[int] = 3000
    trained: ClassVar[int] = 12
    longest: ClassVar[int] = 32
    number: ClassVar[int] = 7

    @property
    def symbols(self) -> tuple[str, ...]:
        orders = ["".join(order) for order in permutations("abc")]
        return (BEGIN, *orders, *(f"={order}" for order in orders))

    @property
    def products(self) -> Integers:
        orders = list(permutations(range(3)))
        return np.array([[orders.index((a[b[0]], a[b[1]], a[b[2]])) for b in orders] for a in orders])

    def answers(self, items: Items, seed: int) -> Integers:
        """Three things are put in order, place by place."""
        names = self.symbols
        found = np.full(items.tokens.shape, NOTHING, np.int64)
        for row, tokens in enumerate(items.tokens):
            things = "abc"
            for place in np.flatnonzero(tokens):
                things = "".join(things["abc".index(taken)] for taken in names[tokens[place]])
                found[row, place] = names.index(f"={things}")
        return found
