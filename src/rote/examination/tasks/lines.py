"""Items written in words: how a task's sentences become arrays, and its interpreter answers them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rote.examination.task import NOTHING, START, Integers, Items

BEGIN = "start"  # what symbol 0 is called in every task


class Line(NamedTuple):
    """One item. Places count from the start, which is the first word."""

    words: Sequence[str]
    answers: Mapping[int, str]  # place: what is asked for after it
    scored: Collection[int]
    cue: Collection[int]


def items(lines: Sequence[Line], symbols: Sequence[str], length: int = 0) -> Items:
    """``lines`` as arrays, filled up to the longest of them, or to ``length``."""
    number = {name: index for index, name in enumerate(symbols)}
    shape = len(lines), max([length, *(len(line.words) for line in lines)])
    tokens, targets = np.full(shape, START, np.int64), np.full(shape, NOTHING, np.int64)
    scored, cue = np.zeros(shape, bool), np.zeros(shape, bool)
    for row, line in enumerate(lines):
        tokens[row, : len(line.words)] = [number[word] for word in line.words]
        targets[row, list(line.answers)] = [number[answer] for answer in line.answers.values()]
        scored[row, list(line.scored)] = True
        cue[row, list(line.cue)] = True
    return Items(tokens, targets, scored, cue)


def words(tokens: Integers, symbols: Sequence[str]) -> list[str]:
    """The words of one item, from its start on, without what fills it up."""
    return [symbols[token] for token in tokens[: 1 + int(np.flatnonzero(tokens)[-1])]]


def answered(asked: Items, symbols: Sequence[str], rule: Callable[[list[str]], Mapping[int, str]]) -> Integers:
    """What ``rule`` says for the words of each item, by place."""
    number = {name: index for index, name in enumerate(symbols)}
    answers = np.full(asked.tokens.shape, NOTHING, np.int64)
    for row, tokens in enumerate(asked.tokens):
        for place, answer in rule(words(tokens, symbols)).items():
            answers[row, place] = number[answer]
    return answers


def exchanged(asked: Items, symbols: Sequence[str], change: Callable[[list[str]], tuple[int, str]]) -> Items:
    """The items with the one symbol exchanged that ``change`` names for the words of each: its place, and another."""
    tokens = asked.tokens.copy()
    for row, before in enumerate(asked.tokens):
        place, word = change(words(before, symbols))
        tokens[row, place] = symbols.index(word)
    return Items(tokens, asked.targets, asked.scored, asked.cue)


def one_of(generator: np.random.Generator, options: Sequence[str]) -> str:
    """As ``generator.choice``, which takes ten times as long."""
    return options[int(generator.integers(len(options)))]


def some(drawn: Items, count: int, generator: np.random.Generator) -> Items:
    """At most ``count`` of the items, in the order in which they stand."""
    chosen = generator.permutation(len(drawn))[:count]
    return drawn[np.sort(chosen)]


def unseen(lines: Sequence[Line], seen: Sequence[Line]) -> list[Line]:
    """Those of ``lines`` whose words are not those of a line in ``seen``, each once."""
    already = {tuple(line.words) for line in seen}
    return list({tuple(line.words): line for line in lines if tuple(line.words) not in already}.values())
