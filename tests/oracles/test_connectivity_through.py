"""Connectivity through a model's own forward pass: equal to ``connectivity`` where both are possible, and beyond."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from result_checks import assert_draws
from torch import Tensor, nn

from rote.analyses import connectivity, connectivity_through
from rote.errors import UsageError
from rote.models.sequence import adapt
from rote.testing.untouched import untouched

INPUT, HIDDEN, TIME, OUTPUTS = 3, 4, 6, 5


class Own(nn.Module):
    """Modules that ``adapt`` can also take, behind a forward pass that Rote sees nothing of."""

    def __init__(self, kind: str, both: bool, vocabulary: int = 7) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, INPUT)
        module: Any = getattr(nn, kind)
        self.recurrent = module(INPUT, HIDDEN, num_layers=2, bidirectional=both, batch_first=True)
        self.readout = nn.Linear(HIDDEN * (2 if both else 1), OUTPUTS)
        self.double()

    def forward(self, vectors: Tensor) -> Tensor:
        outputs: Tensor = self.readout(self.recurrent(vectors)[0])
        return outputs

    def adapted(self) -> Any:
        return adapt(recurrent=self.recurrent, embedding=self.embedding, readout=self.readout)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("both", [False, True], ids=["forward", "both ways"])
def test_it_equals_connectivity_for_every_question_so_no_copy_is_asked_about_another_ones_output(
    kind: str, both: bool
) -> None:
    model = Own(kind, both)
    tokens, lengths = torch.randint(7, (4, TIME)), torch.tensor([6, 2, 6, 1])
    vectors = model.embedding(tokens).detach()
    chunks = iter((1, 2, 3, 5, 8, 32) * 2)
    for norm in ("l2", "squared", "signed"):
        for of in ("logit", "log_probability"):
            for table in (None, model.embedding):
                expected = connectivity(
                    model.adapted(), tokens, lengths=lengths, wrt="embedding" if table is None else "one_hot",
                    norm=norm, of=of,
                )  # fmt: skip
                with untouched(model):
                    found = connectivity_through(
                        model, vectors, lengths=lengths, embedding=table, norm=norm, of=of,
                        causal=not both, chunk=next(chunks),
                    )  # fmt: skip
                    assert torch.allclose(found.values, expected.values, rtol=1e-11, atol=1e-14)
                    assert float(found.error.max()) < 1e-11
                assert torch.equal(found.targets, expected.targets)
                assert torch.equal(found.mask, expected.mask)
                assert (found.wrt, found.causal) == (expected.wrt, expected.causal)
                assert (found.values[expected.values == 0] == 0).all()


@pytest.mark.parametrize("vocabulary", [2, 7, 50])
def test_given_targets_and_any_vocabulary(vocabulary: int) -> None:
    model = Own("GRU", False, vocabulary)
    tokens, targets = torch.randint(vocabulary, (2, TIME)), torch.randint(OUTPUTS, (2, TIME))
    expected = connectivity(model.adapted(), tokens, targets)
    vectors = model.embedding(tokens)
    for table in (model.embedding, model.embedding.weight):
        found = connectivity_through(model, vectors, targets, embedding=table)
        assert torch.allclose(found.values, expected.values, rtol=1e-11, atol=1e-14)
        assert torch.equal(found.targets, targets)
    assert len(assert_draws(found)) > 1000


def test_a_model_that_is_not_recurrent_at_all_against_its_own_jacobian() -> None:
    convolution = nn.Conv1d(INPUT, OUTPUTS, 3, padding=1).double()

    def forward(vectors: Tensor) -> Tensor:
        outputs: Tensor = convolution(vectors.transpose(1, 2)).transpose(1, 2).tanh()
        return outputs

    vectors = torch.randn(1, TIME, INPUT, dtype=torch.float64)
    targets = torch.randint(OUTPUTS, (1, TIME))
    with torch.no_grad():
        found = connectivity_through(forward, vectors, targets)
    jacobian: Tensor = torch.autograd.functional.jacobian(forward, vectors)[0, :, :, 0]
    expected = jacobian[torch.arange(TIME), targets[0]].norm(dim=-1)
    assert torch.allclose(found.values[0], expected, atol=1e-14)
    assert (found.values[0, 0, 2:] == 0).all()


def test_the_error_shows_a_model_that_looks_ahead_though_it_was_called_causal_and_one_that_mixes_its_batch() -> None:
    vectors = torch.randn(2, TIME, INPUT, dtype=torch.float64)
    ahead = connectivity_through(Own("GRU", True), vectors, causal=True)
    assert float(ahead.error.max()) > 1e-3
    mixing = connectivity_through(lambda x: x + x.mean(0, keepdim=True), vectors)
    assert float(mixing.error.max()) > 1e-3


def wrong(message: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(UsageError) as raised:
        connectivity_through(*arguments, **options)
    assert message in str(raised.value)


def test_wrong_input_is_refused_with_the_argument_the_value_and_the_remedy() -> None:
    model = Own("LSTM", False)
    vectors = torch.randn(2, TIME, INPUT, dtype=torch.float64)
    targets = torch.zeros(2, TIME, dtype=torch.long)
    tokens = torch.randint(7, (2, TIME))
    wrong("Got torch.int64 (2, 6). Tokens are embedded first: vectors = embedding(tokens).", model, tokens)
    wrong("'vectors' is empty: (0, 6, 3).", model, vectors[:0])
    wrong("'vectors' has NaN or infinite values, the first at (0, 0, 0);", model, vectors / 0)
    narrow = torch.ones(7, 4)
    wrong(
        "must be [vocabulary, input=3], as wide as 'vectors'. Got the shape (7, 4).", model, vectors, embedding=narrow
    )
    wrong("'chunk' must be a whole number of at least 1. Got 0.", model, vectors, chunk=0)
    wrong("'targets' must lie in 0 to 4, the outputs of the model. Got 5.", model, vectors, targets + 5)
    wrong("'lengths' must lie in 1 to 6, the steps of the tensor. Got 7.", model, vectors, lengths=[7, 2])
    wrong("here [1, 6, output]. Got tuple. An nn.LSTM gives its states as well", model.recurrent, vectors)
    wrong("here [1, 6, output]. Got torch.float64 (1, 3).", lambda x: x[:, -1], vectors)
    wrong("'forward' gives NaN for the first sequence", lambda x: x * float("nan"), vectors)
    wrong("'norm' must be 'l2', 'squared' or 'signed'. Got 'l1'.", model, vectors, norm="l1")
