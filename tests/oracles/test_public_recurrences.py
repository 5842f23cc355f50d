"""Cells with matrices and exponential gates against the layers of transformers, whose casts are lifted to float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from lifted import lifted, spread
from torch import Tensor

from rote.cells import (
    Cell,
    DeltaCell,
    GatedDeltaCell,
    LinearAttentionCell,
    MLSTMCell,
    Recurrent,
    RWKV4Cell,
    SSDCell,
    unroll,
)

UNITS, HEADS, BATCH, TIME = 8, 2, 3, 37


def given() -> Tensor:
    return torch.randn(BATCH, TIME, UNITS, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def assert_same(cell: Cell, expected: Tensor, tolerance: float = 1e-10) -> None:
    """By the layer's forward and step by step."""
    layer, inputs = Recurrent([cell]), given()
    torch.testing.assert_close(layer(inputs)[0], expected, rtol=0, atol=tolerance)
    steps = unroll(cell, inputs, cell.zero_state(BATCH)).states["hidden"]
    torch.testing.assert_close(steps, expected, rtol=0, atol=tolerance)
    first, middle = layer(inputs[:, :20])
    rest, _ = layer(inputs[:, 20:], initial=middle)
    torch.testing.assert_close(torch.cat([first, rest], 1), expected, rtol=0, atol=tolerance)


def test_rwkv4_is_the_attention_of_rwkv() -> None:
    from transformers.models.rwkv import modeling_rwkv as public

    module: Any = public.RwkvSelfAttention(public.RwkvConfig(hidden_size=UNITS, attention_hidden_size=UNITS)).double()
    spread(module)
    names = ("key", "value", "receptance")
    weights = {f"weight_{name}": getattr(module, name).weight for name in names}
    weights |= {f"mix_{name}": getattr(module, f"time_mix_{name}")[0, 0] for name in names}
    weights |= {name: getattr(module, name) for name in ("time_decay", "time_first")}
    cell = RWKV4Cell(UNITS, UNITS, weights=weights | {"weight_out": module.output.weight})
    with lifted(public):
        assert_same(cell, module(given())[0])


def delta_weights(module: Any) -> dict[str, Tensor]:
    """The rows of each key head stand together there, here those of all heads: q, k, v, b, a, z."""
    size = UNITS // HEADS
    q, k, v, z = module.in_proj_qkvz.weight.view(HEADS, 4 * size, UNITS).split(size, 1)
    b, a = module.in_proj_ba.weight.view(HEADS, 2, UNITS).unbind(1)
    return {
        "weight_ih": torch.cat([*(part.reshape(-1, UNITS) for part in (q, k, v)), b, a, z.reshape(-1, UNITS)]),
        "weight_conv": module.conv1d.weight[:, 0],
        "a_log": module.A_log,
        "bias_step": module.dt_bias,
        "norm_weight": module.norm.weight,
        "weight_out": module.out_proj.weight,
    }


def qwen() -> tuple[Any, Any]:
    from transformers.models.qwen3_next import modeling_qwen3_next as public

    heads = {"linear_num_key_heads": HEADS, "linear_num_value_heads": HEADS}
    sizes = {"linear_key_head_dim": UNITS // HEADS, "linear_value_head_dim": UNITS // HEADS}
    config = public.Qwen3NextConfig(
        hidden_size=UNITS, num_hidden_layers=1, layer_types=["linear_attention"], **heads, **sizes
    )
    module = public.Qwen3NextGatedDeltaNet(config, 0).double()
    spread(module)
    return public, module


def test_gated_delta_is_the_layer_of_qwen3_next() -> None:
    public, module = qwen()
    with lifted(public):
        assert_same(GatedDeltaCell(UNITS, UNITS, heads=HEADS, weights=delta_weights(module)), module(given()))


def test_delta_is_that_layer_when_nothing_is_forgotten_and_its_readout_is_open() -> None:
    public, module = qwen()
    weights = delta_weights(module)
    cell = DeltaCell(
        UNITS, UNITS, heads=HEADS, weights=weights | {"weight_ih": weights["weight_ih"][: 3 * UNITS + HEADS]}
    )
    with torch.no_grad(), lifted(public), torch.nn.utils.parametrize.cached():
        module.A_log.fill_(-200.0)
        original, module.norm.forward = module.norm.forward, None
        module.norm.forward = lambda read, gate: original(read, torch.full_like(gate, 40.0)) / 40.0
        assert_same(cell, module(given()))


def test_linear_attention_is_that_of_minimax() -> None:
    from transformers.models.minimax import modeling_minimax as public

    config = public.MiniMaxConfig(
        hidden_size=UNITS, num_attention_heads=HEADS, head_dim=UNITS // HEADS, num_hidden_layers=2, block_size=7,
        layer_types=["linear_attention"] * 2,
    )  # fmt: skip
    with lifted(public):
        module: Any = public.MiniMaxLightningAttention(config, 0).double()
        spread(module)
        rate = module.get_slope_rate().double()
        for name, value in zip(("query_decay", "key_decay", "diagonal_decay"), module.decay_factors(rate), strict=True):
            setattr(module, name, value)
        module.slope_rate = rate
        qkv = module.qkv_proj.weight.view(HEADS, 3, UNITS // HEADS, UNITS).transpose(0, 1).reshape(-1, UNITS)
        weights = {
            "weight_ih": torch.cat([qkv, module.output_gate.weight]),
            "decay_log": rate.flatten().log(),
            "norm_weight": module.norm.weight,
            "weight_out": module.out_proj.weight,
        }
        cell = LinearAttentionCell(UNITS, UNITS, heads=HEADS, weights=weights)
        assert_same(cell, module(given(), None, None)[0])


def test_mlstm_is_the_layer_of_xlstm() -> None:
    from transformers.models.xlstm import modeling_xlstm as public

    config = public.xLSTMConfig(hidden_size=UNITS, num_heads=HEADS, num_blocks=1, num_hidden_layers=1)
    module: Any = public.xLSTMLayer(config).double()
    spread(module)
    gates = (module.igate_preact, module.fgate_preact)
    rows = (module.q, module.k, module.v, module.ogate_preact, *gates)
    weights = {
        "weight_ih": torch.cat([row.weight for row in rows]),
        "bias_gates": torch.cat([gate.bias for gate in gates]),
        "norm_weight": module.multihead_norm.weight,
        "weight_out": module.out_proj.weight,
    }
    cell = MLSTMCell(UNITS, UNITS, heads=HEADS, weights=weights)
    q, k, v, o, i, f = (row(given()) for row in rows)
    by_head = [value.view(BATCH, TIME, HEADS, -1).transpose(1, 2) for value in (q, k, v)]
    capped = [public.soft_cap(gate, 15.0).transpose(1, 2) for gate in (i, f)]
    with lifted(public):
        h = public.mlstm_recurrent_sequence_native(*by_head, *capped, dtype_state=torch.float64)
        h = h[0] if isinstance(h, tuple) else h
        y = module.multihead_norm(h.transpose(1, 2)).reshape(BATCH, TIME, -1)
    assert_same(cell, module.out_proj(o.sigmoid() * y))


@pytest.mark.parametrize("groups", [1, 2])
def test_ssd_is_the_mixer_of_mamba2(groups: int) -> None:
    from transformers.models.mamba2 import modeling_mamba2 as public

    config = public.Mamba2Config(
        hidden_size=UNITS, num_heads=4, head_dim=4, state_size=5, expand=2, n_groups=groups, chunk_size=8,
        num_hidden_layers=1,
    )  # fmt: skip
    module: Any = public.Mamba2Mixer(config, 0).double().eval()
    spread(module)
    weights = {
        "weight_ih": module.in_proj.weight,
        "weight_conv": module.conv1d.weight[:, 0],
        "bias_conv": module.conv1d.bias,
        "a_log": module.A_log,
        "bias_step": module.dt_bias,
        "skip": module.D,
        "norm_weight": module.norm.weight,
        "weight_out": module.out_proj.weight,
    }
    cell = SSDCell(UNITS, UNITS, heads=4, state_size=5, groups=groups, weights=weights)
    with lifted(public):
        assert_same(cell, module(given()))
