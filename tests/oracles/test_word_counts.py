"""The words of a text that is looked at in pieces, against Python's own counting."""

from __future__ import annotations

from collections import Counter

import pytest

from rote.tasks import word_counts
from rote.tasks.alphabet import numbers


@pytest.mark.parametrize("piece", [1, 3, 7, 8, 1000])
def test_pieces_make_no_difference(piece, monkeypatch):
    text = "the cat and the internationalization of the cat and internationalization"
    monkeypatch.setattr(word_counts, "PIECE", piece)
    found = word_counts.index_words(numbers(b" " + text.encode()), 3)
    words = text.split()
    common = sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))
    assert found.words == tuple(word for word, _ in common[:3])
    assert found.distinct == len(common)
    assert found.ranks.tolist() == [found.words.index(word) if word in found.words else 3 for word in words]
