"""Attribution methods against what each promises, written out by hand, and against captum where it is installed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import rote
from rote import court
from rote.analyses import methods
from rote.cells import Recurrent
from rote.errors import UnknownNameError, UsageError
from rote.models.sequence import SequenceModel

CELLS = ["elman", "gru", "gru_before", "lstm", "peephole_lstm", "nested_lstm", "min_gru", "min_lstm", "rg_lru", "s6"]


def model_of(cell: str, layers: int = 1, bidirectional: bool = False) -> SequenceModel:
    torch.manual_seed(3)
    recurrent = Recurrent(cell, 3, 5, layers=layers, bidirectional=bidirectional)
    return SequenceModel(recurrent, nn.Embedding(7, 3), nn.Linear(recurrent.output_size, 4)).double()


TOKENS = torch.tensor([[1, 5, 2, 6, 0], [3, 3, 0, 4, 2]])


@pytest.mark.parametrize("cell", CELLS)
def test_deeplift_shares_out_all_of_the_output_in_every_cell(cell: str) -> None:
    """A missing operation, or one whose slope is the gradient's, leaves something over."""
    for model in (model_of(cell), model_of(cell, layers=2, bidirectional=True)):
        found = rote.attribute(model, TOKENS, "deeplift", at=3)
        assert (found.sum_error < 1e-9 * found.values.abs().sum(1)).all()


@pytest.mark.parametrize("method", ["integrated_gradients", "shapley"])
def test_complete_methods_are_complete(method: str) -> None:
    found = rote.attribute(model_of("lstm"), TOKENS, method)
    assert (found.sum_error <= 0.01 * found.total.abs() + 1e-9).all()


def test_integrated_gradients_find_the_jumps_of_a_saturated_network() -> None:
    model = court.compile("latch", "gru", saturation=12)
    tokens = torch.from_numpy(model.program.strings(4, 8, 8))
    found = rote.attribute(model, tokens, "integrated_gradients")
    assert found.sum_error.max() < 0.02
    plain = rote.attribute(model, tokens, "gradient_input")
    assert plain.sum_error.max() > 0.5


def test_of_a_model_that_adds_up_all_methods_agree() -> None:
    """A minGRU in whose gates no input has a say is linear in its inputs."""
    torch.manual_seed(0)
    recurrent = Recurrent("min_gru", 3, 4, form="plain")
    with torch.no_grad():
        recurrent.cell(0).weight_ih[4:] = 0.0  # the rows of the gate
    model = SequenceModel(recurrent, nn.Embedding(7, 3), nn.Linear(4, 2)).double()
    expected = rote.erase(model, TOKENS, target=1).alone
    for name in (name for name in methods if methods[name].__module__.startswith("rote.")):
        if name not in ("connectivity", "lrp") and not name.startswith("decomposition_"):  # these share out biases
            found = rote.attribute(model, TOKENS, name, target=1).values
            assert torch.allclose(found, expected, atol=1e-8), name


def test_relevance_of_an_lstm_is_that_of_the_published_rules() -> None:
    """Arras et al. 2017, step by step backward: a product's source takes all, sums share by their addends."""
    model = model_of("lstm")
    cell, eps = model.recurrent.cell(0), 1e-3
    x = model.embed(TOKENS).detach()
    seen, h, c = [], torch.zeros(2, 5).double(), torch.zeros(2, 5).double()
    for t in range(5):
        z = x[:, t] @ cell.weight_ih.T + h @ cell.weight_hh.T + cell.bias
        i, f, o = (torch.sigmoid(z[:, part]) for part in (slice(0, 5), slice(5, 10), slice(15, 20)))
        g, old, before = torch.tanh(z[:, 10:15]), c, h
        c = f * c + i * g
        h = o * torch.tanh(c)
        seen.append((before, old, i, f, z[:, 10:15], g, c))
    assert model.linear_readout is not None
    relevance = model.linear_readout.weight[2] * h  # of every unit of the last state
    expected, of_c = torch.zeros(2, 5).double(), torch.zeros(2, 5).double()
    for t in reversed(range(5)):
        before, old, i, f, z, g, c = seen[t]
        share = relevance * c / (c + eps * torch.where(c >= 0, 1, -1))  # what epsilon takes away
        of_c = of_c + share
        of_g = of_c * i * g / c
        slope = of_g / (z + eps * torch.where(z >= 0, 1, -1))
        expected[:, t] = ((slope @ cell.weight_ih[10:15]) * x[:, t]).sum(1)
        relevance = (slope @ cell.weight_hh[10:15]) * before
        of_c = of_c * f * old / c
    found = rote.attribute(model, TOKENS, "lrp", target=2).values
    assert torch.allclose(found, expected.detach(), atol=1e-9)


class Unrolled(nn.Module):
    """Three steps of an Elman network with a module for each squashing, as captum wants it."""

    def __init__(self, model: SequenceModel) -> None:
        super().__init__()
        self.model, self.first, self.second, self.third = model, nn.Tanh(), nn.Tanh(), nn.Tanh()

    def forward(self, vectors: Tensor) -> Tensor:
        cell = self.model.recurrent.cell(0)
        h = torch.zeros(len(vectors), 5).double()
        for t, squash in enumerate((self.first, self.second, self.third)):
            h = squash(vectors[:, t] @ cell.weight_ih.T + h @ cell.weight_hh.T + cell.bias)
        return self.model.read(h)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_deeplift_and_gradients_are_captums() -> None:
    attr = pytest.importorskip("captum.attr", reason="captum is not installed: pip install captum")
    model = model_of("elman").requires_grad_(False)
    vectors, unrolled = model.embed(TOKENS[:, :3]).detach(), Unrolled(model)
    theirs = {
        "deeplift": attr.DeepLift(unrolled).attribute(vectors.clone().requires_grad_(), target=1),
        "gradient_input": attr.InputXGradient(unrolled).attribute(vectors.clone().requires_grad_(), target=1),
        "integrated_gradients": attr.IntegratedGradients(unrolled).attribute(vectors, target=1, n_steps=200),
    }
    for name, values in theirs.items():
        ours = rote.attribute(model, TOKENS[:, :3], name, target=1).values
        near = 2e-3 if name == "integrated_gradients" else 1e-9
        assert torch.allclose(ours, values.sum(-1).detach(), atol=near), name


def test_sequences_of_other_lengths_are_explained_as_they_are_alone() -> None:
    model = model_of("gru")
    for name in ("decomposition", "deeplift", "two", "integrated_gradients", "connectivity"):
        padded = rote.attribute(model, TOKENS, name, lengths=[5, 3])
        alone = rote.attribute(model, TOKENS[1:, :3], name)
        assert torch.allclose(padded.values[1, :3], alone.values[0]), name
        assert not padded.values[1, 3:].any()


def test_a_model_that_was_not_adapted_is_asked_through_its_forward_pass() -> None:
    torch.manual_seed(0)
    table, gru, linear = nn.Embedding(7, 3).double(), nn.GRU(3, 5, batch_first=True).double(), nn.Linear(5, 4).double()
    model = rote.adapt(recurrent=gru, embedding=table, readout=linear)

    def forward(tokens: Tensor) -> Tensor:
        return linear(gru(table(tokens))[0])

    for name in ("two", "shapley", "gradient_input", "integrated_gradients"):
        ours = rote.attribute(model, TOKENS, name, at=2).values
        assert torch.allclose(rote.attribute(forward, TOKENS, name, at=2, embedding=table).values, ours), name
    with pytest.raises(UsageError, match="needs 'arithmetic' of a model"):
        rote.attribute(forward, TOKENS, "deeplift", embedding=table)


def test_a_method_of_ones_own_takes_its_place_in_ten_lines() -> None:
    def my_saliency(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
        vectors = model.embed(tokens).detach().requires_grad_()
        hidden, _ = model.recurrent(vectors)
        chosen = model.read(hidden[:, at]).gather(1, target[:, None])
        return (torch.autograd.grad(chosen.sum(), vectors)[0] * vectors).sum(-1)

    model = model_of("lstm")
    found = rote.attribute(model, TOKENS, my_saliency)
    assert found.method == "my_saliency"
    assert torch.allclose(found.values, rote.attribute(model, TOKENS, "gradient_input").values)


def test_wrong_methods_are_told_in_one_line() -> None:
    model = model_of("lstm")
    with pytest.raises(UnknownNameError, match=r"Unknown method 'deeplfit'. Did you mean 'deeplift'"):
        rote.attribute(model, TOKENS, "deeplfit")
    with pytest.raises(UsageError, match=r"The method 'short' must give numbers \[batch=2, time=5\]. Got .* \(2, 4\)"):
        rote.attribute(model, TOKENS, short)
    with pytest.raises(UsageError, match="The method 'lost' gives nan at step 1 of sequence 0"):
        rote.attribute(model, TOKENS, lost)


def short(*_: Any) -> Tensor:
    return torch.zeros(2, 4)


def lost(*_: Any) -> Tensor:
    return torch.tensor([[0.0, torch.nan, 0, 0, 0], [0.0] * 5])
