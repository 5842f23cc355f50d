"""SCAN's splits (Lake and Baroni 2018; Loula et al. 2018), as models of one sequence read them. Options, longer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, items, some
from rote.tasks import scan
from rote.tasks.scan_examples import ACTIONS, COMMAND_WORDS

DO, END = ">", "end"
LENGTH = 59  # the longest: nine words and 48 actions


@dataclass(frozen=True)
class Scan(BatteryTask):
    """Commands and their actions; what is new is the test part of an official ``split``, which no seed changes."""

    dimension: ClassVar = "recombination"
    steps: ClassVar[int] = 5000
    chance: ClassVar[float] = 0.0
    exact: ClassVar[bool] = True
    option: ClassVar[bool] = True
    split: ClassVar[str]

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *COMMAND_WORDS, DO, *ACTIONS, END)

    def draw(self, seed: int) -> Drawn:
        """All training lines but 300, which are fresh: none of those that an official split repeats."""
        generator = np.random.default_rng((seed, 17))
        old, test = scan.split(self.split)
        often = {pair for pair, count in Counter(old).items() if count > 1}
        order = generator.permutation(len(old))
        fresh = [place for place in order if old[place] not in often][:300]
        kept = np.setdiff1d(order, fresh)
        train = self._items([old[place] for place in kept])
        return Drawn(
            train=train,
            known=some(train, 300, generator),
            fresh=self._items([old[place] for place in fresh]),
            new=self._items([test[place] for place in generator.permutation(len(test))[:300]]),
            others={},
        )

    def _items(self, pairs: list[scan.Pair]) -> Items:
        return items([_line(*pair) for pair in pairs], self.symbols, length=LENGTH)

    def answers(self, items: Items, seed: int) -> Integers:
        def obey(words: list[str]) -> dict[int, str]:
            first = words.index(DO)
            actions = scan.interpret(" ".join(words[1:first])).split()
            return {first + place: action for place, action in enumerate([*actions, END])}

        return answered(items, self.symbols, obey)


def _line(command: str, actions: str) -> Line:
    said, does = command.split(), actions.split()
    asked = {1 + len(said) + place: action for place, action in enumerate([*does, END])}
    return Line([BEGIN, *said, DO, *does], asked, asked, range(1, 1 + len(said)))


@battery.register("scan-simple")
@dataclass(frozen=True)
class ScanSimple(Scan):
    """SCAN, a random fifth of the commands held out."""

    name: ClassVar[str] = "scan-simple"
    about: ClassVar[str] = "SCAN's commands; new: a random fifth of them."
    split: ClassVar[str] = "simple"


@battery.register("scan-jump")
@dataclass(frozen=True)
class ScanJump(Scan):
    """SCAN, with jump only alone in training."""

    name: ClassVar[str] = "scan-jump"
    about: ClassVar[str] = "SCAN's commands; new: those with jump, which training has alone."
    split: ClassVar[str] = "addprim_jump"


@battery.register("scan-around-right")
@dataclass(frozen=True)
class ScanAroundRight(Scan):
    """SCAN, where around and right never stand together in training."""

    name: ClassVar[str] = "scan-around-right"
    about: ClassVar[str] = "SCAN's commands; new: around right, whose words training has apart."
    split: ClassVar[str] = "template_around_right"


@battery.register("scan-length")
@dataclass(frozen=True)
class ScanLength(Scan):
    """SCAN, with more actions than in training."""

    name: ClassVar[str] = "scan-length"
    about: ClassVar[str] = "SCAN's commands; new: more than 22 actions."
    split: ClassVar[str] = "length"
