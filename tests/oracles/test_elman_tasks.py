"""The streams of Elman 1990 are what the article says, checked word by word; what cannot be is refused."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from rote.errors import UnknownNameError, UsageError
from rote.tasks.elman import LETTERS, LEXICON, TEXT, ElmanTask, Stream
from rote.tasks.elman_lexicon import LISTED, TEMPLATES, WORDS, Grammar, grammar

SIMULATIONS = ("xor", "letters", "words", "lexicon")


def text(stream: Stream) -> str:
    return "".join(stream.names[symbol] for symbol in stream.symbols)


def sentences(stream: Stream) -> list[list[str]]:
    starts = [*np.flatnonzero(stream.place == 0), len(stream.symbols)]
    return [[stream.names[s] for s in stream.symbols[a:b]] for a, b in itertools.pairwise(starts)]


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_a_seed_has_one_training_stream_another_test_stream_and_one_code(simulation: str) -> None:
    task = ElmanTask(simulation, 30)
    first, again, test, other = task.training(3), task.training(3), task.test(3), task.training(4)
    np.testing.assert_array_equal(first.symbols, again.symbols)
    assert not np.array_equal(first.symbols, test.symbols)
    assert not np.array_equal(first.symbols, other.symbols)
    np.testing.assert_array_equal(first.codes, test.codes)
    assert len(np.unique(first.codes, axis=0)) == len(first.names)  # no two symbols look alike


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_a_pass_has_as_many_symbols_as_streams_have_on_average(simulation: str) -> None:
    lengths = [len(ElmanTask(simulation, 300).training(seed).symbols) for seed in range(40)]
    spread = np.std(lengths) / np.sqrt(40) if np.std(lengths) else 0.5
    assert abs(np.mean(lengths) - ElmanTask(simulation, 300).length) < 4 * spread


def test_published_sizes() -> None:
    assert [ElmanTask(name).length for name in SIMULATIONS] == [3000, 3000, 5027, 27_500]
    assert ElmanTask("lexicon").training(0).codes.shape == (30, 31)
    assert len(WORDS) == 29


def test_every_third_bit_is_the_exclusive_or_and_the_others_are_drawn() -> None:
    bits = ElmanTask("xor").training(0).symbols.reshape(-1, 3)
    np.testing.assert_array_equal(bits[:, 2], bits[:, 0] != bits[:, 1])
    counts = np.bincount(bits[:, 0] * 2 + bits[:, 1])
    assert ((counts - 250) ** 2 / 250).sum() < 16.3  # chi2 with 3, p = 0.001


def test_each_consonant_has_its_vowels_and_features() -> None:
    stream = ElmanTask("letters", 200).training(0)
    assert re.fullmatch("(ba|dii|guuu){200}", text(stream))
    np.testing.assert_array_equal(stream.place == 0, [letter in "bdg" for letter in text(stream)])
    assert ["".join(map(str, row.astype(int))) for row in stream.codes] == list(LETTERS.values())


def test_words_are_those_of_the_lexicon_and_spelled_without_spaces() -> None:
    stream = ElmanTask("words", 20).training(0)
    found = ["".join(word) for word in sentences(stream)]
    assert set(found) == set(LEXICON)
    assert 20 * 4 <= len(found) <= 20 * 9
    spelled = ElmanTask("words", 20).spelled(TEXT, 0)
    assert text(spelled) == TEXT.replace(" ", "")
    assert ["".join(word) for word in sentences(spelled)] == TEXT.split()
    np.testing.assert_array_equal(spelled.codes, stream.codes)


@pytest.mark.parametrize("classes", ["inclusive", "listed"])
def test_every_sentence_fits_a_template_and_every_template_is_used(classes: str) -> None:
    members = grammar(classes).classes
    found = sentences(ElmanTask("lexicon", 2000, classes).training(0))
    fits = [
        [all(w in members[c] for w, c in zip(s, t, strict=True)) for t in TEMPLATES if len(t) == len(s)] for s in found
    ]
    assert len(found) == 2000
    assert all(any(row) for row in fits)
    assert {word for sentence in found for word in sentence} == set(WORDS)


def test_continuations_are_the_shares_of_a_long_stream() -> None:
    expected = grammar("inclusive").continuations()
    found, so_far = {}, ()
    stream = ElmanTask("lexicon", 40_000).training(0)
    for symbol, place, following in zip(stream.symbols[:-1], stream.place, stream.symbols[1:], strict=False):
        so_far = (*so_far, int(symbol)) if place else (int(symbol),)
        found.setdefault(so_far, np.zeros(len(WORDS)))[following] += 1
    assert set(found) <= set(expected)
    assert all(values.sum() == pytest.approx(1.0) for values in expected.values())
    for beginning, counts in found.items():
        total, chances = counts.sum(), expected[beginning]
        assert not counts[chances == 0].any()
        assert (np.abs(counts - total * chances) <= 5.5 * np.sqrt(total * chances * (1 - chances)) + 3).all()


def test_broad_classes_contain_the_narrow_ones_only_where_they_are_inclusive() -> None:
    broad, listed = grammar("inclusive").classes, grammar("listed").classes
    assert set(broad["NOUN-ANIM"]) == set(LISTED["NOUN-ANIM"] + LISTED["NOUN-HUM"] + LISTED["NOUN-AGRESS"])
    assert set(broad["NOUN-INANIM"]) == set(LISTED["NOUN-INANIM"] + LISTED["NOUN-FOOD"] + LISTED["NOUN-FRAG"])
    assert set(broad["VERB-TRAN"]) == {"see", "chase", "like", "break", "smash", "smell"}
    assert listed == LISTED


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ElmanTask("xor", 100), UsageError, "'xor' must be a multiple of 3 bits. Got 100"),
        (lambda: ElmanTask("words", 0), UsageError, "'size' must be at least 1. Got 0"),
        (lambda: ElmanTask("words").spelled("a Boy", 0), UnknownNameError, "Unknown symbol 'B' of this stream"),
        (lambda: ElmanTask("lexicon", 10).spelled("man eat zebra", 0), UnknownNameError, "Unknown symbol 'zebra'"),
        (lambda: ElmanTask("words").spelled("  ", 0), UsageError, "at least one word"),
        (lambda: Grammar(("a",), {"X": ()}, (("X",),)), UsageError, "The word class 'X' has no words"),
        (lambda: Grammar(("a",), {"X": ("b",)}, (("X",),)), UnknownNameError, "Unknown word 'b' in the class 'X'"),
        (lambda: Grammar(("a",), {"X": ("a",)}, (("Y",),)), UnknownNameError, "Unknown word class 'Y' in a template"),
        (lambda: Grammar(("a",), {"X": ("a",)}, ((),)), UsageError, "templates, each with at least one class"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make, error, message) -> None:
    with pytest.raises(error, match=re.escape(message)):
        make()
