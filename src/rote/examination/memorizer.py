"""The rote learner: what can be had from training items without any rule.

It is the best of three ways to answer from the prefixes that were answered in training:

- *backoff*: the longest end of the prefix that also ended one in training, and its most frequent answer;
- *recent*: the training prefix that agrees with this one in most places, counted from the end;
- *early*: the same, counted from the start, and the last symbol compared with the last one.

Where several are equally near they vote. On training items the first gives every answer back. What a model gets right
beyond the best of them, a guess, and always the same answer, is what asks for a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rote.examination.task import NOTHING, BatteryTask, Bools, Drawn, Integers, Items, accuracy

AT_ONCE = 2**18  # pairs of prefixes that are compared


@dataclass(frozen=True)
class Memorizer:
    """Knows the training items by heart. Its answers are arrays [item, time], NOTHING where none is scored."""

    train: Items

    def answers(self, items: Items) -> dict[str, Integers]:
        """By each of the three ways."""
        return {"backoff": self.backoff(items), "recent": self.recent(items), "early": self.early(items)}

    def backoff(self, items: Items) -> Integers:
        prefixes, where = _reversed(items.tokens, items.scored)
        width = max(prefixes.shape[1], self._by_end.shape[1])
        known = _texts(self._by_end, width)
        asked = _texts(prefixes, width)
        place = np.searchsorted(known, asked)
        before = _common(prefixes, self._by_end[np.maximum(place - 1, 0)])
        behind = _common(prefixes, self._by_end[np.minimum(place, len(known) - 1)])
        keep = np.arange(prefixes.shape[1]) < np.maximum(before, behind)[:, None]
        low = np.searchsorted(known, _texts(np.where(keep, prefixes, 0), width))
        high = np.searchsorted(known, _texts(np.where(keep, prefixes, 255), width), side="right")
        return _placed((self._counts[high] - self._counts[low]).argmax(1), where, items)

    def recent(self, items: Items) -> Integers:
        return self._nearest(items, _from_end)

    def early(self, items: Items) -> Integers:
        return self._nearest(items, _from_start)

    def _nearest(self, items: Items, view: Callable[[Integers, Bools, int], Integers]) -> Integers:
        width = self.train.tokens.shape[1]
        known, first = _distinct(view(self.train.tokens, self._asked, width))
        votes = np.zeros((len(known), self._vocabulary), np.int64)
        np.add.at(votes, (first, self.train.targets[self._asked]), 1)
        asked, back = _distinct(view(items.tokens, items.scored, width))
        found, columns = np.zeros(len(asked), np.int64), np.ascontiguousarray(known.T, np.uint8)
        rows = 1 + AT_ONCE // len(known)
        for begin in range(0, len(asked), rows):
            overlap = _overlap(asked[begin : begin + rows], columns)
            row, nearest = np.nonzero(overlap == overlap.max(1, keepdims=True))
            ballot = np.zeros((len(overlap), self._vocabulary), np.int64)
            np.add.at(ballot, row, votes[nearest])
            found[begin : begin + rows] = ballot.argmax(1)
        return _placed(found[back], np.nonzero(items.scored), items)

    @property
    def _asked(self) -> Bools:
        return np.not_equal(self.train.targets, NOTHING)

    @property
    def _vocabulary(self) -> int:
        return int(max(self.train.tokens.max(), self.train.targets.max())) + 1

    @cached_property
    def _order(self) -> Integers:
        prefixes, _ = _reversed(self.train.tokens, self._asked)
        return np.argsort(_texts(prefixes, prefixes.shape[1]), kind="stable")

    @cached_property
    def _by_end(self) -> Integers:
        """Training prefixes from their ends on, sorted, so that those with the same end stand together."""
        prefixes, _ = _reversed(self.train.tokens, self._asked)
        return prefixes[self._order]

    @cached_property
    def _counts(self) -> Integers:
        """[prefix, answer]: how often each answer was given before this prefix in that order."""
        answers = self.train.targets[self._asked][self._order]
        counts = np.zeros((1 + len(answers), self._vocabulary), np.int64)
        counts[1 + np.arange(len(answers)), answers] = 1
        return counts.cumsum(0)


def memorizer_accuracy(task: BatteryTask, drawn: Drawn) -> dict[str, float]:
    """Of the best of the three ways, for ``known``, ``fresh`` (where a task has it), ``new`` and the others by name."""
    memorizer = Memorizer(drawn.train)
    best = {"known": accuracy(memorizer.backoff(drawn.known), drawn.known, exact=task.exact)}  # nothing is better
    for name, items in {"fresh": drawn.fresh, "new": drawn.new, **drawn.others}.items():
        if items is not None:
            ways = memorizer.answers(items).values()
            best[name] = max(accuracy(answers, items, exact=task.exact) for answers in ways)
    return best


def zero(task: BatteryTask, drawn: Drawn, memory: float | None = None) -> float:
    """What new items need no rule for: the best of ``memory`` (that of the memorizer, computed if it is not given), a
    guess, and always the same answer."""
    if memory is None:
        memory = memorizer_accuracy(task, drawn)["new"]
    constant = max(
        accuracy(np.full_like(drawn.new.targets, answer), drawn.new, exact=task.exact)
        for answer in np.unique(drawn.new.targets[drawn.new.scored])
    )
    return max(memory, task.chance, constant)


def _reversed(tokens: Integers, asked: Bools) -> tuple[Integers, tuple[Integers, ...]]:
    """Prefixes that end at the asked places, from their ends on: symbols count from 1, and 0 is beyond the start."""
    rows, places = np.nonzero(asked)
    back = places[:, None] - np.arange(tokens.shape[1])
    return np.where(back >= 0, 1 + tokens[rows[:, None], np.maximum(back, 0)], 0), (rows, places)


def _texts(prefixes: Integers, width: int) -> NDArray[np.bytes_]:
    """Rows as texts, which NumPy sorts and finds. Their order is that of the symbols; at the end zeros are nothing."""
    filled = np.zeros((len(prefixes), width), np.uint8)
    filled[:, : prefixes.shape[1]] = prefixes
    return filled.view(f"S{width}").ravel()


def _distinct(prefixes: Integers) -> tuple[Integers, Integers]:
    """The rows that differ, and for each row which of them it is."""
    _, one, which = np.unique(_texts(prefixes, prefixes.shape[1]), return_index=True, return_inverse=True)
    return prefixes[one], which


def _common(left: Integers, right: Integers) -> Integers:
    """How many symbols two rows have in common before they differ, or end."""
    width = min(left.shape[1], right.shape[1])
    same = (left[:, :width] == right[:, :width]) & (left[:, :width] > 0)
    return np.asarray(np.cumprod(same, axis=1).sum(1), np.int64)


def _from_end(tokens: Integers, asked: Bools, width: int) -> Integers:
    """The last symbols of each prefix; 0 agrees with nothing."""
    prefixes, _ = _reversed(tokens, asked)
    return np.pad(prefixes, [(0, 0), (0, max(0, width - prefixes.shape[1]))])[:, :width]


def _from_start(tokens: Integers, asked: Bools, width: int) -> Integers:
    """The last symbol of each prefix, and the first ones of what is before it."""
    rows, places = np.nonzero(asked)
    first = np.pad(tokens, [(0, 0), (0, max(0, width - tokens.shape[1]))])[rows, :width]
    first = np.where(np.arange(width) < places[:, None], 1 + first, 0)
    return np.hstack([1 + tokens[rows, places][:, None], first])


def _overlap(asked: Integers, known: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[asked, known]: in how many places two prefixes have the same symbol; ``known`` is [place, known].

    Bytes, place by place, stay in the cache.
    """
    same = np.empty((len(asked), known.shape[1]), bool)
    total = np.zeros(same.shape, np.uint8)
    symbols = np.where(asked > 0, asked, 255).astype(np.uint8)
    for place, column in enumerate(known):
        np.equal(symbols[:, place, None], column, out=same)
        total += same.view(np.uint8)
    return total


def _placed(found: Integers, where: tuple[Integers, ...], items: Items) -> Integers:
    answers = np.full(items.tokens.shape, NOTHING, np.int64)
    answers[where] = found
    return answers
