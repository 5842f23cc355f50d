"""Tasks by which the battery itself is examined: what is known to help or to hinder composing must move the score.

Options. ``rote.examination.controls`` says what is compared with what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, exchanged, items, one_of, some, unseen
from rote.examination.tasks.lookup import COUNT

FILLERS = tuple("abcdefghijkl")
OPENED = {f"open{kind}": f"close{kind}" for kind in range(4)}
MARKS = tuple(f"mark{kind}" for kind in range(len(OPENED)))
ROWS = 600
DO = ">"


@dataclass(frozen=True)
class Marked(BatteryTask):
    """The close symbol of an open symbol, and somewhere behind it a mark that the rule ignores. New: marks that in
    ``Redundant``, but not in ``Irrelevant``, never went with this open symbol."""

    dimension: ClassVar = "distance"
    steps: ClassVar[int] = 600
    chance: ClassVar[float] = 1 / len(OPENED)
    option: ClassVar[bool] = True
    informative: ClassVar[bool]

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *FILLERS, *OPENED, *MARKS, *OPENED.values())

    def draw(self, seed: int) -> Drawn:
        """A kind has its own two marks; new items have the two others, with whatever training."""
        generator = np.random.default_rng((seed, 18))
        turn = int(generator.integers(len(MARKS)))
        marks = {
            kind: [MARKS[(place + turn + far) % len(MARKS)] for far in range(4)] for place, kind in enumerate(OPENED)
        }
        half = len(MARKS) // 2

        def lines(count: int, shown: Callable[[list[str]], list[str]]) -> list[Line]:
            kinds = [one_of(generator, tuple(OPENED)) for _ in range(count)]
            return [_marked(generator, kind, one_of(generator, shown(marks[kind]))) for kind in kinds]

        def trained(of_kind: list[str]) -> list[str]:
            return of_kind[:half] if self.informative else of_kind

        train = lines(ROWS, trained)
        return Drawn(
            train=items(train, self.symbols),
            known=some(items(train, self.symbols), 300, generator),
            fresh=items(unseen(lines(300, trained), train), self.symbols),
            new=items(unseen(lines(400, lambda of_kind: of_kind[half:]), train), self.symbols),
            others={},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        def close(words: list[str]) -> dict[int, str]:
            return {len(words) - 1: next(OPENED[word] for word in words if word in OPENED)}

        return answered(items, self.symbols, close)

    def exchanged(self, items: Items, seed: int) -> Items:
        """The mark is another."""
        generator = np.random.default_rng((seed, 18, 1))

        def change(words: list[str]) -> tuple[int, str]:
            place = next(place for place, word in enumerate(words) if word in MARKS)
            return place, one_of(generator, [mark for mark in MARKS if mark != words[place]])

        return exchanged(items, self.symbols, change)


def _marked(generator: np.random.Generator, kind: str, mark: str) -> Line:
    """Up to four fillers, the open symbol, six to ten fillers, and the mark."""
    before = generator.choice(FILLERS, size=generator.integers(5)).tolist()
    behind = [*generator.choice(FILLERS, size=generator.integers(6, 11)).tolist(), mark]
    words = [BEGIN, *before, kind, *behind]
    return Line(words, {len(words) - 1: OPENED[kind]}, {len(words) - 1}, {1 + len(before)})


@battery.register("redundant")
@dataclass(frozen=True)
class Redundant(Marked):
    """A mark tells in training half of what the open symbol tells."""

    name: ClassVar[str] = "redundant"
    about: ClassVar[str] = (
        "The close symbol of the open symbol, beside a mark that goes with it; new: with other marks."
    )
    informative: ClassVar[bool] = True


@battery.register("irrelevant")
@dataclass(frozen=True)
class Irrelevant(Marked):
    """The same mark tells nothing."""

    name: ClassVar[str] = "irrelevant"
    about: ClassVar[str] = (
        "The close symbol of the open symbol, beside a mark that tells nothing; new: other sequences."
    )
    informative: ClassVar[bool] = False


@battery.register("lookup-steps")
@dataclass(frozen=True)
class LookupSteps(BatteryTask):
    """Lookup tables as source 002 asks for them: the input and every result on the way, one after the other."""

    name: ClassVar[str] = "lookup-steps"
    dimension: ClassVar = "recombination"
    about: ClassVar[str] = "An input through two tables, step by step; new: tables that never followed each other."
    steps: ClassVar[int] = 1500
    chance: ClassVar[float] = 0.0
    exact: ClassVar[bool] = True
    option: ClassVar[bool] = True

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *(f"{kind}{index}" for kind in ("t", "v") for index in range(COUNT)), DO)

    def draw(self, seed: int) -> Drawn:
        """Every table is first in four held-out pairs, and second in four; each of the others is shown with six of
        the eight inputs, and fresh with the two that are left."""
        generator = np.random.default_rng((seed, 19))
        first, second = generator.permutation(COUNT), generator.permutation(COUNT)
        train: list[Line] = []
        fresh: list[Line] = []
        new: list[Line] = []
        for row, column in product(range(COUNT), repeat=2):
            held = (column - row) % COUNT < COUNT // 2
            for place, value in enumerate(generator.permutation(COUNT)):
                line = self._line(int(value), [int(first[row]), int(second[column])], seed)
                (new if held else train if place < 6 else fresh).append(line)
        known = items(train, self.symbols)
        return Drawn(known, known, items(fresh, self.symbols), items(new, self.symbols), {})

    def _line(self, value: int, tables: list[int], seed: int) -> Line:
        said, functions = [value], _functions(seed)
        for table in tables:
            said.append(int(functions[table, said[-1]]))
        words = [BEGIN, f"v{value}", *(f"t{table}" for table in tables), DO]
        asked = {len(words) - 1 + place: f"v{one}" for place, one in enumerate(said)}
        return Line([*words, *(f"v{one}" for one in said[:-1])], asked, asked, range(1, 2 + len(tables)))

    def answers(self, items: Items, seed: int) -> Integers:
        functions = _functions(seed)

        def look_up(words: list[str]) -> dict[int, str]:
            place = words.index(DO)
            value, found = int(words[1][1:]), {}
            for step, table in enumerate([None, *words[2:place]]):
                value = value if table is None else int(functions[int(table[1:]), value])
                found[place + step] = f"v{value}"
            return found

        return answered(items, self.symbols, look_up)


def _functions(seed: int) -> Integers:
    """[table, input]: each a random bijection."""
    return np.random.default_rng((seed, 19, 1)).permuted(np.tile(np.arange(COUNT), (COUNT, 1)), axis=1)
