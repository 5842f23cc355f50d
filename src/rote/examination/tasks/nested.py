"""Nested arithmetic: the value of an expression, at each bracket that closes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, items, one_of, some, unseen

NUMBERS = ("0", "1", "2", "3")
OPERATORS = ("+", "max", "min")
OPEN, CLOSE = "(", ")"
LONGEST = 58


@battery.register("nested")
@dataclass(frozen=True)
class Nested(BatteryTask):
    """The value of expressions that are nested more deeply than in training."""

    name: ClassVar[str] = "nested"
    dimension: ClassVar = "nesting"
    about: ClassVar[str] = (
        "The value of an expression in brackets; new: nested three or four deep instead of one or two."
    )
    steps: ClassVar[int] = 800
    chance: ClassVar[float] = 1 / len(NUMBERS)

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, OPEN, CLOSE, *NUMBERS, *OPERATORS, *(f"={number}" for number in NUMBERS))

    def draw(self, seed: int) -> Drawn:
        """The value is learned at all brackets and scored at the outermost one."""
        generator = np.random.default_rng((seed, 9))
        lines = [_line(_expression(generator, depth)) for depth in generator.choice([1, 2, 2], size=3000)]
        fresh = unseen([_line(_expression(generator, 2)) for _ in range(500)], lines)
        deep = [_line(_expression(generator, depth)) for depth in generator.choice([3, 4], size=600)]
        new = unseen([line for line in deep if len(line.words) <= LONGEST], lines)
        train = items(lines, self.symbols)
        return Drawn(
            train=train,
            known=some(train, 400, generator),
            fresh=items(fresh[:400], self.symbols),
            new=items(new[:400], self.symbols),
            others={},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        return answered(items, self.symbols, _values)


def _expression(generator: np.random.Generator, depth: int) -> list[str]:
    """Nested exactly so deep on one side, and at most so on the other."""
    if depth == 0:
        return [one_of(generator, NUMBERS)]
    deep, other = _expression(generator, depth - 1), _expression(generator, int(generator.integers(depth)))
    left, right = (deep, other) if generator.random() < 0.5 else (other, deep)
    return [OPEN, *left, one_of(generator, OPERATORS), *right, CLOSE]


def _line(expression: list[str]) -> Line:
    words = [BEGIN, *expression]
    return Line(words, _recursive(expression), {len(words) - 1}, range(1, len(words)))


def _recursive(expression: list[str]) -> dict[int, str]:
    """The values by place, in the way that the expression was made: from the outside to the inside."""
    found: dict[int, str] = {}

    def value(place: int) -> tuple[int, int]:
        """Of what begins here, and the place behind it."""
        if expression[place] != OPEN:
            return int(expression[place]), place + 1
        left, operator = value(place + 1)
        right, close = value(operator + 1)
        result = _calculate(left, expression[operator], right)
        found[1 + close] = f"={result}"
        return result, close + 1

    value(0)
    return found


def _values(words: Iterable[str]) -> dict[int, str]:
    """The same from left to right, with a stack."""
    stack: list[str] = []
    found: dict[int, str] = {}
    for place, word in enumerate(words):
        if word != CLOSE:
            stack.append(word)
            continue
        _, left, operator, right = stack[-4:]  # the first is the bracket that opens
        stack[-4:] = [str(_calculate(int(left), operator, int(right)))]
        found[place] = f"={stack[-1]}"
    return found


def _calculate(left: int, operator: str, right: int) -> int:
    return {"+": (left + right) % len(NUMBERS), "max": max(left, right), "min": min(left, right)}[operator]
