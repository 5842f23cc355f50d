"""What can be known without memory: the most frequent words that begin with the letters that are there.

A model that does no better than this at k known characters makes no use of the text before the word.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from rote.tasks.alphabet import SPACE
from rote.tasks.autocomplete import UNKNOWN, Observations

KNOWN, TOP = 22, 3  # as the source's curves
TOGETHER = 1024


def prefix_ranks(words: tuple[str, ...], frequencies: NDArray[np.int64]) -> list[list[int]]:
    """[word][known characters]: how many more frequent words begin with the same letters."""
    ranks: list[list[int]] = [[] for _ in words]
    before: dict[str, int] = defaultdict(int)
    for index in np.argsort(-frequencies, kind="stable").tolist():
        for k in range(len(words[index]) + 1):
            prefix = words[index][:k]
            ranks[index].append(before[prefix])
            before[prefix] += 1
    return ranks


def prefix_hits(text: Observations, most: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Hits [top, known] and positions [known] on words of the vocabulary in the test text."""
    first = UNKNOWN + 1
    ranks = prefix_ranks(text.vocabulary[first:], text.frequencies[first:])
    hits, positions = np.zeros((TOP, KNOWN), np.int64), np.zeros(KNOWN, np.int64)
    for word, count in enumerate(counts_in_test(text, most)[first:].tolist()):
        for k, rank in enumerate(ranks[word][:KNOWN]):
            positions[k] += count
            hits[rank:, k] += count
    return hits, positions


def counts_in_test(text: Observations, most: int | None) -> NDArray[np.int64]:
    """[output]: how often each is a word of the test text."""
    counts = np.zeros(len(text.vocabulary), np.int64)
    for batch in text.batches("test", TOGETHER, most):
        counts += np.bincount(batch.targets[batch.tokens == SPACE], minlength=len(counts))
    return counts


def frequency_loss(text: Observations, most: int | None) -> float:
    """Cross entropy per character of the test text, in nats, of knowing only how frequent words are: the plateau."""
    first = UNKNOWN + 1
    length = np.array([len(word) + 1 for word in text.vocabulary[first:]])
    expected, found = (counts[first:] * length for counts in (text.frequencies, counts_in_test(text, most)))
    chances = expected / expected.sum()
    seen = found > 0
    return float(-(found[seen] * np.log(chances[seen])).sum() / found.sum())
