"""Small tasks in time for the recurrent playground: what training shows (known), and what it never showed (new).

Every task is made from a seed and a length. An item is a row of symbols with the answer that is asked for at each step,
or none. What is new differs in kind, not only in chance: longer rows, other fillers, pairs that never stood together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError

KNOWN, NEW = 64, 64  # items at most
NOT_ASKED = -1
LENGTHS = range(1, 13)  # that a task can be made of
LONGEST, PAIRS = 40, 200  # symbols of an own item, and lines
LETTERS = "abcd"
Row = tuple[Sequence[str], Sequence[str | None]]  # symbols, and the answers asked for


@dataclass(frozen=True)
class Items:
    """Padded at the end; padding is not asked for, and comes too late to change an answer."""

    tokens: NDArray[np.int64]  # [item, time]
    targets: NDArray[np.int64]  # [item, time], NOT_ASKED where nothing is asked
    lengths: NDArray[np.int64]  # [item]


@dataclass(frozen=True)
class SequenceTask:
    title: str
    new_are: str  # in what new items differ
    symbols: tuple[str, ...]
    answers: tuple[str, ...]
    known: Items
    new: Items


Made = tuple[str, str, list[Row], list[Row]]  # title, what is new, known rows, new rows


def sequence_task(name: str, length: int, seed: int = 0, pairs: str = "") -> SequenceTask:
    """The task of this name; ``pairs`` are the user's own, one item in a line."""
    random = np.random.default_rng([seed, length])
    title, new_are, known, new = own_pairs(pairs) if name == "own" else TASKS[name](random, length)
    symbols = tuple(dict.fromkeys(symbol for row in (*known, *new) for symbol in row[0]))
    answers = tuple(sorted({answer for row in (*known, *new) for answer in row[1] if answer is not None}))
    make = (sorted(symbols), answers)
    return SequenceTask(title, new_are, tuple(make[0]), answers, _items(known, *make), _items(new, *make))


def _items(rows: Sequence[Row], symbols: Sequence[str], answers: Sequence[str]) -> Items:
    time = max((len(row) for row, _ in rows), default=1)
    tokens = np.zeros((len(rows), time), dtype=np.int64)
    targets = np.full((len(rows), time), NOT_ASKED, dtype=np.int64)
    for place, (row, asked) in enumerate(rows):
        tokens[place, : len(row)] = [symbols.index(symbol) for symbol in row]
        targets[place, : len(row)] = [NOT_ASKED if answer is None else answers.index(answer) for answer in asked]
    return Items(tokens, targets, np.array([len(row) for row, _ in rows], dtype=np.int64))


def _bits(random: np.random.Generator, count: int, length: int) -> list[str]:
    """Different rows of bits, in random order: all of them if there are no more."""
    if length <= 10:
        every = ["".join(row) for row in product("01", repeat=length)]
        return [every[place] for place in random.permutation(len(every))[:count]]
    drawn = {"".join(map(str, row)) for row in random.integers(2, size=(2 * count, length))}
    return sorted(drawn)[:count]


def xor(random: np.random.Generator, length: int) -> Made:
    """Elman's stream: two bits, then whether they differ; the third is to be predicted after the second."""

    def row(bits: str) -> Row:
        symbols, asked = list[str](), list[str | None]()
        for first, second in zip(bits[::2], bits[1::2], strict=True):
            answer = str(int(first != second))
            symbols += [first, second, answer]
            asked += [None, answer, None]
        return symbols, asked

    known, new = (_bits(random, KNOWN, 2 * triples) for triples in (length, 2 * length))
    return "XOR in time", "streams of twice as many triples", [row(bits) for bits in known], [row(bits) for bits in new]


def copy(random: np.random.Generator, length: int) -> Made:
    """Three letters, a delay of dots, and then the letters again, one at each question mark."""
    every = ["".join(row) for row in product(LETTERS, repeat=3)]
    every = [every[place] for place in random.permutation(len(every))]
    rows: list[Row] = [
        ([*word, *"." * length, *"???"], [None] * (3 + length) + list(word)) for word in every
    ]  # fmt: skip
    return "Delayed copy", "words that training left out", rows[:48], rows[48:]


def parity(random: np.random.Generator, length: int) -> Made:
    """Whether the number of ones so far is odd, asked for at every step."""

    def row(bits: str) -> Row:
        return list(bits), ["odd" if bits[: end + 1].count("1") % 2 else "even" for end in range(len(bits))]

    known, new = (_bits(random, KNOWN, size) for size in (length, 2 * length))
    return "Parity", "rows of twice the length", [row(bits) for bits in known], [row(bits) for bits in new]


def open_close(random: np.random.Generator, length: int) -> Made:
    """Source 000: an open symbol promises a close symbol so many symbols later, whatever stands between them."""
    conduits = ["".join(random.choice(list(LETTERS), length)) for _ in range(4)]
    unseen = [word for _ in range(200) if (word := "".join(random.choice(list(LETTERS), length))) not in conduits]
    if not unseen:
        unseen = [word for word in LETTERS if word not in conduits] or conduits

    def row(word: str, early: int) -> Row:
        """The open symbol stands ``early`` symbols too early to be answered at the end; 0: it is answered there."""
        before = "".join(random.choice(list(LETTERS), 3 - early))
        late = "".join(random.choice(list(LETTERS), early))
        return [*before, "<", *word, *late], [None] * (3 + len(word)) + ["other" if early else "close"]

    def rows(words: Sequence[str], count: int) -> list[Row]:
        return [row(words[place % len(words)], place // 2 % 3 + 1 if place % 2 else 0) for place in range(count)]

    return "Open and close", "other symbols between the two", rows(conduits, KNOWN), rows(unseen, NEW)


def agreement(random: np.random.Generator, length: int) -> Made:
    """Source 004: the verb takes the number of the first noun; the others stand nearer."""
    nouns = ["key", "book", "door", "lamp"]
    forms = [(noun + ending, "they" if ending else "it") for noun in nouns for ending in ("", "s")]

    def held_out(first: str, last: str) -> bool:
        return (nouns.index(first.rstrip("s")) + nouns.index(last.rstrip("s"))) % 4 == 0

    known, new = list[Row](), list[Row]()
    while len(known) < KNOWN or len(new) < NEW:
        drawn = [forms[place] for place in random.integers(len(forms), size=length + 1)]
        symbols = [drawn[0][0]] + [word for noun, _ in drawn[1:] for word in ("near", noun)]
        row = (symbols, [None] * (len(symbols) - 1) + [drawn[0][1]])
        (new if held_out(drawn[0][0], drawn[-1][0]) else known).append(row)
    return "Agreement", "first and last nouns that never stood together", known[:KNOWN], new[:NEW]


TASKS: dict[str, Callable[[np.random.Generator, int], Made]] = {
    "xor": xor, "copy": copy, "parity": parity, "open_close": open_close, "agreement": agreement,
}  # fmt: skip


def all_tasks() -> dict[str, dict[str, dict[str, Any]]]:
    """By name and length, in short: an item is a digit for each symbol, and one for each answer or a dot."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"

    def rows(items: Items) -> list[list[str]]:
        return [
            [
                "".join(digits[token] for token in tokens[:length]),
                "".join("." if answer == NOT_ASKED else digits[answer] for answer in targets[:length]),
            ]
            for tokens, targets, length in zip(items.tokens, items.targets, items.lengths, strict=True)
        ]

    def told(task: SequenceTask) -> dict[str, Any]:
        names = {"title": task.title, "new_are": task.new_are, "symbols": task.symbols, "answers": task.answers}
        return {**names, "known": rows(task.known), "new": rows(task.new)}

    return {name: {str(length): told(sequence_task(name, length)) for length in LENGTHS} for name in TASKS}


def own_pairs(text: str) -> Made:
    """Lines "input = answer", new ones behind a line of dashes. Symbols are characters, or words if there are spaces.

    An answer of as many symbols as the input is asked for step by step, any other as one whole at the end.
    """
    known, new = list[Row](), list[Row]()
    rows = known
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > PAIRS:
        raise UsageError(f"Own pairs take {PAIRS} lines at most. Got {len(lines)}: leave some out.")
    for number, line in enumerate(lines, 1):
        if set(line) == {"-"}:
            rows = new
            continue
        left, equals, right = (part.strip() for part in line.partition("="))
        if not (left and equals and right):
            raise UsageError(f"Line {number} of the pairs must read 'input = answer', as '0 1 = 1'. Got {line[:40]!r}.")
        symbols, answers = (part.split() if " " in left else list(part) for part in (left, right))
        if len(symbols) > LONGEST:
            raise UsageError(f"Line {number} of the pairs has {len(symbols)} symbols; {LONGEST} are the most.")
        stepwise = len(answers) == len(symbols) > 1
        rows.append((symbols, answers if stepwise else [*[None] * (len(symbols) - 1), right]))
    if not known:
        raise UsageError("Own pairs need at least one line 'input = answer' before the line of dashes.")
    return "Own pairs", "the lines behind the dashes", known, new
