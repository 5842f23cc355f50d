"""Padding, masks and baselines: the lecture's and the course's own cases, and counting done another way."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.errors import UsageError
from rote.tasks.text import PADDING, Ragged, Vocabulary, batches, mask_of, mask_of_padding, masked_mean, pad
from rote.tasks.text_baselines import baselines
from rote.tasks.text_stand_in import NEGATIVE, POSITIVE, make_reviews
from rote.tasks.text_tasks import ClassificationTask, LanguageTask, TaggingTask


def test_the_lectures_two_sentences_padded_and_masked():
    sentences = [["This", "is", "the", "first", "example", "</s>"], ["This", "is", "another", "</s>"]]
    vocabulary = Vocabulary.of(sentences)
    tokens, lengths = pad([vocabulary.encode(words) for words in sentences])
    assert lengths.tolist() == [6, 4]
    assert mask_of(lengths).astype(int).tolist() == [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]]
    assert vocabulary.decode(tokens[1]) == ["This", "is", "another", "</s>", "<pad>", "<pad>"]


def test_the_courses_mask_of_padding_and_masked_mean():
    mask = mask_of_padding([[1, 3, 3], [1, 4, 3], [1, 4, 5]], 3)
    assert mask.astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    losses = np.array([[0.2, 9.0, 9.0], [0.3, 0.5, 9.0], [0.4, 0.4, 0.6]])
    assert masked_mean(losses, mask) == pytest.approx(0.4)  # by the 6 real words, not by 9 or by 3 rows


def test_the_mean_over_words_is_not_the_mean_of_batch_means():
    first, second = np.full((2, 4), 1.0), np.full((1, 2), 4.0)
    means = [masked_mean(losses, np.ones_like(losses, dtype=bool)) for losses in (first, second)]
    flat = np.concatenate([first.ravel(), second.ravel()])
    assert (np.mean(means), masked_mean(flat, np.ones(10, dtype=bool))) == (2.5, pytest.approx(1.6))


@pytest.mark.parametrize("padding", [0, 11])
def test_the_courses_pad_batch(padding):
    tokens, lengths = pad([[1, 2, 3], [4], [5, 6]], padding)
    assert tokens.tolist() == [[1, 2, 3], [4, padding, padding], [5, 6, padding]]
    assert lengths.tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: pad([]), "at least one sequence"),
        (lambda: pad([[1], [], [2]]), r"Sequence 1 \(counted from 0\) is empty"),
        (lambda: mask_of([3, 5], time=4), "'lengths' must lie in 1 to 4, the steps of the batch. Got 5"),
        (lambda: mask_of([3, 0]), "Got 0"),
        (lambda: masked_mean(np.ones(2), np.zeros(2, dtype=bool)), "every step is padding"),
        (lambda: masked_mean(np.ones(2), np.ones(3, dtype=bool)), "must have one shape"),
    ],
)
def test_what_torch_takes_in_silence_is_refused(call, told):
    with pytest.raises(UsageError, match=told):
        call()


sequences = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=6), min_size=1, max_size=20)


@given(sequences, st.randoms())
def test_batches_cut_out_of_a_flat_array_are_those_padded_row_by_row(rows, random):
    ragged = Ragged.of(rows)
    chosen = np.array([random.randrange(len(rows)) for _ in range(4)])
    tokens, lengths = ragged.batch(chosen)
    wanted, wanted_lengths = pad([rows[row] for row in chosen])
    assert (tokens.tolist(), lengths.tolist()) == (wanted.tolist(), wanted_lengths.tolist())
    assert ragged.flat(chosen).tolist() == [value for row in chosen for value in rows[row]]


@given(sequences, st.integers(1, 5), st.integers(0, 3))
def test_a_pass_has_every_row_once_and_rows_of_similar_length_together(rows, size, seed):
    lengths = Ragged.of(rows).lengths
    made = batches(lengths, size, np.random.default_rng(seed))
    assert sorted(np.concatenate(made).tolist()) == list(range(len(rows)))
    assert all(len(batch) <= size for batch in made)
    if len(rows) <= 20 * size:  # one pool: sorted as a whole
        spans = sorted((lengths[batch].min(), lengths[batch].max()) for batch in made)
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


def test_the_vocabulary_keeps_frequent_words_in_order_and_numbers_the_others_as_unknown():
    vocabulary = Vocabulary.of([["b", "a", "b", "c"], ["a", "b"]], minimum=2)
    assert vocabulary.words == ("<pad>", "<unk>", "b", "a")
    assert vocabulary.encode(["a", "c", "<pad>"]) == [3, 1, PADDING]
    assert len(Vocabulary.of([["b", "a", "b"]], largest=1)) == 3


def test_the_stand_in_is_the_same_for_the_same_seed_and_grows_at_its_end():
    assert make_reviews(5, 1) == make_reviews(9, 1)[:5]
    assert make_reviews(5, 1) != make_reviews(5, 2)


def test_the_label_of_the_stand_in_is_decided_as_it_says():
    """By rules written a second time: what counts is the last judgment, turned round by a negation before it."""
    for review in make_reviews(300, 3):
        tagged = list(enumerate(zip(review.words, review.tags, strict=True)))
        last = max(place for place, (word, tag) in tagged if tag == "ADJ" and word in POSITIVE + NEGATIVE)
        start = max(place for place, word in enumerate(review.words[:last]) if word in ("was", "seemed"))
        negated = {"not", "never"} & set(review.words[start:last])
        assert (review.label == "positive") == ((review.words[last] in POSITIVE) != bool(negated))
        assert len(review.words) == len(review.tags)


def test_words_of_the_stand_in_have_two_tags_that_need_the_word_behind_them():
    tags: dict[str, set[str]] = {}
    for review in make_reviews(500, 0):
        for word, tag in zip(review.words, review.tags, strict=True):
            tags.setdefault(word, set()).add(tag)
    assert tags["that"] == {"DET", "PRON"}
    assert tags["light"] == {"ADJ", "NOUN"}
    assert tags["play"] == {"NOUN", "VERB"}


def test_majority_and_most_frequent_tag_by_counting_sentences():
    task = TaggingTask(data="stand-in", examples=80)
    corpus = task.load()
    train, dev = make_reviews(2000, 0), make_reviews(500, 1)
    chosen = [train[int(place)] for place in np.linspace(0, 1999, 80).astype(int)]
    words = Counter(word for review in chosen for word in review.words)
    tags: dict[str, Counter[str]] = {}
    for review in chosen:
        for word, tag in zip(review.words, review.tags, strict=True):
            tags.setdefault(word if words[word] > 1 else "", Counter())[tag] += 1
    overall = Counter(tag for review in chosen for tag in review.tags).most_common(1)[0][0]
    right = total = common = 0
    for review in dev:
        for word, tag in zip(review.words, review.tags, strict=True):
            counted = tags[word] if words[word] > 1 else Counter([overall])
            # Equal counts: the label that is more frequent as a whole, which has the lower number.
            best = min((-count, corpus.labels.index(name)) for name, count in counted.items())[1]
            right, total, common = right + (corpus.labels[best] == tag), total + 1, common + (tag == overall)
    found = baselines("tagging", corpus)
    assert found["most frequent tag"]["dev"] == pytest.approx(right / total)
    assert found["majority"]["dev"] == pytest.approx(common / total)


def test_majority_of_classes_and_perplexities_by_their_formulas():
    corpus = ClassificationTask(data="stand-in", examples=100).load()
    most = Counter(corpus.train.outputs.tolist()).most_common(1)[0][0]
    wanted = np.mean([value == most for value in corpus.dev.outputs.tolist()])
    assert baselines("classification", corpus)["majority"]["dev"] == pytest.approx(wanted)
    language = LanguageTask(data="stand-in", examples=100).load()
    found = baselines("language-modeling", language)
    size = len(language.vocabulary) - 2  # neither padding nor the start can come next
    assert found["uniform"]["test"] == size
    counts = Counter(language.train.outputs.tolist())
    total = sum(counts.values()) + size
    logs = [np.log((counts[number] + 1) / total) for number in language.dev.outputs.tolist()]
    assert found["unigram"]["dev"] == pytest.approx(np.exp(-np.mean(logs)))
