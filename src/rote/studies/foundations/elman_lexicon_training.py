"""The lecture's vanilla RNN language models; and what is measured on them, on Elman's networks, and without a network:
prediction, tree of the words' mean states, tokens, a word that was never seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rote.analyses import trace
from rote.analyses.clustering import ClusterTree, cluster
from rote.models import LanguageModelConfig, StackedLanguageModel
from rote.models.fitting import fitted
from rote.store import Table
from rote.studies.foundations import published
from rote.studies.foundations.elman_lexicon import LexiconMeasurement, WordModelRecipe
from rote.studies.foundations.elman_lexicon_tables import (
    COLUMNS,
    COUNTS,
    GRAMMAR,
    LINKAGE,
    MODEL,
    TREES,
    WITH_UNSEEN,
    tree_name,
)
from rote.studies.foundations.elman_tables import NETWORK, SEED, TRAINED
from rote.studies.foundations.elman_training import Predict, Prediction, losses_over_training, predictors
from rote.tasks.elman import Stream
from rote.tasks.elman_lexicon import UNSEEN, WORDS, Grammar, grammar
from rote.training import Program, choose_device

if TYPE_CHECKING:
    from rote.recipes import Trained

ROWS = 10  # in which a stream is read by a language model, each from a state of zeros
LINKAGES = (LINKAGE, "ward")
REPLACED = "man"  # by the unseen word, in Figure 8
SPLIT = ("boy", "girl")  # Figure 9
Row = dict[str, Any]
Means = Mapping[str, NDArray[np.float64]]  # of each word


class WordModels(Program):
    """Language models of one layer, truncated backpropagation through columns of the stream."""

    stacked = True
    model: StackedLanguageModel

    def __init__(self, recipe: WordModelRecipe, seeds: Sequence[int], device: str) -> None:
        settings, length = recipe.language_model, recipe.task.length
        self.replicas, self.device = len(seeds), choose_device(device)
        self.bptt, self.steps = settings.bptt, settings.updates(length)
        self.model = word_models(recipe, seeds).to(self.device)
        size = length // settings.columns * settings.columns
        columns = [np.resize(recipe.task.training(seed).symbols, size) for seed in seeds]
        self.columns = torch.from_numpy(np.stack(columns)).view(len(seeds), settings.columns, -1).to(self.device)

    def losses(self, step: int) -> Tensor:
        within = step % self.steps
        if within == 0:
            self.model.carry(None)
        piece = self.columns[:, :, within * self.bptt :][:, :, : self.bptt + 1]
        losses, state = self.model.losses(piece[..., :-1], piece[..., 1:], self.model.carried)
        self.model.carry(state)
        return losses

    def measure(self) -> dict[str, Any]:
        """The loss on the first words of each column."""
        piece = self.columns[:, :, :101]
        start = self.model.cell.zero_state(*piece.shape[:2])
        return {"loss": self.model.losses(piece[..., :-1], piece[..., 1:], start)[0].tolist()}


def word_models(recipe: WordModelRecipe, seeds: Sequence[int]) -> StackedLanguageModel:
    """Before training."""
    settings, names = recipe.language_model, len(WORDS) + 1
    model = LanguageModelConfig(cell=settings.cell, embedding=names, hidden=settings.hidden)
    return StackedLanguageModel(names, model, seeds, torch.float32, settings.columns)


def reopened(trained: Trained, weights: Mapping[str, Any]) -> StackedLanguageModel:
    """The language models of a finished training with these weights."""
    settings, seeds = trained.recipe.language_model, trained.seeds
    widest = settings.hidden if settings.cell == "elman" else 1  # other cells may have no recurrent matrix
    sizes = (len(seeds) * settings.hidden * other for other in (widest, settings.columns))
    return fitted(lambda: word_models(trained.recipe, seeds), weights, trained.run.folder, *sizes)


@torch.no_grad()
def predictions(model: StackedLanguageModel, streams: Sequence[Stream]) -> list[Prediction]:
    """Of each language model on its stream, which is read in rows."""
    return [_prediction(model, index, stream) for index, stream in enumerate(streams)]


def _prediction(model: StackedLanguageModel, index: int, stream: Stream) -> Prediction:
    time = (len(stream.symbols) - 1) // ROWS
    tokens = torch.from_numpy(stream.symbols[: time * ROWS]).view(ROWS, time).to(model.readout.device)
    traced = trace(model.replica(index), tokens)
    assert traced.logits is not None
    chances = traced.logits.softmax(-1).flatten(0, 1).cpu().numpy() @ stream.codes
    return Prediction(beginning(stream, time * ROWS + 1), chances, traced.hidden[0].flatten(0, 1).cpu().numpy())


def by_grammar(source: Grammar, streams: Sequence[Stream]) -> list[Prediction]:
    """What is predicted by someone who knows the templates and their words: the best there is."""
    following, predicted = source.continuations(), []
    for stream in streams:
        so_far, chances = tuple[int, ...](), []
        for symbol, place in zip(stream.symbols[:-1].tolist(), stream.place.tolist(), strict=False):
            so_far = (*so_far, symbol) if place else (symbol,)
            chances.append(following[so_far])
        predicted.append(Prediction(stream, np.stack(chances) @ stream.codes[: len(source.words)]))
    return predicted


def measured(asked: LexiconMeasurement, trained: Trained, device: str) -> list[Table]:
    """The tables of language models; or those of Elman's networks, of the same before training, of counts and of the
    grammar, with the loss of the first over training."""
    task = trained.recipe.task
    whole = [task.training(seed) for seed in trained.seeds]
    read = [beginning(stream, asked.read) for stream in whole]
    if isinstance(trained.recipe, WordModelRecipe):
        models = reopened(trained, trained.weights()).to(choose_device(device))
        return _tables(trained.seeds, whole, read, {MODEL: partial(predictions, models)})
    networks: dict[str, Predict] = {**predictors(trained, (2,)), GRAMMAR: partial(by_grammar, grammar(task.classes))}
    return [losses_over_training(trained, read), *_tables(trained.seeds, whole, read, networks)]


def _tables(
    seeds: Sequence[int], whole: Sequence[Stream], read: Sequence[Stream], networks: Mapping[str, Predict]
) -> list[Table]:
    likelihoods = [likelihood(stream) for stream in whole]
    changed, human = [with_unseen(stream) for stream in read], published.LEXICON_GROUPS["human"]
    rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    trees: list[Table] = []
    for name, predict in networks.items():
        has_states = name not in (COUNTS, GRAMMAR)
        of_changed = predict(changed) if has_states else [None] * len(seeds)
        for index, (seed, new, strange) in enumerate(zip(seeds, predict(read), of_changed, strict=True)):
            labels = {"network": name, "seed": seed}
            quality = prediction_row(new, likelihoods[index])
            rows["prediction"].append({**labels, "words": len(whole[index].symbols), **quality})
            if name == GRAMMAR:
                continue
            means = neighbors(whole[index]) if name == COUNTS else mean_states(new)
            rows["groups"] += [{**labels, **row} for row in group_rows(means, published.LEXICON_GROUPS)]
            if index == 0:
                trees.append(_dendrogram(name, seed, means))
            if strange is not None:
                rows["tokens"].append({**labels, **token_row(new)})
                strangers = mean_states(strange)
                rows["unseen"].append({**labels, **unseen_row(strangers, human)})
                if index == 0 and name == TRAINED:
                    trees.append(_dendrogram(WITH_UNSEEN, seed, strangers))
    columns = COLUMNS.items()
    made = [Table.make(name, name, (NETWORK, SEED, *own), rows[name], details=True) for name, own in columns]
    return [*made, *trees]


def beginning(stream: Stream, words: int | None) -> Stream:
    return stream if words is None else replace(stream, symbols=stream.symbols[:words], place=stream.place[:words])


def with_unseen(stream: Stream) -> Stream:
    """The unseen word in all places of one that was seen (Figure 8)."""
    old, new = stream.names.index(REPLACED), stream.names.index(UNSEEN)
    return replace(stream, symbols=np.where(stream.symbols == old, new, stream.symbols))


def likelihood(stream: Stream) -> NDArray[np.float64]:
    """How often each word follows what has been said of the sentence (p. 198), the best that can be predicted: after
    each word of the stream but the last, in the code of the outputs."""
    symbols, place, size = stream.symbols, stream.place, len(stream.names)
    so_far = symbols.copy()
    for depth in range(1, int(place.max()) + 1):
        inside = np.flatnonzero(place == depth)
        so_far[inside] += (so_far[inside - 1] + 1) * size
    _, which = np.unique(so_far[:-1], return_inverse=True)
    counts = np.zeros((which.max() + 1, size))
    np.add.at(counts, (which, symbols[1:]), 1.0)
    shares = counts / counts.sum(1, keepdims=True)
    return np.asarray(shares[which] @ stream.codes)


def prediction_row(prediction: Prediction, likelihood: NDArray[np.float64]) -> Row:
    """How far the outputs are from the actual next words and from their likelihood."""
    outputs, error = prediction.outputs, prediction.error
    wanted = likelihood[: len(outputs)]
    squared = np.square(outputs - wanted).sum(1)
    cosine = (outputs * wanted).sum(1) / (np.linalg.norm(outputs, axis=1) * np.linalg.norm(wanted, axis=1))
    return {
        "error": float(np.sqrt(error.mean())), "squared": float(error.mean()),
        "cosine": float(cosine.mean()), "cosine_sd": float(cosine.std()),
        "likelihood": float(squared.mean()), "likelihood_sd": float(squared.std()),
    }  # fmt: skip


def mean_states(prediction: Prediction) -> dict[str, NDArray[np.float64]]:
    """The hidden units of each word, averaged over its occurrences."""
    assert prediction.hidden is not None
    symbols = prediction.stream.symbols[: len(prediction.hidden)]
    return {
        name: prediction.hidden[symbols == number].mean(0, dtype=np.float64)
        for number, name in enumerate(prediction.stream.names)
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


def tree_of(means: Means, linkage: str = LINKAGE) -> ClusterTree:
    return cluster(torch.from_numpy(np.stack(list(means.values()))), list(means), method=linkage)


def group_rows(means: Means, groups: Mapping[str, Sequence[str]]) -> list[Row]:
    """Of every named branch: is it one here, with these words and no others, and how like is the likest."""
    rows = []
    for linkage in LINKAGES:
        tree = tree_of(means, linkage)
        for group, words in groups.items():
            likeness = tree.nearest_group(words)[1]
            rows.append({"linkage": linkage, "group": group, "exact": float(likeness == 1.0), "likeness": likeness})
    return rows


def token_row(prediction: Prediction) -> Row:
    """Is every occurrence of a word nearest to the mean of its own word, and of its own place in the sentence?"""
    hidden, stream = prediction.hidden, prediction.stream
    assert hidden is not None
    means, names = mean_states(prediction), stream.names
    words = [name for name in WORDS if name in means]
    symbols, place = (values[: len(hidden)] for values in (stream.symbols, stream.place))
    nearest = _nearest(hidden, np.stack([means[word] for word in words]))
    own = np.array([names.index(word) for word in words])[nearest] == symbols
    right = []
    for word in SPLIT:
        chosen = symbols == names.index(word)
        states, later = hidden[chosen], (place[chosen] > 0).astype(np.int64)
        if 0 < later.sum() < len(later):
            centers = np.stack([states[later == side].mean(0) for side in (0, 1)])
            right.append(_nearest(states, centers) == later)
    return {"own": float(own.mean()), "place": float(np.concatenate(right).mean()) if right else None}


def _nearest(points: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.int64]:
    distances = np.square(centers).sum(1) - 2.0 * points @ centers.T  # without what all centers share
    return np.asarray(distances.argmin(1))


def unseen_row(means: Means, kin: Sequence[str]) -> Row:
    """Where the unseen word stands: the words nearest to it, and those of the branch that it joins."""
    others = [name for name in means if name != UNSEEN]
    order = np.argsort([float(np.linalg.norm(means[name] - means[UNSEEN])) for name in others])
    nearest = [others[index] for index in order[:3]]
    around = [group for group in tree_of(means).groups if UNSEEN in group and len(group) > 1]
    joined = min(around, key=len) - {UNSEEN}
    return {
        "nearest": ", ".join(nearest), "nearest_kin": float(nearest[0] in kin),
        "branch": ", ".join(sorted(map(str, joined))), "joins_kin": float(joined <= set(kin)),
    }  # fmt: skip


def _dendrogram(network: str, seed: int, means: Means) -> Table:
    table, (title, place) = tree_of(means).to_table(), TREES[network]
    note = f"Seed {seed}. Linkage: average. {table.note}"
    return replace(table, name=tree_name(network, seed), title=title, place=place, note=note)
