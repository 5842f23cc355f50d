"""Learners that are no networks: they count or keep the training items, and have no weights and no learning rate.

``make(vocabulary_size)`` gives an object with two methods, in NumPy:

- ``fit(tokens, targets)``: the training items [item, time]; targets are ``NOTHING`` (-1) where nothing is asked;
- ``probabilities(tokens)``: of each symbol after what was read so far, [item, time, symbol].

Two come with Rote: ``ngram``, and ``rote``, the rote learner itself.
"""

from __future__ import annotations

import math
import time
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError
from rote.examination.asking import tables_of
from rote.examination.forms import Form, drawn_as
from rote.examination.memorizer import Memorizer
from rote.examination.task import NOTHING, BatteryTask, Integers, Items, accuracy
from rote.store import Table

Floats = NDArray[np.float64]
ORDER = 5  # symbols of an n-gram, the answer included


@runtime_checkable
class Fitted(Protocol):
    def fit(self, tokens: Integers, targets: Integers) -> object: ...

    def probabilities(self, tokens: Integers) -> Floats: ...


class NGram:
    """Answers counted behind the last symbols, 0 to 4 of them, interpolated as Witten and Bell (1991) do: the more
    different answers a context had, the more it leaves to the shorter one."""

    def __init__(self, symbols: int, order: int = ORDER) -> None:
        self.symbols, self.order = symbols, order
        self.counted: list[tuple[Integers, Floats]] = []  # contexts, sorted, and their counts [context, symbol]

    def fit(self, tokens: Integers, targets: Integers) -> NGram:
        asked = targets != NOTHING
        self.counted = []
        for size in range(self.order):
            contexts, which = np.unique(self._contexts(tokens, size)[asked], return_inverse=True)
            counts = np.zeros((len(contexts), self.symbols))
            np.add.at(counts, (which, targets[asked]), 1.0)
            self.counted.append((contexts, counts))
        return self

    def probabilities(self, tokens: Integers) -> Floats:
        chances = np.full((*tokens.shape, self.symbols), 1 / self.symbols)
        for size, (contexts, counts) in enumerate(self.counted):
            numbers = self._contexts(tokens, size)
            place = np.minimum(np.searchsorted(contexts, numbers), len(contexts) - 1)
            seen = contexts[place] == numbers
            own = counts[place[seen]]
            kinds = (own > 0).sum(-1, keepdims=True)
            chances[seen] = (own + kinds * chances[seen]) / (own.sum(-1, keepdims=True) + kinds)
        return chances

    def _contexts(self, tokens: Integers, size: int) -> Integers:
        """The last ``size`` symbols at every place as one number; before the beginning stands a symbol of its own."""
        begun = np.pad(tokens, [(0, 0), (size, 0)], constant_values=self.symbols)
        length = tokens.shape[1]
        numbers = np.zeros(tokens.shape, np.int64)
        for back in range(size):
            numbers = numbers * (self.symbols + 1) + begun[:, size - back : size - back + length]
        return numbers


class RoteLearner:
    """The rote learner of the battery. Of its three ways that one counts which is best on the items that are asked,
    more than a memorizer can know: no memory of the training items alone scores higher."""

    def __init__(self, symbols: int) -> None:
        self.symbols = symbols

    def fit(self, tokens: Integers, targets: Integers) -> RoteLearner:
        asked = targets != NOTHING
        self.memorizer = Memorizer(Items(tokens, targets, asked, np.zeros(tokens.shape, bool)))
        return self

    def probabilities(self, tokens: Integers) -> Floats:
        """By the longest suffix that occurred in training, which gives every training answer back."""
        everywhere = np.ones(tokens.shape, bool)
        answers = self.memorizer.backoff(Items(tokens, np.zeros_like(tokens), everywhere, ~everywhere))
        return np.eye(self.symbols)[answers]

    def best(self, items: Items, *, exact: bool) -> Integers:
        ways = self.memorizer.answers(items).values()
        return max(ways, key=lambda answers: accuracy(answers, items, exact=exact))


def answers(learner: Fitted, items: Items, *, exact: bool) -> Integers:
    """The most probable symbol at every place [item, time]."""
    if isinstance(learner, RoteLearner):
        return learner.best(items, exact=exact)
    return np.asarray(checked(learner, items.tokens).argmax(-1))


def checked(learner: Fitted, tokens: Integers) -> Floats:
    """The probabilities that a learner gives, refused where they are none."""
    chances = np.asarray(learner.probabilities(tokens))
    name = type(learner).__name__
    if chances.ndim != 3 or chances.shape[:2] != tokens.shape:
        raise UsageError(
            f"'probabilities' of {name} must be [item, time, symbol] for tokens {list(tokens.shape)}. Got "
            f"{list(chances.shape)}."
        )
    if not (np.isfinite(chances).all() and (chances >= 0).all() and np.allclose(chances.sum(-1), 1.0, atol=1e-4)):
        raise UsageError(f"'probabilities' of {name} must be at least 0 and sum to 1 over the symbols.")
    return chances


def bits(learner: Fitted, items: Items) -> float:
    """What is known of random labels, more than chance tells: at most the logarithm of their number for each."""
    labels = np.unique(items.targets[items.scored])
    chances = checked(learner, items.tokens)[items.scored][:, labels]
    own = chances[np.arange(len(chances)), np.searchsorted(labels, items.targets[items.scored])]
    share = own / np.maximum(chances.sum(1), np.finfo(float).tiny)
    with np.errstate(divide="ignore"):
        return float(np.maximum(0.0, math.log2(len(labels)) + np.log2(share)).sum())


def measured(name: str, learner: Fitted, task: BatteryTask, seed: int, form: Form = "all") -> list[Table]:
    """All that a profile is made of, of a learner that is fitted to the training items of a seed."""
    drawn = drawn_as(task, seed, form)
    begun = time.process_time()
    learner.fit(drawn.train.tokens, drawn.train.targets)
    told = {
        "parameters": 0, "steps": 0, "seconds": time.process_time() - begun,
        "bits": bits(learner, drawn.train) if task.dimension == "memory" else None,
    }  # fmt: skip
    labels = {"learner": name, "task": task.name, "seed": seed, "rate": 0.0}
    return tables_of(labels, task, drawn, lambda items: answers(learner, items, exact=task.exact), told)
