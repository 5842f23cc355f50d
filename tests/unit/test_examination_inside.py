"""How much of an answer comes from its cue, by decomposition, on modules of which that is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rote.examination.inside import parts_share
from rote.examination.task import Items


class Sums(nn.Module):
    """Adds up a vector for each symbol, so that every symbol's share is plain."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(table, freeze=False)
        self.recurrent = nn.RNN(table.shape[1], table.shape[1], batch_first=True, nonlinearity="relu")
        self.readout = nn.Linear(table.shape[1], table.shape[1], bias=False)
        with torch.no_grad():
            for weight in self.recurrent.parameters():
                weight.zero_()
            for weight in (self.recurrent.weight_ih_l0, self.recurrent.weight_hh_l0, self.readout.weight):
                weight.copy_(torch.eye(table.shape[1]))

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.readout(self.recurrent(self.embedding(tokens))[0])
        return logits


def items(cue: list[int]) -> Items:
    """The answer 1 is asked for after four symbols."""
    tokens = np.array([[0, 1, 2, 2, 3]])
    targets, scored, deciding = np.full_like(tokens, -1), np.zeros(tokens.shape, bool), np.zeros(tokens.shape, bool)
    targets[0, 4], scored[0, 4], deciding[0, cue] = 1, True, True
    return Items(tokens, targets, scored, deciding)


def test_the_share_of_a_sum_is_that_of_its_terms():
    table = torch.zeros(4, 4)
    table[1, 1], table[2, 1], table[3, 1] = 3.0, 0.5, 1.0  # what a symbol adds to the answer
    model = Sums(table)
    assert parts_share(model, items([1])) == pytest.approx(3.0 / 5.0)
    assert parts_share(model, items([1, 4])) == pytest.approx(4.0 / 5.0)
    assert parts_share(model, items([])) is None
    assert parts_share(model, items([1, 2, 3, 4])) is None  # there is no rest
    assert next(model.parameters()).dtype == torch.float32  # nothing is left on the module


class Opaque(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.out = nn.Embedding(4, 8), nn.Linear(8, 4)

    def forward(self, tokens: Tensor) -> Tensor:
        values = self.embedding(tokens)
        mixed = torch.softmax(values @ values.mT, -1).cumsum(1) @ values
        logits: Tensor = self.out(torch.special.erfcx(mixed))
        return logits


def test_what_cannot_be_taken_apart_has_no_share():
    assert parts_share(Opaque(), items([1])) is None
