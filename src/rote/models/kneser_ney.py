"""Interpolated Kneser-Ney n-grams: what counting the last words can predict. NumPy, no torch.

One discount per order, n1 / (n1 + 2 n2) of its counts; below the highest order a count is that of different words
before the n-gram, except for n-grams that begin with the beginning of a sentence, which nothing stands before. Contexts
are kept as sorted numbers with a dense row of counts each: for vocabularies of some hundred words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class _Order:
    contexts: Tokens  # sorted numbers of the contexts that were seen
    rows: NDArray[np.float64]  # [context, word]: discounted counts over their sum
    left: NDArray[np.float64]  # [context]: what the discount leaves for the order below


class KneserNey:
    def __init__(self, order: int, vocabulary: int, sequences: Sequence[Tokens]) -> None:
        """Count ``sequences`` of words 0 to vocabulary - 1. ``order``: words of an n-gram, the predicted one included.

        Before its first word each sequence has as many begin symbols as an n-gram can reach."""
        if order < 1 or vocabulary < 1:
            raise UsageError(f"'order' and 'vocabulary' of KneserNey must be at least 1. Got {order} and {vocabulary}.")
        if (vocabulary + 1) ** order >= 2**63:
            raise UsageError(f"n-grams of order {order} over {vocabulary} words cannot be numbered. Lower 'order'.")
        if not any(len(sequence) for sequence in sequences):
            raise UsageError("KneserNey needs at least one word to count. Got none.")
        self.order, self.vocabulary, self.base = order, vocabulary, vocabulary + 1
        words = np.concatenate(sequences)
        if words.min() < 0 or words.max() >= vocabulary:
            raise UsageError(f"Words must be 0 to {vocabulary - 1}. Got {words.min()} to {words.max()}.")
        windows = self._windows(words, [len(sequence) for sequence in sequences])
        self._orders = self._count(windows @ self.base ** np.arange(order - 1, -1, -1))

    def probabilities(self, contexts: Tokens) -> NDArray[np.float64]:
        """Of every word after each context, [row, vocabulary]. ``contexts``: [row, time], the last column nearest, -1
        (the begin symbol) before the first word; what an n-gram does not reach is not read."""
        reach = self.order - 1
        known = np.full((len(contexts), reach), self.vocabulary, dtype=np.int64)
        used = min(reach, contexts.shape[1])
        if used and len(contexts):
            last = contexts[:, contexts.shape[1] - used :]
            if last.min() < -1 or last.max() >= self.vocabulary:
                raise UsageError(f"Contexts must be -1 to {self.vocabulary - 1}. Got {last.min()} to {last.max()}.")
            known[:, reach - used :] = np.where(last < 0, self.vocabulary, last)
        chances = np.full((len(contexts), self.vocabulary), 1 / self.vocabulary)
        for size, counted in enumerate(self._orders):  # words of context
            numbers = known[:, reach - size :] @ self.base ** np.arange(size - 1, -1, -1)
            index = np.minimum(np.searchsorted(counted.contexts, numbers), len(counted.contexts) - 1)
            seen = counted.contexts[index] == numbers
            found = index[seen]
            chances[seen] = counted.rows[found] + counted.left[found, None] * chances[seen]
        return chances

    def following(self, sequence: Tokens) -> NDArray[np.float64]:
        """Of every word at each place of one sequence, from what stands before it: [time, vocabulary]."""
        contexts = self._windows(sequence, [len(sequence)])[:, :-1]
        return self.probabilities(np.where(contexts == self.vocabulary, -1, contexts))

    def _windows(self, words: Tokens, lengths: Sequence[int]) -> Tokens:
        """The n-gram that ends at each word of the sequences, which stand one after the other."""
        reach = self.order - 1
        places = np.arange(len(words)) + reach * (1 + np.repeat(np.arange(len(lengths)), lengths))
        begun = np.full(len(words) + reach * (1 + len(lengths)), self.vocabulary, dtype=np.int64)
        begun[places] = words
        return np.asarray(np.lib.stride_tricks.sliding_window_view(begun, self.order)[places - reach])

    def _count(self, numbers: Tokens) -> list[_Order]:
        """All orders, the lowest first. ``numbers``: every n-gram of the highest order."""
        grams, occurring = np.unique(numbers, return_counts=True)
        counts = occurring.astype(np.float64)
        made = []
        for size in range(self.order, 0, -1):
            made.append(self._discounted(grams, counts))
            shorter, which = np.unique(grams % self.base ** (size - 1), return_inverse=True)
            different, often = np.bincount(which), np.bincount(which, weights=counts)
            begins = shorter // self.base ** max(size - 2, 0) == self.vocabulary
            grams, counts = shorter, np.where(begins, often, different).astype(np.float64)
        return made[::-1]

    def _discounted(self, grams: Tokens, counts: NDArray[np.float64]) -> _Order:
        once, twice = (counts == 1).sum(), (counts == 2).sum()
        discount = once / (once + 2 * twice) if once else 0.0
        contexts, which = np.unique(grams // self.base, return_inverse=True)
        rows = np.zeros((len(contexts), self.vocabulary))
        rows[which, grams % self.base] = counts - discount
        total = np.bincount(which, weights=counts)
        left = discount * np.bincount(which) / total
        return _Order(contexts, rows / total[:, None], left)
