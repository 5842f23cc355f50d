"""Stacked language models compute what a plain torch model computes, replica by replica, with the same gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rote.cells import LSTMCell, run_stacked, stack
from rote.cells.lstm_training import run_lstm
from rote.errors import UsageError
from rote.models import LanguageModelConfig, StackedLanguageModel
from rote.models.symbol_loss import readout_losses
from rote.testing import check_model

CELLS = ("lstm", "gru", "elman", "nested_lstm")
F64 = torch.float64


def made(
    cell: str = "lstm", seeds: Any = (3, 4, 5), symbols: int = 7, batch: int = 4, **rest: Any
) -> StackedLanguageModel:
    config = LanguageModelConfig(cell=cell, embedding=5, hidden=6, **rest)
    return StackedLanguageModel(symbols, config, seeds, F64, batch)


def drawn(*shape: int, symbols: int = 7) -> Tensor:
    return torch.randint(0, symbols, shape, generator=torch.Generator().manual_seed(0))


def state_of(model: StackedLanguageModel) -> tuple[Tensor, ...]:
    random = torch.Generator().manual_seed(1)
    return tuple(torch.rand(value.shape, generator=random, dtype=F64) - 0.5 for value in model.carried)


def torchs_own(model: StackedLanguageModel, index: int) -> tuple[nn.Embedding, Any, nn.Linear]:
    """torch's modules with the weights of one replica."""
    kind = {"LSTMCell": nn.LSTM, "GRUCell": nn.GRU, "ElmanCell": nn.RNN}[type(model.cell).__name__]
    embedding, recurrent, readout = nn.Embedding(7, 5), kind(5, 6, batch_first=True), nn.Linear(6, 7)
    with torch.no_grad():
        for name, weight in model.cell.named_parameters():
            getattr(recurrent, f"{name}_l0").copy_(weight[index])
        embedding.weight.copy_(model.embedding[index])
        readout.weight.copy_(model.readout[index])
        readout.bias.copy_(model.readout_bias[index])
    return embedding.double(), recurrent.double(), readout.double()


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("cell", CELLS[:3])
@pytest.mark.parametrize("time", [1, 3, 9])  # the vocabulary of 7 is longer and shorter than a batch
def test_losses_states_and_gradients_are_those_of_torchs_own_modules(cell: str, replicas: int, time: int) -> None:
    model = made(cell, range(replicas), batch=2)
    with torch.no_grad():
        model.readout_bias.uniform_(-1, 1)
    tokens, start = drawn(replicas, 2, time + 1), state_of(model)
    losses, end = model.losses(tokens[..., :-1], tokens[..., 1:], start)
    losses.sum().backward()
    for index in range(replicas):
        embedding, recurrent, readout = torchs_own(model, index)
        initial = tuple(value[index : index + 1] for value in start)
        hidden, last = recurrent(embedding(tokens[index, :, :-1]), initial if cell == "lstm" else initial[0])
        loss = cross_entropy(readout(hidden).flatten(0, 1), tokens[index, :, 1:].flatten())
        loss.backward()
        torch.testing.assert_close(losses[index], loss)
        for mine, theirs in zip(end, last if cell == "lstm" else [last], strict=True):
            torch.testing.assert_close(mine[index], theirs[0])
        pairs = {"embedding": embedding.weight, "readout": readout.weight, "readout_bias": readout.bias}
        pairs |= {f"cell.{name}": getattr(recurrent, f"{name}_l0") for name, _ in model.cell.named_parameters()}
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None
            torch.testing.assert_close(parameter.grad[index], pairs[name].grad, msg=name)


@pytest.mark.parametrize("cell", CELLS)
def test_a_replica_does_not_depend_on_its_neighbors_or_its_place(cell: str) -> None:
    together, tokens = made(cell, (8, 3, 5)), drawn(3, 4, 10)
    losses, _ = together.losses(tokens[..., :-1], tokens[..., 1:], together.carried)
    for index, seed in enumerate((8, 3, 5)):
        alone = made(cell, (seed,))
        for mine, other in zip(alone.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(mine[0], other[index], rtol=0, atol=0)
        piece = tokens[index : index + 1]
        torch.testing.assert_close(alone.losses(piece[..., :-1], piece[..., 1:], alone.carried)[0][0], losses[index])


@pytest.mark.parametrize("cell", CELLS)
def test_one_replica_as_a_model_for_the_analyses_gives_the_same_logits(cell: str) -> None:
    model, tokens = made(cell), drawn(3, 4, 6)
    logits, _ = model(tokens)
    for index in range(3):
        single = model.replica(index)
        torch.testing.assert_close(single(tokens[index]), logits[index])
        check_model(single)
        before = single.readout.weight.clone()
        with torch.no_grad():
            model.readout.add_(1)
        torch.testing.assert_close(single.readout.weight, before)  # a copy: training goes on without it
        with torch.no_grad():
            model.readout.sub_(1)
    assert model.replica(0, torch.float32).readout.weight.dtype == torch.float32


def test_written_out_backpropagation_is_autograds() -> None:
    torch.manual_seed(0)
    cell = stack([LSTMCell(5, 6).double() for _ in range(3)])
    inputs, start = torch.randn(3, 4, 7, 5, dtype=F64), tuple(torch.randn(3, 4, 6, dtype=F64) for _ in range(2))
    weights = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
    above = torch.randn(3, 4, 7, 6, dtype=F64)
    expected, (_, last) = run_stacked(cell, inputs, start)
    wanted = torch.autograd.grad((expected * above).sum(), weights)
    table = torch.baddbmm(cell.bias[:, None], inputs.flatten(1, 2), cell.weight_ih.mT).flatten(0, 1)
    entries = torch.arange(3 * 4 * 7).view(3, 4, 7).transpose(1, 2).flatten(1)
    packed, end = run_lstm(table, entries, cell.weight_hh, *start, sizes=[4] * 7)
    found = packed.view(3, 7, 4, 6).transpose(1, 2)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(end, last)
    got = torch.autograd.grad((found * above).sum(), weights)
    for mine, theirs in zip(got, wanted, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("symbols", [3, 1002])
def test_losses_of_a_readout_in_one_array_are_torchs_with_its_gradients(symbols: int) -> None:
    torch.manual_seed(0)
    shapes, targets = [(2, 300, 5), (2, symbols, 5), (2, symbols)], drawn(2, 300, symbols=symbols)
    values = [(torch.randn(shape, dtype=F64) * 9).requires_grad_() for shape in shapes]
    logits = torch.stack([nn.functional.linear(*(value[replica] for value in values)) for replica in range(2)])
    expected = cross_entropy(logits.mT, targets, reduction="none").mean(1)
    found = readout_losses(*values, targets)
    torch.testing.assert_close(found, expected)
    weights = torch.tensor([3.0, -2.0], dtype=F64)
    wanted = torch.autograd.grad((weights * expected).sum(), values)
    for mine, theirs in zip(torch.autograd.grad((weights * found).sum(), values), wanted, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_the_loss_of_a_hopeless_symbol_does_not_underflow() -> None:
    hidden, weight = torch.tensor([[[1.0]]]), torch.tensor([[[500.0], [0.0]]])
    loss = readout_losses(hidden, weight, torch.zeros(1, 2), torch.tensor([[1]]))
    torch.testing.assert_close(loss, torch.tensor([500.0]))


@pytest.mark.parametrize("replicas", [1, 2])
def test_two_pieces_with_the_state_carried_between_them_are_one(replicas: int) -> None:
    model, tokens = made(seeds=range(replicas)), drawn(replicas, 4, 11)
    whole, _ = model(tokens)
    model.carry(None)
    parts = []
    for piece in (tokens[..., :5], tokens[..., 5:]):
        logits, state = model(piece, model.carried)
        model.carry(state)
        parts.append(logits)
    torch.testing.assert_close(torch.cat(parts, dim=2), whole)
    assert all(not value.requires_grad for value in model.carried)
    names = {name for name, _ in model.named_buffers()}
    assert names == {"carried_hidden", "carried_cell"} <= set(model.state_dict())
    model.carry(None)
    assert all(bool((value == 0).all()) for value in model.carried)


def test_weights_start_as_in_the_published_program() -> None:
    model = StackedLanguageModel(1002, LanguageModelConfig(), [0], torch.float32, 20)
    assert model.embedding.shape == model.readout.shape == (1, 1002, 200)
    for weight, limit in ((model.embedding, 0.1), (model.readout, 0.1), (model.cell.weight_hh, 200**-0.5)):
        assert 0.99 * limit < float(weight.detach().abs().max()) <= limit
        assert abs(float(weight.detach().mean())) < 0.001
    assert not model.readout_bias.any()
    uniform = StackedLanguageModel(9, LanguageModelConfig(cell_limit=0.02), [0], torch.float32)
    assert float(uniform.cell.weight_hh.detach().abs().max()) <= 0.02


def test_a_seed_is_the_same_network_in_either_precision_and_leaves_torchs_random_state() -> None:
    before = torch.get_rng_state()
    single, double = (StackedLanguageModel(9, LanguageModelConfig(), [5], kind) for kind in (torch.float32, F64))
    assert torch.equal(torch.get_rng_state(), before)
    for one, other in zip(single.parameters(), double.parameters(), strict=True):
        assert torch.equal(one, other.float())


@pytest.mark.parametrize("replicas", [1, 2])
def test_dropout_is_on_in_training_only(replicas: int) -> None:
    model, tokens = made(seeds=range(replicas), dropout=0.5), drawn(replicas, 4, 9)
    assert not torch.equal(model(tokens)[0], model(tokens)[0])
    model.eval()
    assert torch.equal(model(tokens)[0], model(tokens)[0])
    torch.testing.assert_close(model(tokens)[0], made(seeds=range(replicas))(tokens)[0])


@pytest.mark.parametrize("wrong", [{"hidden": 0}, {"embedding": 0}, {"limit": -1.0}, {"dropout": 1.0}])
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"'{next(iter(wrong))}'"):
        LanguageModelConfig(**wrong)
