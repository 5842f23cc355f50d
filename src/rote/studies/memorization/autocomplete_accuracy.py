"""What is known of the test text: by an autocomplete model, as source 003 measured it and as it should be measured; and
by counting alone.

The source's accuracy by known characters has two defects. It goes on counting known characters in the padding of its
batches of 16, where no word is asked for: the denominators of its stored curves differ between models on one test set.
And words outside the vocabulary, which no model can name, count as errors: that alone makes the curves fall at the end.
``as_published`` has both; ``corrected`` has neither, with the words outside the vocabulary apart in ``outside``.

Without memory one can still suggest the most frequent words that begin with the letters that are there. A model that
does no better than this at k known characters makes no use of the text before the word.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rote.models import AutocompleteModel
from rote.models.many_words import losses_and_ranks
from rote.tasks.alphabet import SPACE
from rote.tasks.autocomplete import PADDING, UNKNOWN, Batch, Observations, Split

KNOWN, TOP = 22, 3  # the source's curves are for 0 to 21 known characters and 1 to 3 suggestions
BATCH = 16  # of the source's accuracy by known characters
TOGETHER = 8 * BATCH  # observations that are computed at once
COUNTED = 1024  # observations that are counted at once


@dataclass(frozen=True)
class Hits:
    """Counts, so that proportions and their intervals can be made of any of them."""

    hits: NDArray[np.int64]  # [top - 1, known]: targets among the 1, 2, 3 most probable words
    positions: NDArray[np.int64]  # [known]: characters with so many characters of their word known

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """[top - 1, known]; NaN where there are no positions."""
        with np.errstate(invalid="ignore"):
            return self.hits / np.where(self.positions == 0, np.nan, self.positions)


@dataclass(frozen=True)
class Evaluation:
    cross_entropy: float  # as published: mean over observations of the mean over their words of the vocabulary
    accuracy: float  # as published: over all characters, those of words outside the vocabulary too
    corrected_accuracy: float  # over the characters of words of the vocabulary
    mean_loss: float  # cross entropy over the characters of words of the vocabulary
    observations: int
    characters: int
    as_published: Hits
    corrected: Hits
    outside: Hits  # words outside the vocabulary; a hit is "<unknown>" among the most probable


def evaluate(
    model: AutocompleteModel, text: Observations, split: Split = "test", most: int | None = None
) -> Evaluation:
    """On all observations of a part of the text, or the first ``most``; exact, whatever softmax was trained with."""
    with torch.no_grad():
        read = [_read(model, batch) for batch in text.batches(split, TOGETHER, most)]
    losses = [row for batch in read for row in batch.losses]
    rank = np.concatenate([batch.rank for batch in read])
    known = np.concatenate([batch.known for batch in read])
    target = np.concatenate([batch.target for batch in read])
    real, inside, unknown = target != PADDING, target > UNKNOWN, target == UNKNOWN
    return Evaluation(
        cross_entropy=float(np.mean([row.mean() for row in losses if len(row)])),
        accuracy=float((rank[real] == 0).mean()),
        corrected_accuracy=float((rank[inside] == 0).mean()),
        mean_loss=float(np.concatenate(losses).mean()),
        observations=len(losses),
        characters=int(real.sum()),
        as_published=_hits(rank, known),
        corrected=_hits(rank[inside], known[inside]),
        outside=_hits(rank[unknown], known[unknown]),
    )


@dataclass(frozen=True)
class _Read:
    """A batch, one number for each character and for the padding that the source would have had."""

    rank: NDArray[np.int64]  # of the target among the outputs, 0 is the most probable
    known: NDArray[np.int64]
    target: NDArray[np.int64]
    losses: list[NDArray[np.float64]]  # for each observation, those of words of the vocabulary


def _read(model: AutocompleteModel, batch: Batch) -> _Read:
    states = model.packed_states(batch)
    weight, bias = model.readout.weight, model.readout.bias
    loss, rank = losses_and_ranks(states.hidden, weight, bias, states.targets)
    # After the end of a row the source's state is zero, so that the dense layer's bias alone decides.
    ranks = np.full(batch.tokens.shape, int((bias > bias[PADDING]).sum()))
    losses = np.zeros(batch.tokens.shape)
    places = states.packing.places
    ranks[places], losses[places] = rank.cpu().numpy(), loss.double().cpu().numpy()
    step = np.arange(batch.tokens.shape[1])
    known = step - np.maximum.accumulate(np.where(batch.tokens == SPACE, step, 0), 1)
    longest = np.repeat(
        [rows.max() for rows in np.split(batch.lengths, range(BATCH, len(batch.lengths), BATCH))], BATCH
    )
    padded = step < longest[: len(batch.lengths), None]
    counted = batch.targets > UNKNOWN
    return _Read(
        ranks[padded],
        known[padded],
        batch.targets[padded],
        [row[used] for row, used in zip(losses, counted, strict=True)],
    )


def _hits(rank: NDArray[np.int64], known: NDArray[np.int64]) -> Hits:
    positions = np.bincount(known, minlength=KNOWN)[:KNOWN]
    hits = [np.bincount(known[rank <= top], minlength=KNOWN)[:KNOWN] for top in range(TOP)]
    return Hits(np.stack(hits), positions)


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


def prefix_hits(text: Observations, most: int | None) -> Hits:
    """Of the most frequent words with the known letters, on words of the vocabulary in the test text."""
    first = UNKNOWN + 1
    ranks = prefix_ranks(text.vocabulary[first:], text.frequencies[first:])
    hits, positions = np.zeros((TOP, KNOWN), np.int64), np.zeros(KNOWN, np.int64)
    for word, count in enumerate(counts_in_test(text, most)[first:].tolist()):
        for k, rank in enumerate(ranks[word][:KNOWN]):
            positions[k] += count
            hits[rank:, k] += count
    return Hits(hits, positions)


def counts_in_test(text: Observations, most: int | None) -> NDArray[np.int64]:
    """[output]: how often each is a word of the test text."""
    counts = np.zeros(len(text.vocabulary), np.int64)
    for batch in text.batches("test", COUNTED, most):
        counts += np.bincount(batch.targets[batch.tokens == SPACE], minlength=len(counts))
    return counts


def frequency_loss(text: Observations, most: int | None) -> float:
    """Cross entropy per character of the test text, in nats, of knowing only how frequent words are: the plateau."""
    first = UNKNOWN + 1
    length = np.array([len(word) + 1 for word in text.vocabulary[first:]])
    expected, seen = (counts[first:] * length for counts in (text.frequencies, counts_in_test(text, most)))
    chances = expected / expected.sum()
    there = seen > 0
    return float(-(seen[there] * np.log(chances[there])).sum() / seen.sum())
