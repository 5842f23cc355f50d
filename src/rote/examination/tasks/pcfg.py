"""PCFG SET in small: functions of strings applied to one another (Hupkes et al. 2020). An option, longer than others.

Six functions of one string and four of two; of the article's tests this is systematicity, the functions of whose
held-out pairs are all known. Ours are drawn anew for each seed, over 20 letters instead of 520.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, items, one_of, some, unseen

UNARY = ("copy", "reverse", "shift", "echo", "swap_first_last", "repeat")
BINARY = ("append", "prepend", "remove_first", "remove_second")
FUNCTIONS = (*UNARY, *BINARY)
LETTERS = tuple("abcdefghijklmnopqrst")
COMMA, DO, END = ",", ">", "end"
LONGEST, DEEPEST = 40, 3


def interpret(words: Sequence[str]) -> list[str]:
    """The string that an expression stands for: ``interpret("append a b , repeat c".split())`` is a b c c.

    What is not a function or a comma is a letter, whatever it is called."""
    value, end = _value(words, 0)
    if end != len(words):
        raise ValueError(f"The expression {' '.join(words)!r} goes on behind its end, at word {end + 1}.")
    return value


def _value(words: Sequence[str], place: int) -> tuple[list[str], int]:
    """Of what begins here, and the place behind it."""
    name = words[place]
    if name in BINARY:
        first, comma = _value(words, place + 1)
        second, end = _value(words, comma + 1)
        both = {"append": first + second, "prepend": second + first, "remove_first": second, "remove_second": first}
        return both[name], end
    if name in UNARY:
        value, end = _value(words, place + 1)
        return _applied(name, value), end
    end = place
    while end < len(words) and words[end] not in (*FUNCTIONS, COMMA):
        end += 1
    return list(words[place:end]), end


def _applied(name: str, value: list[str]) -> list[str]:
    match name:
        case "reverse":
            return value[::-1]
        case "shift":
            return value[1:] + value[:1]
        case "echo":
            return value + value[-1:]
        case "swap_first_last":
            return value if len(value) < 2 else [value[-1], *value[1:-1], value[0]]
        case "repeat":
            return value + value
    return value


@battery.register("pcfg")
@dataclass(frozen=True)
class Pcfg(BatteryTask):
    """Functions of strings, applied to others that they were never applied to in training."""

    name: ClassVar[str] = "pcfg"
    dimension: ClassVar = "recombination"
    about: ClassVar[str] = "Functions of strings, one applied to the other; new: pairs of functions never seen so."
    steps: ClassVar[int] = 3000
    chance: ClassVar[float] = 0.0
    exact: ClassVar[bool] = True
    option: ClassVar[bool] = True

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *FUNCTIONS, *LETTERS, COMMA, DO, END)

    def draw(self, seed: int) -> Drawn:
        """Eight of the hundred pairs of a function directly around another are held out."""
        generator = np.random.default_rng((seed, 16))
        pairs = list(product(FUNCTIONS, repeat=2))
        held = {pairs[place] for place in generator.permutation(len(pairs))[:8]}
        every = unseen([_line(generator) for _ in range(12000)], [])
        short = [line for line in every if len(line.words) <= LONGEST]
        old = [line for line in short if not held & _around(line.words)]
        new = [line for line in short if held & _around(line.words)]
        train = items(old[:4000], self.symbols, length=LONGEST)
        return Drawn(
            train=train,
            known=some(train, 300, generator),
            fresh=items(old[4000:4300], self.symbols, length=LONGEST),
            new=items(new[:300], self.symbols, length=LONGEST),
            others={},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        def say(words: list[str]) -> dict[int, str]:
            first = words.index(DO)
            return {first + place: word for place, word in enumerate([*interpret(words[1:first]), END])}

        return answered(items, self.symbols, say)


def _around(words: Sequence[str]) -> set[tuple[str, str]]:
    """The functions that stand directly before another, which they are applied to."""
    return {(one, other) for one, other in pairwise(words) if {one, other} <= {*FUNCTIONS}}


def _line(generator: np.random.Generator) -> Line:
    expression, value = _expression(generator, int(generator.integers(1, 1 + DEEPEST)))
    place = 1 + len(expression)
    asked = {place + index: word for index, word in enumerate([*value, END])}
    return Line([BEGIN, *expression, DO, *value], asked, asked, range(1, place))


def _expression(generator: np.random.Generator, depth: int) -> tuple[list[str], list[str]]:
    """Functions nested at most so deep, and what they give."""
    if depth == 0:
        letters = generator.choice(LETTERS, size=generator.integers(2, 4)).tolist()
        return letters, letters
    name = one_of(generator, FUNCTIONS)
    first, value = _expression(generator, depth - 1)
    if name in UNARY:
        return [name, *first], _applied(name, value)
    second, other = _expression(generator, int(generator.integers(depth)))
    result = {"append": value + other, "prepend": other + value, "remove_first": other, "remove_second": value}[name]
    return [name, *first, COMMA, *second], result
