"""Kneser-Ney n-grams against the textbook formulas written with dictionaries; probabilities sum to one."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.errors import UsageError
from rote.models import KneserNey

BEGIN = -1


class Textbook:
    """One n-gram at a time. adjusted[size]: counts of the highest order; below it, different words before; raw counts
    where the n-gram begins with the begin symbol."""

    def __init__(self, order: int, vocabulary: int, sequences: list[list[int]]) -> None:
        self.order, self.vocabulary = order, vocabulary
        raw: dict[int, Counter[tuple[int, ...]]] = {size: Counter() for size in range(1, order + 1)}
        for sequence in sequences:
            begun = [BEGIN] * (order - 1) + sequence
            for end in range(order, len(begun) + 1):
                for size in range(1, order + 1):
                    raw[size][tuple(begun[end - size : end])] += 1
        self.adjusted = {order: dict(raw[order])}
        for size in range(1, order):
            before = defaultdict(set)
            for gram in raw[size + 1]:
                before[gram[1:]].add(gram[0])
            self.adjusted[size] = {g: raw[size][g] if g[0] == BEGIN else len(before[g]) for g in raw[size]}

    def probability(self, word: int, context: tuple[int, ...], size: int | None = None) -> float:
        size = self.order if size is None else size
        if size == 0:
            return 1 / self.vocabulary
        counts = self.adjusted[size]
        start = context[len(context) - (size - 1) :]
        lower = self.probability(word, context, size - 1)
        following = [counts.get((*start, other), 0) for other in range(self.vocabulary)]
        if not sum(following):
            return lower
        once = sum(count == 1 for count in counts.values())
        twice = sum(count == 2 for count in counts.values())
        discount = once / (once + 2 * twice) if once else 0.0
        kinds = sum(count > 0 for count in following)
        return (max(following[word] - discount, 0) + discount * kinds * lower) / sum(following)


@given(
    order=st.integers(1, 5), vocabulary=st.integers(1, 5), data=st.data(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_probability_is_that_of_the_textbook(order: int, vocabulary: int, data: st.DataObject) -> None:
    words = st.lists(st.integers(0, vocabulary - 1), max_size=8)
    sequences = data.draw(st.lists(words, min_size=1, max_size=8).filter(any_word))
    model = KneserNey(order, vocabulary, [np.array(sequence, dtype=np.int64) for sequence in sequences])
    book = Textbook(order, vocabulary, sequences)
    contexts = data.draw(
        st.lists(st.lists(st.integers(BEGIN, vocabulary - 1), min_size=4, max_size=4), min_size=1, max_size=5)
    )
    found = model.probabilities(np.array(contexts))
    expected = [[book.probability(word, tuple(row)) for word in range(vocabulary)] for row in contexts]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(1), 1.0, atol=1e-12)


def any_word(sequences: list[list[int]]) -> bool:
    return any(sequences)


def test_following_reads_what_stands_before_each_word_and_no_further_than_the_order() -> None:
    random = np.random.default_rng(0)
    sequences = [random.integers(0, 4, 30) for _ in range(5)]
    model = KneserNey(3, 4, sequences)
    chances = model.following(sequences[0])
    for place in range(30):
        before = np.concatenate([[BEGIN, BEGIN], sequences[0][:place]])[-2:]
        np.testing.assert_allclose(chances[place], model.probabilities(before[None])[0])
    longer = np.concatenate([np.zeros((1, 5), dtype=np.int64), [[2, 1]]], axis=1)
    np.testing.assert_array_equal(model.probabilities(longer), model.probabilities(np.array([[2, 1]])))


@pytest.mark.parametrize(
    ("order", "vocabulary", "sequences", "message"),
    [
        (0, 3, [[0]], "'order' and 'vocabulary' of KneserNey must be at least 1. Got 0 and 3"),
        (2, 3, [[0, 3]], "Words must be 0 to 2. Got 0 to 3"),
        (2, 3, [[]], "at least one word"),
        (20, 100, [[0]], "order 20 over 100 words"),
    ],
)
def test_what_cannot_be_counted_is_refused(order: int, vocabulary: int, sequences: list[list[int]], message: str):
    with pytest.raises(UsageError, match=message):
        KneserNey(order, vocabulary, [np.array(sequence, dtype=np.int64) for sequence in sequences])


def test_a_word_out_of_the_vocabulary_in_a_context_is_refused() -> None:
    with pytest.raises(UsageError, match=r"Contexts must be -1 to 2\. Got 0 to 7"):
        KneserNey(3, 3, [np.array([0, 1, 2])]).probabilities(np.array([[0, 7]]))
