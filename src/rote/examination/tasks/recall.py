"""Recall in context: values are bound to keys within the item, and asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, exchanged, items, one_of, some, unseen

KEYS = tuple("abcdef")
VALUES = tuple("123456")
ASK = "?"


@battery.register("recall")
@dataclass(frozen=True)
class Recall(BatteryTask):
    """The value that was bound to a key in this item, for pairs that were never bound in training.

    That a pair never occurs is also evidence that it cannot occur: a learner that keeps a closed list of pairs fails on
    the new items for this reason alone. "More pairs" does without it: five pairs instead of three, all of which were
    bound in training.
    """

    name: ClassVar[str] = "recall"
    dimension: ClassVar = "binding"
    about: ClassVar[str] = "The value of a key, bound in the item; new: pairs that were never bound in training."
    steps: ClassVar[int] = 1800
    chance: ClassVar[float] = 1 / len(VALUES)

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *KEYS, *VALUES, ASK)

    def draw(self, seed: int) -> Drawn:
        """Each key has four of the six values, and each value four of the keys. Two of three keys are asked, so that
        one value is of no importance."""
        generator = np.random.default_rng((seed, 5))
        order = {key: int(place) for key, place in zip(KEYS, generator.permutation(6), strict=True)}
        circle = generator.permutation(VALUES).tolist()
        held = {key: [circle[order[key]], circle[(order[key] + 1) % 6]] for key in KEYS}
        kept = {key: [value for value in VALUES if value not in held[key]] for key in KEYS}
        lines = [_line(generator, kept, 3) for _ in range(4000)]
        train = items(lines, self.symbols)
        fresh = unseen([_line(generator, kept, 3) for _ in range(500)], lines)
        new = [_line(generator, held, 3) for _ in range(600)]
        more = [_line(generator, kept, 5) for _ in range(400)]
        return Drawn(
            train=train,
            known=some(train, 400, generator),
            fresh=items(fresh[:400], self.symbols),
            new=items(unseen(new, lines)[:400], self.symbols),
            others={"more pairs": items(more, self.symbols)},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        def find(words: list[str]) -> dict[int, str]:
            ask = words.index(ASK)
            bound = dict(zip(words[1:ask:2], words[2:ask:2], strict=True))
            return {place: bound[words[place]] for place in range(ask + 1, len(words))}

        return answered(items, self.symbols, find)

    def exchanged(self, items: Items, seed: int) -> Items:
        """The value of a key that is not asked for is another."""
        generator = np.random.default_rng((seed, 5, 1))

        def change(words: list[str]) -> tuple[int, str]:
            ask = words.index(ASK)
            key = next(place for place in range(1, ask, 2) if words[place] not in words[ask:])
            return key + 1, one_of(generator, [value for value in VALUES if value != words[key + 1]])

        return exchanged(items, self.symbols, change)


def _line(generator: np.random.Generator, allowed: dict[str, list[str]], count: int) -> Line:
    """``count`` pairs, and all of their keys but one asked for."""
    keys = generator.permutation(KEYS)[:count].tolist()
    bound = {key: one_of(generator, allowed[key]) for key in keys}
    asked = generator.permutation(keys)[:-1].tolist()
    words: Sequence[str] = [BEGIN, *(word for pair in bound.items() for word in pair), ASK, *asked]
    answers = {2 + 2 * count + place: bound[key] for place, key in enumerate(asked)}
    cue = {place for place, word in enumerate(words[1:], 1) if word in asked or words[place - 1] in asked}
    return Line(words, answers, answers, cue)
