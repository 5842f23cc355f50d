"""Learners that are no networks: what they count, that the rote learner is the zero of every score, what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from rote.errors import UsageError
from rote.examination import battery, kept_profile
from rote.examination.checks import check_learner
from rote.examination.fitted import NGram, RoteLearner, answers, bits
from rote.examination.learners import enter
from rote.examination.memorizer import memorizer_accuracy
from rote.examination.task import accuracy


def test_an_ngram_is_that_of_witten_and_bell_counted_by_hand():
    random = np.random.default_rng(3)
    tokens, targets = random.integers(0, 4, (30, 6)), random.integers(0, 4, (30, 6))
    targets[random.random(targets.shape) < 0.5] = -1
    asked = random.integers(0, 4, (5, 6))
    found = NGram(4, order=3).fit(tokens, targets).probabilities(asked)

    def chance(context: tuple[int, ...], symbol: int) -> float:
        """By the recursion, from the whole training set."""
        if context == (None,):
            return 1 / 4
        seen = Counter(
            int(target)
            for row, wanted in zip(tokens, targets, strict=True)
            for place, target in enumerate(wanted)
            if target >= 0 and _before(row, place, len(context)) == context
        )
        shorter = chance(context[1:] if context else (None,), symbol)  # type: ignore[arg-type]  # below no context
        return (seen[symbol] + len(seen) * shorter) / (sum(seen.values()) + len(seen)) if seen else shorter

    for row in range(5):
        for place in range(6):
            context = _before(asked[row], place, 2)
            wanted = [chance(context, symbol) for symbol in range(4)]
            assert found[row, place] == pytest.approx(wanted, abs=1e-12)
    assert np.allclose(found.sum(-1), 1.0)


def _before(row: np.ndarray, place: int, size: int) -> tuple[int, ...]:
    """The last symbols up to here, 4 before the beginning."""
    padded = [4] * size + [int(one) for one in row]
    return tuple(padded[place + 1 : place + 1 + size])


def test_the_rote_learner_has_the_answers_of_the_memorizer_that_makes_the_zero():
    task = battery["conduit"]()
    drawn = task.draw(1)
    learner = RoteLearner(len(task.symbols)).fit(drawn.train.tokens, drawn.train.targets)
    wanted = memorizer_accuracy(task, drawn)
    for name, items in (("known", drawn.known), ("new", drawn.new)):
        assert accuracy(answers(learner, items, exact=task.exact), items, exact=task.exact) == wanted[name]
    memory = battery["memory"]().draw(0).train
    own = RoteLearner(33).fit(memory.tokens, memory.targets)
    assert bits(own, memory) == pytest.approx(4 * len(memory))
    assert bits(NGram(33, order=1).fit(memory.tokens, memory.targets), memory) < 0.05 * 4 * len(memory)


def test_the_kept_rote_learner_knows_everything_and_scores_nowhere_above_zero():
    profile = kept_profile("rote")
    assert profile is not None
    assert profile.bits is not None
    assert profile.bits.value == 6000
    for name, task in profile.tasks.items():
        assert all(run["known"] == 1.0 for run in task.runs), name
        if task.is_test:
            assert max(task.scores.values()) <= 1e-9, name
    assert profile.score is not None
    assert profile.score.value == 0
    assert not profile.with_outcome("rule", "partly", "not learned")


class Uniform:
    def __init__(self, symbols: int) -> None:
        self.symbols = symbols

    def fit(self, tokens: np.ndarray, targets: np.ndarray) -> None: ...

    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        return np.full((*tokens.shape, self.symbols), 1 / self.symbols)


class Ahead(Uniform):
    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        return np.eye(self.symbols)[np.roll(tokens, -1, 1)]


class Unnormed(Uniform):
    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        return super().probabilities(tokens) * 2


class Flat(Uniform):
    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        return super().probabilities(tokens)[:, 0]


class Narrow(Uniform):
    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        return np.ones((*tokens.shape, 1))


class Broken(Uniform):
    def fit(self, tokens: np.ndarray, targets: np.ndarray) -> None:
        raise ZeroDivisionError("no items")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Ahead, "looks ahead"),
        (Unnormed, "sum to 1"),
        (Flat, r"must be \[item, time, symbol\]"),
        (Narrow, "must have 33 symbols. Got 1"),
        (Broken, "ZeroDivisionError: no items"),
        (lambda symbols: 7, "must give an nn.Module, or an object with 'fit' and 'probabilities'. Got int"),
    ],
)
def test_an_object_that_cannot_be_fitted_is_refused_in_one_line(kind: Any, told: str):
    name = f"fitted:{getattr(kind, '__name__', 'x')}_{id(kind)}"
    enter(name, kind)
    with pytest.raises(UsageError, match=told) as error:
        check_learner(name)
    assert "\n" not in str(error.value)


def test_a_uniform_learner_is_taken_and_has_no_bits():
    enter("fitted:uniform", Uniform)
    assert check_learner("fitted:uniform") == 0
    memory = battery["memory"]().draw(0).train
    assert bits(Uniform(33), memory) == pytest.approx(0.0, abs=1e-9)
