"""Words as numbers: vocabularies, padding and masks (source 004, "Padding and Masking", steps 1 to 3).

Step 1, ``pad``: all sequences of a batch get one length. Step 2, ``mask_of``: which steps are real. Step 3 is the
model's: it picks the true last state by length, or leaves padded steps out of the loss (``masked_mean``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError

PADDING, UNKNOWN = 0, 1
SPECIAL = ("<pad>", "<unk>")
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Vocabulary:
    """``words[number]``; the first are not words: padding, and the unknown word."""

    words: tuple[str, ...]

    @classmethod
    def of(
        cls, sequences: Iterable[Sequence[str]], minimum: int = 1, largest: int | None = None, more: Sequence[str] = ()
    ) -> Vocabulary:
        """The words that occur at least ``minimum`` times, the ``largest`` number of them; the most frequent first."""
        counts = Counter(word for sequence in sequences for word in sequence)
        special = (*SPECIAL, *more)
        kept = [word for word, count in counts.most_common() if count >= minimum and word not in special]
        return cls((*special, *kept[:largest]))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Iterable[str]) -> list[int]:
        """Numbers of the words; ``UNKNOWN`` for those that are not in it."""
        return [self._numbers.get(word, UNKNOWN) for word in words]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        return [self.words[number] for number in numbers]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}


def pad(sequences: Sequence[Sequence[int]], padding: int = PADDING) -> tuple[Numbers, Numbers]:
    """Step 1: one array [row, time], filled up with ``padding``; and the lengths."""
    if not sequences:
        raise UsageError("A batch needs at least one sequence. Got none.")
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    if not lengths.all():
        raise UsageError(
            f"A sequence needs at least one word. Sequence {int(np.argmin(lengths))} (counted from 0) is empty: "
            "leave it out."
        )
    padded = np.full((len(lengths), lengths.max()), padding, dtype=np.int64)
    padded[mask_of(lengths)] = np.concatenate([np.asarray(sequence, dtype=np.int64) for sequence in sequences])
    return padded, lengths


def mask_of(lengths: Sequence[int] | Numbers, time: int | None = None) -> NDArray[np.bool_]:
    """Step 2: [row, time], true at real steps. ``time``: by default the longest length."""
    lengths = np.asarray(lengths, dtype=np.int64)
    time = int(lengths.max()) if time is None else time
    wrong = lengths[(lengths < 1) | (lengths > time)]
    if len(wrong):
        raise UsageError(f"'lengths' must lie in 1 to {time}, the steps of the batch. Got {int(wrong[0])}.")
    return np.arange(time) < lengths[:, None]


def mask_of_padding(tokens: Sequence[Sequence[int]] | Numbers, padding: int = PADDING) -> NDArray[np.bool_]:
    """The same, read off the tokens: true where they are not ``padding``."""
    return np.not_equal(tokens, padding)


def masked_mean(values: NDArray[np.float64], mask: NDArray[np.bool_]) -> float:
    """Step 3: the mean over real steps. Divides by their number, not by that of all steps or of rows."""
    values, mask = np.asarray(values, dtype=float), np.asarray(mask, dtype=bool)
    if values.shape != mask.shape:
        raise UsageError(f"'values' and 'mask' must have one shape. Got {values.shape} and {mask.shape}.")
    if not mask.any():
        raise UsageError("The mask leaves nothing to take the mean of: every step is padding.")
    return float(values[mask].mean())


@dataclass(frozen=True)
class Ragged:
    """Sequences of different lengths, one behind the other: batches are cut out without a loop over rows."""

    values: Numbers  # [token]
    starts: Numbers  # [sequence + 1]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Ragged:
        lengths = [len(sequence) for sequence in sequences]
        values = np.fromiter(
            (value for sequence in sequences for value in sequence), dtype=np.int64, count=sum(lengths)
        )
        return cls(values, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Numbers:
        return np.diff(self.starts)

    def batch(self, rows: Numbers, padding: int = PADDING) -> tuple[Numbers, Numbers]:
        """The sequences at ``rows``, padded [row, time], and their lengths."""
        lengths = self.lengths[rows]
        mask = mask_of(lengths)
        at = self.starts[rows][:, None] + np.arange(mask.shape[1])
        return np.where(mask, self.values[np.where(mask, at, 0)], padding), lengths

    def flat(self, rows: Numbers) -> Numbers:
        """The values of the sequences at ``rows``, one behind the other, as a mask picks them from a batch."""
        tokens, lengths = self.batch(rows)
        return tokens[mask_of(lengths)]


def batches(lengths: Numbers, size: int, random: np.random.Generator, alike: int = 20) -> list[Numbers]:
    """The rows of every batch of one pass, in random order. Rows of similar length share a batch: among each
    ``alike`` batches of a random order rows are sorted, so that little is padded and batches still differ each time."""
    order = random.permutation(len(lengths))
    made: list[Numbers] = []
    for first in range(0, len(order), size * alike):
        pool = order[first : first + size * alike]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        made += [pool[place : place + size] for place in range(0, len(pool), size)]
    return [made[index] for index in random.permutation(len(made))]
