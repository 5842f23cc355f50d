"""Counting: as many symbols as there were letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, exchanged, items, one_of, some, unseen

LETTERS = tuple("pqrs")
DOT, B, END = ".", "b", "end"
TRAINED, LONGEST, DOTS = 10, 20, 9


@battery.register("count")
@dataclass(frozen=True)
class Count(BatteryTask):
    """As many b's as letters, for numbers larger than in training."""

    name: ClassVar[str] = "count"
    dimension: ClassVar = "state"
    about: ClassVar[str] = "As many b's as there were letters; new: 11 to 20 instead of 1 to 10."
    steps: ClassVar[int] = 700
    chance: ClassVar[float] = 0.0
    exact: ClassVar[bool] = True

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *LETTERS, DOT, B, END)

    def draw(self, seed: int) -> Drawn:
        generator = np.random.default_rng((seed, 10))
        lines = [_line(generator, int(number)) for number in generator.integers(1, 1 + TRAINED, size=1500)]
        more = [_line(generator, int(number)) for number in generator.integers(1, 1 + TRAINED, size=500)]
        new = [_line(generator, int(number)) for number in generator.integers(1 + TRAINED, 1 + LONGEST, size=300)]
        train = items(lines, self.symbols)
        return Drawn(
            train=train,
            known=some(train, 300, generator),
            fresh=items(unseen(more, lines)[:300], self.symbols),
            new=items(new, self.symbols),
            others={},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        def compare(words: list[str]) -> dict[int, str]:
            letters, found = sum(word in LETTERS for word in words), {}
            for place, word in enumerate(words):
                if word == B:
                    letters -= 1
                    found[place] = B if letters > 0 else END
            return found

        return answered(items, self.symbols, compare)

    def exchanged(self, items: Items, seed: int) -> Items:
        """One letter is another."""
        generator = np.random.default_rng((seed, 10, 1))

        def change(words: list[str]) -> tuple[int, str]:
            place = int(generator.choice([place for place, word in enumerate(words) if word in LETTERS]))
            return place, one_of(generator, [letter for letter in LETTERS if letter != words[place]])

        return exchanged(items, self.symbols, change)


def _line(generator: np.random.Generator, number: int) -> Line:
    """A dot, which does not count, stands before 15 % of the letters."""
    before: list[str] = []
    for letter in generator.choice(LETTERS, size=number):
        if generator.random() < 0.15 and before.count(DOT) < DOTS:
            before.append(DOT)
        before.append(str(letter))
    words = [BEGIN, *before, *number * [B]]
    first = 1 + len(before)
    answers = {place: B if place < len(words) - 1 else END for place in range(first, len(words))}
    return Line(words, answers, answers, [place for place, word in enumerate(words) if word in (*LETTERS, B)])
