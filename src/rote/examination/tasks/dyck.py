"""Brackets of two kinds (Dyck-2): which kind must close, deeper than in training. An option: all models are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, items, one_of, some, unseen

BRACKETS = {"(": ")", "[": "]"}
TRAINED, DEEPEST, LONGEST, FAR = 3, 6, 40, 5


@battery.register("dyck")
@dataclass(frozen=True)
class Dyck(BatteryTask):
    """The kind of the next bracket that closes, in brackets that are nested more deeply than in training."""

    name: ClassVar[str] = "dyck"
    dimension: ClassVar = "nesting"
    about: ClassVar[str] = "Which kind of bracket closes; new: four to six deep instead of one to three, and far away."
    steps: ClassVar[int] = 800
    chance: ClassVar[float] = 1 / 2
    option: ClassVar[bool] = True

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *BRACKETS, *BRACKETS.values())

    def draw(self, seed: int) -> Drawn:
        """Scored in new items: brackets that opened more than five places before, once these are deeper than training
        items."""
        generator = np.random.default_rng((seed, 15))
        lines = [_line(generator, int(depth)) for depth in generator.integers(1, 1 + TRAINED, size=2000)]
        fresh = unseen([_line(generator, TRAINED) for _ in range(400)], lines)
        deep = [_line(generator, int(depth)) for depth in generator.integers(1 + TRAINED, 1 + DEEPEST, size=400)]
        new = [line for line in deep if line.scored]
        train = items(lines, self.symbols)
        return Drawn(
            train=train,
            known=some(train, 300, generator),
            fresh=items(fresh[:300], self.symbols),
            new=items(new[:300], self.symbols),
            others={},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        """Before each bracket that closes: the one that fits what is open."""

        def close(words: list[str]) -> dict[int, str]:
            around: list[str] = []
            found: dict[int, str] = {}
            for place, word in enumerate(words[1:]):  # the place before the word
                if word in BRACKETS:
                    around.append(BRACKETS[word])
                else:
                    found[place] = around.pop()
            return found

        return answered(items, self.symbols, close)


def _line(generator: np.random.Generator, depth: int) -> Line:
    """Brackets nested exactly so deep, not longer than all are."""
    line = _any_line(generator, depth)
    while len(line.words) > LONGEST:
        line = _any_line(generator, depth)
    return line


def _any_line(generator: np.random.Generator, depth: int) -> Line:
    words, answers, far = [BEGIN], dict[int, str](), list[int]()
    opened: list[int] = []
    deepest = 0
    while deepest < depth or opened:
        if not opened or (len(opened) < depth and generator.random() < 0.55):
            opened.append(len(words))
            words.append(one_of(generator, tuple(BRACKETS)))
        else:
            place, begin = len(words) - 1, opened.pop()
            answers[place] = BRACKETS[words[begin]]
            if len(words) - begin > FAR and deepest > TRAINED:
                far.append(place)
            words.append(answers[place])
        deepest = max(deepest, len(opened))
    return Line(words, answers, far if depth > TRAINED else answers, range(1, len(words)))
