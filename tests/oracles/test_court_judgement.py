"""The court itself on trial: a method that knows the truth must win everything, and one that guesses must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rote import court
from rote.analyses import unsigned, with_sets
from rote.court.dockets import own_truth
from rote.court.learning import Learning, learn, solved
from rote.court.scores import MEASURES, per_string
from rote.errors import UnknownNameError, UsageError

SMALL: dict[str, Any] = {"programs": ["latch", "and"], "cells": ["gru", "lstm"], "dockets": ["compiled"], "strings": 8}


def pairs_of_truth(model: Any, tokens: Tensor, at: int, target: Tensor, masks: Tensor) -> Tensor:
    """A quadratic game that has the interactions and values of the truth."""
    known = court.truth(model.program, tokens.numpy())
    single, both = torch.from_numpy(known.shapley), torch.from_numpy(known.interactions)
    inside = masks.double()
    return (inside * single[:, None]).sum(-1) + ((inside @ both) * inside).sum(-1) / 2


@with_sets(pairs_of_truth)
def oracle(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    return torch.from_numpy(court.truth(model.program, tokens.numpy()).shapley)


@unsigned
def deciding(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    return torch.from_numpy(court.truth(model.program, tokens.numpy()).used).double()


def guess(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(tokens.shape, generator=generator).double()


@pytest.fixture(scope="module")
def verdict() -> court.Verdict:
    return court.judge([oracle, deciding, guess, "two"], **SMALL)


def row_of(verdict: court.Verdict, method: str) -> dict[str, Any]:
    (row,) = verdict.summary.where(method=method).records()
    return row


def test_a_method_that_knows_the_truth_is_perfect(verdict: court.Verdict) -> None:
    found = row_of(verdict, "oracle")
    for measure in ("direction", "sign", "interactions"):
        assert found[measure] == pytest.approx(1)
    for measure in ("size", "completeness", "dummy", "codings"):
        assert found[measure] == pytest.approx(0, abs=1e-9)
    assert found["direction low"] == found["direction high"] == pytest.approx(1)


def test_sizes_are_asked_only_where_they_lie(verdict: court.Verdict) -> None:
    found = row_of(verdict, "deciding")
    assert found["mass"] == found["rank"] == 1
    assert found["direction"] is found["completeness"] is None


def test_one_that_guesses_is_at_chance_and_known_not_to_be_complete(verdict: court.Verdict) -> None:
    found = row_of(verdict, "guess")
    assert abs(found["direction"]) < 0.3
    assert 0.3 < found["rank"] < 0.7
    assert found["completeness"] > 1
    low, high = found["direction low"], found["direction high"]
    assert low < found["direction"] < high
    assert high - low > 0.05


def test_the_tables_have_a_row_for_everything(verdict: court.Verdict) -> None:
    assert len(verdict.cases.rows) == 4 * 4  # networks times methods
    assert len(verdict.programs.rows) == 4 * 2
    assert set(MEASURES) <= set(verdict.summary.names)
    methods = set(verdict.examples.column("method"))
    assert methods == {"truth", "oracle", "deciding", "guess", "two"}
    drawn = verdict.figure("rank").spec()
    assert len(drawn["datasets"]["rows"]) == 4 * 2
    assert "oracle" in repr(verdict)


def test_what_a_cell_cannot_hold_is_left_out_and_told() -> None:
    found = court.judge("two", programs=["latch", "parity"], cells=["min_gru"], dockets=["compiled"], strings=4)
    assert found.cases.column("program") == ["latch"]
    assert len(found.left_out) == 1
    assert "min_gru cannot hold 'parity'" in found.left_out[0]


def test_scores_of_hand_made_attributions() -> None:
    known = court.truth("latch", "+.-,")  # only the last write decides; the first adds to sets without it
    values = np.array([[0.0, 0.0, -1.0, 0.0]])
    found = per_string(values, known, 2.0, signed=True)
    assert known.shapley[0].tolist() == pytest.approx([0.5, 0, -1.5, 0])
    assert found["mass"][0] == found["rank"][0] == 1
    assert found["direction"][0] == pytest.approx(1.5 / np.sqrt(2.5))
    assert found["size"][0] == pytest.approx(np.sqrt(0.5) / np.sqrt(2.5))
    assert found["sign"][0] == pytest.approx(0.75)
    assert found["completeness"][0] == 0
    assert found["largest"][0] == 0.5


@pytest.mark.parametrize("cell", ["elman"])
def test_a_trained_network_is_right_on_every_deletion_of_new_strings(cell: str) -> None:
    program = court.programs["or"]
    model = court.trained(program, cell, seed=3)
    tokens = program.strings(123, 6, 8)
    assert solved(model, program, tokens, near=0.4)
    again = court.trained(program, cell, seed=3)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    own, exact = own_truth(model, program, tokens), court.truth(program, tokens)
    assert (own.used == exact.used).all()
    assert np.abs(own.shapley - exact.shapley).max() < 0.4


def test_a_network_that_never_learns_is_told() -> None:
    assert learn(court.programs["parity"], "gru", 0, Learning(steps=2)) is None
    with pytest.raises(UsageError, match="gru has not learned 'parity' from seed 0"):
        court.trained("parity", "gru", settings=Learning(steps=2))


def test_wrong_questions_are_told_in_one_line() -> None:
    with pytest.raises(UnknownNameError, match="Unknown method 'twoo'"):
        court.judge("twoo", **SMALL)
    with pytest.raises(UnknownNameError, match="Unknown program 'lach'"):
        court.judge("two", **SMALL | {"programs": ["lach"]})
    with pytest.raises(UnknownNameError, match="Unknown compiled cell 'lsmt'"):
        court.judge("two", **SMALL | {"cells": ["lsmt"]})
    with pytest.raises(UsageError, match=r"'dockets' are compiled and trained. Got 'long'"):
        court.judge("two", **SMALL | {"dockets": ["long"]})
    with pytest.raises(UsageError, match="'length' in 2 to 12"):
        court.judge("two", **SMALL | {"length": 13})
    with pytest.raises(UsageError, match="The method 'two' is named twice"):
        court.judge(["two", "two"], **SMALL)
    with pytest.raises(UsageError, match=r"The method 'broken' must give numbers \[batch=8, time=8\]. Got float"):
        court.judge(broken, **SMALL)


def broken(*_: Any) -> float:
    return 0.0
