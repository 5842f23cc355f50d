"""Blocks, attention and the readout behind a norm against torch's own modules, and taken apart. All in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import rote
from rote.cells import AttentionCell, Block, Recurrent, unroll
from rote.errors import UsageError
from rote.models import BlocksConfig, Readout, SequenceModel

UNITS, TIME, BATCH = 6, 9, 2


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def spread(module: nn.Module) -> None:
    """Norms too must not stay at one."""
    with torch.no_grad():
        for index, weight in enumerate(module.parameters()):
            weight.copy_(0.5 * drawn(*weight.shape, seed=index))


def test_a_block_is_norm_convolution_mixer_gate_sum_and_mlp_of_torch() -> None:
    block = Block(UNITS, UNITS, mixer="min_gru", conv=3, gate=True, mlp=5, bend="gelu", size=4).double()
    spread(block)
    x, weights = drawn(BATCH, TIME, UNITS), {name: weight.detach() for name, weight in block.named_parameters()}
    n = functional.rms_norm(x, (UNITS,), weights["norm_weight"], block.eps)
    kernel = weights["weight_conv"][:, None]
    u = functional.conv1d(functional.pad(n.mT, (2, 0)), kernel, weights["bias_conv"], groups=UNITS).mT
    inner = Recurrent([block.inner])
    y = inner(functional.silu(u))[0] * functional.silu(n @ weights["weight_gate"].T)
    h = x + y @ weights["weight_out"].T
    m = functional.rms_norm(h, (UNITS,), weights["mlp_norm_weight"], block.eps)
    bent = functional.gelu(m @ weights["weight_up"].T) * (m @ weights["weight_side"].T)
    expected = h + bent @ weights["weight_down"].T
    torch.testing.assert_close(Recurrent([block])(x)[0], expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(unroll(block, x, block.zero_state(BATCH)).states["hidden"], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("longest", [4, 20])
def test_attention_is_that_of_torch_over_the_last_steps(longest: int) -> None:
    cell = AttentionCell(3, UNITS, heads=2, longest=longest).double()
    spread(cell)
    x = drawn(BATCH, TIME, 3)
    given = functional.linear(x, cell.weight_ih, cell.bias_ih)
    q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in given.split(UNITS, -1))
    age = torch.arange(TIME)[:, None] - torch.arange(TIME)
    seen = (age >= 0) & (age < longest)
    by_age = cell.weight_age.flip(0)[age.clamp(0, longest - 1)].movedim(-1, 0).masked_fill(~seen, -torch.inf)
    mixed = functional.scaled_dot_product_attention(q, k, v, by_age).transpose(1, 2).flatten(-2)
    expected = mixed @ cell.weight_out.T
    torch.testing.assert_close(unroll(cell, x, cell.zero_state(BATCH)).states["hidden"], expected, rtol=0, atol=1e-12)


def test_a_part_of_attention_is_what_its_positions_give_at_the_probabilities_of_all() -> None:
    cell = AttentionCell(3, UNITS, heads=2, longest=TIME, biases="none").double()
    spread(cell)
    x = drawn(1, TIME, 3)
    model = SequenceModel(Recurrent([cell]))
    parts = rote.decompose(model, x, [(2, 3)], at=-1)
    shares = rote.trace(model, x).gates[0]["attention"][0, -1].view(TIME, 2)
    values = (x @ cell.weight_ih[2 * UNITS :].T)[0].unflatten(-1, (2, -1))  # [time, head, number]
    expected = (shares[2:4, :, None] * values[2:4]).sum(0).flatten() @ cell.weight_out.T
    torch.testing.assert_close(parts.relevant[0, 0, 0], expected.detach(), rtol=0, atol=1e-12)


MODELS: dict[str, dict[str, Any]] = {
    "mamba": {"mixer": "s6"},
    "griffin": {"mixer": "rg_lru", "heads": 2, "mlp": 7, "tied": True, "cap": 3.0},
    "transformer": {"mixer": "attention", "heads": 2, "mlp": 7, "norm": "layer", "longest": 32},
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_stack_of_blocks_connects_as_autograd_says_and_its_parts_sum(kind: str) -> None:
    model = BlocksConfig(width=UNITS, **MODELS[kind]).build(8, dtype=torch.float64)
    assert isinstance(model, SequenceModel)
    tokens = torch.randint(8, (BATCH, 12), generator=torch.Generator().manual_seed(3))
    found = rote.connectivity(model, tokens)
    one_hot = functional.one_hot(tokens, 8).double().requires_grad_()
    hidden, _ = model.recurrent(one_hot @ model.embedding_matrix())
    logits = model.readout(hidden)  # type: ignore[misc]
    for row, step in ((0, 11), (1, 5)):
        chosen = logits[row, step, found.targets[row, step]]
        (gradient,) = torch.autograd.grad(chosen, one_hot, retain_graph=True)
        torch.testing.assert_close(found.values[row, step], gradient[row].norm(dim=-1), rtol=0, atol=1e-10)
    parts = rote.decompose(model, tokens, [(0, 11), (3, 5), (11, 11)])
    assert float(parts.error.max()) < 1e-10
    assert float(parts.irrelevant[:, 0].abs().max()) < 1e-12
    both = parts.logits() + parts.logits(irrelevant=True) + parts.baseline_logits()[:, None]
    cap = MODELS[kind].get("cap")
    both = both if cap is None else cap * torch.tanh(both / cap)
    torch.testing.assert_close(both, logits.detach()[:, None].expand_as(both), rtol=0, atol=1e-10)


@pytest.mark.parametrize("norm", [None, nn.RMSNorm(UNITS), nn.LayerNorm(UNITS), nn.LayerNorm(UNITS, bias=False)])
def test_a_readout_is_its_linear_map_of_the_state_over_its_norm(norm: Any) -> None:
    readout = Readout(nn.Linear(UNITS, 5), norm).double()
    spread(readout)
    states = drawn(3, UNITS, seed=9)
    weight, bias = readout.linear_map()
    torch.testing.assert_close(readout(states), functional.linear(states * readout.inverse_norm(states), weight, bias))


def test_logits_of_parts_are_saved_with_the_norm(tmp_path: Any) -> None:
    model = BlocksConfig(mixer="min_gru", width=UNITS).build(8, dtype=torch.float64)
    parts = rote.decompose(model, torch.tensor([[1, 2, 3]]), [(0, 1)])
    parts.save(tmp_path / "parts")
    again = type(parts).load(tmp_path / "parts")
    assert torch.equal(again.logits(bias=True), parts.logits(bias=True))


def test_what_makes_no_readout_and_no_block_is_refused() -> None:
    with pytest.raises(UsageError, match="'norm' must be over the 6 features"):
        Readout(nn.Linear(6, 2), nn.RMSNorm(5))
    with pytest.raises(UsageError, match="'cap' must be above 0"):
        Readout(nn.Linear(6, 2), cap=-1.0)
    with pytest.raises(UsageError, match="'heads' must divide the 6 units"):
        AttentionCell(6, 6, heads=4)
    with pytest.raises(UsageError, match="'conv' and 'mlp' must be at least 0"):
        Block(6, 6, conv=-1)
