"""What is measured on networks that predict words of Elman's sentences: prediction, tree, tokens, an unseen word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rote.analyses.clustering import ClusterTree, cluster
from rote.store import Table
from rote.studies.foundations.elman_training import Prediction
from rote.tasks.elman import Stream
from rote.tasks.elman_lexicon import UNSEEN, WORDS, Grammar

LINKAGES = ("average", "ward")
REPLACED = "man"  # by the unseen word, in Figure 8
SPLIT = ("boy", "girl")  # Figure 9
Row = dict[str, Any]


@dataclass(frozen=True)
class Likelihood:
    """How often each word follows what has been said of the sentence (p. 198): the best that can be predicted."""

    stream: Stream

    @cached_property
    def vectors(self) -> NDArray[np.float64]:
        """After each word of the stream but the last, in the code of the outputs."""
        symbols, place, size = self.stream.symbols, self.stream.place, len(self.stream.names)
        so_far = symbols.copy()
        for depth in range(1, int(place.max()) + 1):
            inside = np.flatnonzero(place == depth)
            so_far[inside] += (so_far[inside - 1] + 1) * size
        _, which = np.unique(so_far[:-1], return_inverse=True)
        counts = np.zeros((which.max() + 1, size))
        np.add.at(counts, (which, symbols[1:]), 1.0)
        shares = counts / counts.sum(1, keepdims=True)
        return np.asarray(shares[which] @ self.stream.codes)


def by_grammar(stream: Stream, source: Grammar) -> Prediction:
    """What is predicted by someone who knows the templates and their words: the best there is."""
    following, so_far, found = source.continuations(), tuple[int, ...](), []
    for symbol, place in zip(stream.symbols[:-1].tolist(), stream.place.tolist(), strict=False):
        so_far = (*so_far, symbol) if place else (symbol,)
        found.append(following[so_far])
    return Prediction(stream, np.stack(found) @ stream.codes[: len(source.words)])


def prediction_row(found: Prediction, likelihood: NDArray[np.float64]) -> Row:
    wanted = likelihood[: len(found.outputs)]
    squared = np.square(found.outputs - wanted).sum(1)
    lengths = np.linalg.norm(found.outputs, axis=1) * np.linalg.norm(wanted, axis=1)
    cosine = (found.outputs * wanted).sum(1) / lengths
    return {
        "error": float(np.sqrt(found.error.mean())), "squared": float(found.error.mean()),
        "cosine": float(cosine.mean()), "cosine_sd": float(cosine.std()),
        "likelihood": float(squared.mean()), "likelihood_sd": float(squared.std()),
    }  # fmt: skip


def mean_states(found: Prediction) -> dict[str, NDArray[np.float64]]:
    """The hidden units of each word, averaged over its occurrences."""
    assert found.hidden is not None
    symbols = found.stream.symbols[: len(found.hidden)]
    return {
        name: found.hidden[symbols == number].mean(0, dtype=np.float64)
        for number, name in enumerate(found.stream.names)
        if (symbols == number).any()
    }


def neighbors(stream: Stream) -> dict[str, NDArray[np.float64]]:
    """Without a network: how often each word stands before and behind a word."""
    size = len(stream.names)
    counts = np.zeros((2, size, size))
    np.add.at(counts[0], (stream.symbols[1:], stream.symbols[:-1]), 1.0)
    np.add.at(counts[1], (stream.symbols[:-1], stream.symbols[1:]), 1.0)
    shares = counts / np.maximum(counts.sum(2, keepdims=True), 1.0)
    return {name: np.concatenate(shares[:, number]) for number, name in enumerate(stream.names) if name != UNSEEN}


def tree(means: Mapping[str, NDArray[np.float64]], linkage: str) -> ClusterTree:
    return cluster(torch.from_numpy(np.stack(list(means.values()))), list(means), method=linkage)


def group_rows(means: Mapping[str, NDArray[np.float64]], groups: Mapping[str, Sequence[str]]) -> list[Row]:
    """Of every named branch: is it one here, with these words and no others, and how like is the likest."""
    rows = []
    for linkage in LINKAGES:
        made = tree(means, linkage)
        for group, words in groups.items():
            likeness = made.nearest_group(words)[1]
            rows.append({"linkage": linkage, "group": group, "exact": float(likeness == 1.0), "likeness": likeness})
    return rows


def token_row(found: Prediction) -> Row:
    """Is every occurrence of a word nearest to the mean of its own word, and of its own place in the sentence?"""
    assert found.hidden is not None
    means, names = mean_states(found), found.stream.names
    words = [name for name in WORDS if name in means]
    symbols, place = (values[: len(found.hidden)] for values in (found.stream.symbols, found.stream.place))
    nearest = _nearest(found.hidden, np.stack([means[word] for word in words]))
    own = np.array([names.index(word) for word in words])[nearest] == symbols
    right = []
    for word in SPLIT:
        chosen = symbols == names.index(word)
        states, later = found.hidden[chosen], (place[chosen] > 0).astype(np.int64)
        if 0 < later.sum() < len(later):
            centers = np.stack([states[later == side].mean(0) for side in (0, 1)])
            right.append(_nearest(states, centers) == later)
    return {"own": float(own.mean()), "place": float(np.concatenate(right).mean()) if right else None}


def with_unseen(stream: Stream) -> Stream:
    """The unseen word in all places of one that was seen (Figure 8)."""
    old, new = stream.names.index(REPLACED), stream.names.index(UNSEEN)
    return replace(stream, symbols=np.where(stream.symbols == old, new, stream.symbols))


def unseen_row(means: Mapping[str, NDArray[np.float64]], kin: Sequence[str]) -> Row:
    """Where the unseen word stands: the words nearest to it, and those of the branch that it joins."""
    others = [name for name in means if name != UNSEEN]
    order = np.argsort([float(np.linalg.norm(means[name] - means[UNSEEN])) for name in others])
    nearest = [others[index] for index in order[:3]]
    made = tree(means, LINKAGES[0])
    joined = min((group for group in made.groups if UNSEEN in group and len(group) > 1), key=len) - {UNSEEN}
    return {
        "nearest": ", ".join(nearest), "nearest_kin": float(nearest[0] in kin),
        "branch": ", ".join(sorted(map(str, joined))), "joins_kin": float(joined <= set(kin)),
    }  # fmt: skip


def dendrogram(means: Mapping[str, NDArray[np.float64]], name: str, title: str, place: str, note: str) -> Table:
    made = tree(means, LINKAGES[0]).to_table()
    return replace(made, name=name, title=title, place=place, note=f"{note} Linkage: average. {made.note}")


def _nearest(points: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.int64]:
    distances = np.square(centers).sum(1) - 2.0 * points @ centers.T  # without what all centers share
    return np.asarray(distances.argmin(1))
