"""Our cells beside their public implementations, with the same weights on the same inputs, in float64.

Each function gives a cell and what the public layer computes for ``given()``. Layers of transformers cast parts of
themselves to float32: these casts are lifted. ``benchmarks/recurrences.py`` prints how far each cell is from its layer.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from types import FunctionType, ModuleType
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from rote.cells import (
    Cell,
    DeltaCell,
    GatedDeltaCell,
    LinearAttentionCell,
    LRUCell,
    MinGRUCell,
    MinLSTMCell,
    MLSTMCell,
    Recurrent,
    RGLRUCell,
    RWKV4Cell,
    RWKV7Cell,
    S6Cell,
    SSDCell,
)

UNITS, HEADS, BATCH, TIME = 8, 2, 3, 37
Pair = tuple[Cell, Tensor]


class _Lifted:
    """torch, in which float32 is float64."""

    float32 = float = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def lifted(*modules: ModuleType) -> Iterator[None]:
    """Within, these modules' casts to float32 are casts to float64."""
    with patch.object(Tensor, "float", Tensor.double):
        patches = [patch.object(module, "torch", _Lifted()) for module in modules]
        for one in patches:
            one.start()
        try:
            yield
        finally:
            for one in patches:
                one.stop()


def spread(module: nn.Module, size: float = 0.8) -> Any:
    """The module with weights large enough for the nonlinearities to matter."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(size * torch.randn(weight.shape, dtype=weight.dtype, generator=generator))
    return module


def given() -> Tensor:
    return torch.randn(BATCH, TIME, UNITS, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def difference(pair: Pair) -> float:
    cell, expected = pair
    with torch.no_grad():
        return float((Recurrent([cell])(given().to(cell.zero_state(1)[0].dtype))[0] - expected).abs().max())


def min_gru() -> Pair:
    from minGRU_pytorch import minGRU

    module = spread(minGRU(UNITS).double())
    cell = MinGRUCell(UNITS, UNITS, biases="none", weights={"weight_ih": module.to_hidden_and_gate.weight})
    return cell, module(given())


def min_lstm() -> Pair:
    from minGRU_pytorch.minLSTM import minLSTM

    module = spread(minLSTM(UNITS).double())
    cell = MinLSTMCell(UNITS, UNITS, biases="none", weights={"weight_ih": next(module.parameters())})
    return cell, module(given())


def lru() -> Pair:
    """The package knows float32 alone."""
    from LRU_pytorch import LRU

    module: Any = LRU(UNITS, UNITS, UNITS)
    parts = {"weight_ih": torch.cat([module.B.real, module.B.imag, module.D])}
    parts |= {"weight_re": module.C.real, "weight_im": module.C.imag}
    parts |= {name: getattr(module, name) for name in ("nu_log", "theta_log", "gamma_log")}
    cell = LRUCell(UNITS, UNITS, weights={name: part.detach().double() for name, part in parts.items()})
    return cell, module(given().float()).double()


def rg_lru() -> Pair:
    """Without RecurrentGemma's exception for the very first step of a text."""
    from transformers.models.recurrent_gemma import modeling_recurrent_gemma as public

    config = public.RecurrentGemmaConfig(
        hidden_size=UNITS, lru_width=UNITS, num_attention_heads=HEADS, num_hidden_layers=1, head_dim=4
    )
    with lifted(public):
        module = spread(public.RecurrentGemmaRecurrentBlock(config, 0).double())
        gates = {"input": "input_gate", "recurrence": "recurrent_gate"}
        weights = {
            "weight_ih": torch.cat([module.linear_x.weight, module.linear_y.weight]),
            "bias_ih": torch.cat([module.linear_x.bias, module.linear_y.bias]),
            "weight_conv": module.conv_1d.weight[:, 0],
            "bias_conv": module.conv_1d.bias,
            "recurrent_param": module.rg_lru.recurrent_param,
            "weight_out": module.linear_out.weight,
            "bias_out": module.linear_out.bias,
        }
        for ours, theirs in gates.items():
            weights[f"weight_{ours}"] = getattr(module.rg_lru, f"{theirs}_weight").mT.reshape(UNITS, -1)
            weights[f"bias_{ours}"] = getattr(module.rg_lru, f"{theirs}_bias").flatten()
        cell = RGLRUCell(UNITS, UNITS, heads=HEADS, biases="one", weights=weights)
        module.rg_lru._rnn_scan = partial(module.rg_lru._rnn_scan, acc_dtype=torch.float64)
        positions = torch.arange(1, TIME + 1).expand(BATCH, -1)
        return cell, module(given(), positions, None, False)[0]


def mamba_weights(module: Any) -> dict[str, Tensor]:
    return {
        "weight_ih": module.in_proj.weight,
        "weight_conv": module.conv1d.weight[:, 0],
        "bias_conv": module.conv1d.bias,
        "a_log": module.A_log,
        "skip": module.D,
        "weight_out": module.out_proj.weight,
    }


def s6() -> Pair:
    from transformers.models.mamba import modeling_mamba as public

    config = public.MambaConfig(hidden_size=UNITS, state_size=3, num_hidden_layers=1, time_step_rank=2)
    module = spread(public.MambaMixer(config, 0).double().eval(), 0.3)
    weights = {
        "weight_select": module.x_proj.weight,
        "weight_step": module.dt_proj.weight,
        "bias_step": module.dt_proj.bias,
    }
    cell = S6Cell(UNITS, UNITS, state_size=3, rank=2, weights=mamba_weights(module) | weights)
    with lifted(public):
        return cell, module(given())


def rwkv4() -> Pair:
    from transformers.models.rwkv import modeling_rwkv as public

    config = public.RwkvConfig(hidden_size=UNITS, attention_hidden_size=UNITS)
    module = spread(public.RwkvSelfAttention(config).double())
    names = ("key", "value", "receptance")
    weights = {f"weight_{name}": getattr(module, name).weight for name in names}
    weights |= {f"mix_{name}": getattr(module, f"time_mix_{name}")[0, 0] for name in names}
    weights |= {name: getattr(module, name) for name in ("time_decay", "time_first")}
    cell = RWKV4Cell(UNITS, UNITS, weights=weights | {"weight_out": module.output.weight})
    with lifted(public):
        return cell, module(given())[0]


def rwkv7() -> Pair:
    """The first layer, one sequence at a time. The package rounds exp(-1/2) to six digits, which is lifted too."""
    plain = {"ScriptModule": nn.Module, "script": lambda function: function, "script_method": lambda function: function}
    with patch.dict(os.environ, {"RWKV_V7_ON": "1"}), patch.multiple(torch.jit, **plain), redirect_stdout(None):
        from rwkv import model as public

    code = public.RWKV_x070_TMix_seq.__code__
    exact = tuple(-math.exp(-0.5) if number == -0.606531 else number for number in code.co_consts)
    mixing: Any = FunctionType(code.replace(co_consts=exact), vars(public))
    cell = spread(RWKV7Cell(UNITS, UNITS, heads=HEADS, rank=3).double())
    mixes = [cell.get_parameter(f"mix_{name}") for name in ("receptance", "decay", "key", "value", "rate", "gate")]
    low_rank = {
        name: (cell.get_parameter(f"weight_{name}").T, cell.get_parameter(f"weight_{name}_out").T)
        for name in ("decay", "rate", "gate")
    }
    nothing = torch.zeros(UNITS, dtype=torch.float64)  # what mixes v with that of the layer below
    weights = (
        *mixes, cell.bias_decay, *low_rank["decay"], cell.bias_rate, *low_rank["rate"], nothing, nothing, nothing,
        *low_rank["gate"], cell.removal, cell.replacement, cell.bonus, cell.weight_receptance.T, cell.weight_key.T,
        cell.weight_value.T, cell.weight_out.T, cell.norm_weight, cell.norm_bias,
    )  # fmt: skip
    size = UNITS // HEADS
    memory = torch.zeros(HEADS, size, size, dtype=torch.float64)
    with torch.no_grad(), lifted():
        outputs = [mixing(0, HEADS, size, x, nothing, nothing, memory, *weights)[0] for x in given()]
    return cell, torch.stack(outputs)


def _qwen() -> tuple[Any, Any, dict[str, Tensor]]:
    """The rows of each key head stand together there, here those of all heads: q, k, v, b, a, z."""
    from transformers.models.qwen3_next import modeling_qwen3_next as public

    size = UNITS // HEADS
    config = public.Qwen3NextConfig(
        hidden_size=UNITS, num_hidden_layers=1, layer_types=["linear_attention"], linear_num_key_heads=HEADS,
        linear_num_value_heads=HEADS, linear_key_head_dim=size, linear_value_head_dim=size,
    )  # fmt: skip
    module = spread(public.Qwen3NextGatedDeltaNet(config, 0).double())
    q, k, v, z = module.in_proj_qkvz.weight.view(HEADS, 4 * size, UNITS).split(size, 1)
    b, a = module.in_proj_ba.weight.view(HEADS, 2, UNITS).unbind(1)
    weights = {
        "weight_ih": torch.cat([*(part.reshape(-1, UNITS) for part in (q, k, v)), b, a, z.reshape(-1, UNITS)]),
        "weight_conv": module.conv1d.weight[:, 0],
        "a_log": module.A_log,
        "bias_step": module.dt_bias,
        "norm_weight": module.norm.weight,
        "weight_out": module.out_proj.weight,
    }
    return public, module, weights


def gated_delta() -> Pair:
    public, module, weights = _qwen()
    with lifted(public):
        return GatedDeltaCell(UNITS, UNITS, heads=HEADS, weights=weights), module(given())


def delta() -> Pair:
    """The same layer, of which nothing is forgotten and whose readout is open."""
    public, module, weights = _qwen()
    weights["weight_ih"] = weights["weight_ih"][: 3 * UNITS + HEADS]
    cell, norm = DeltaCell(UNITS, UNITS, heads=HEADS, weights=weights), module.norm.forward
    open_wide = 40.0  # where silu is the identity
    module.norm.forward = lambda read, gate: norm(read, torch.full_like(gate, open_wide)) / open_wide
    with torch.no_grad(), lifted(public):
        module.A_log.fill_(-200.0)
        return cell, module(given())


def linear_attention() -> Pair:
    from transformers.models.minimax import modeling_minimax as public

    config = public.MiniMaxConfig(
        hidden_size=UNITS, num_attention_heads=HEADS, head_dim=UNITS // HEADS, num_hidden_layers=2, block_size=7,
        layer_types=["linear_attention"] * 2,
    )  # fmt: skip
    with lifted(public):
        module = spread(public.MiniMaxLightningAttention(config, 0).double())
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
        return LinearAttentionCell(UNITS, UNITS, heads=HEADS, weights=weights), module(given(), None, None)[0]


def mlstm() -> Pair:
    """Step by step, as transformers generates: its chunks differ from that by 4e-9."""
    from transformers.models.xlstm import modeling_xlstm as public

    config = public.xLSTMConfig(hidden_size=UNITS, num_heads=HEADS, num_blocks=1, num_hidden_layers=1)
    module = spread(public.xLSTMLayer(config).double())
    gates = (module.igate_preact, module.fgate_preact)
    rows = (module.q, module.k, module.v, module.ogate_preact, *gates)
    weights = {
        "weight_ih": torch.cat([row.weight for row in rows]),
        "bias_gates": torch.cat([gate.bias for gate in gates]),
        "norm_weight": module.multihead_norm.weight,
        "weight_out": module.out_proj.weight,
    }
    q, k, v, o, i, f = (row(given()) for row in rows)
    by_head = [value.view(BATCH, TIME, HEADS, -1).transpose(1, 2) for value in (q, k, v)]
    capped = [public.soft_cap(gate, config.gate_soft_cap).transpose(1, 2) for gate in (i, f)]
    with lifted(public):
        found = public.mlstm_recurrent_sequence_native(*by_head, *capped, dtype_state=torch.float64)
        h = found[0] if isinstance(found, tuple) else found
        y = module.multihead_norm(h.transpose(1, 2)).reshape(BATCH, TIME, -1)
    return MLSTMCell(UNITS, UNITS, heads=HEADS, weights=weights), module.out_proj(o.sigmoid() * y)


def ssd(groups: int = 2) -> Pair:
    from transformers.models.mamba2 import modeling_mamba2 as public

    config = public.Mamba2Config(
        hidden_size=UNITS, num_heads=4, head_dim=4, state_size=5, expand=2, n_groups=groups, chunk_size=8,
        num_hidden_layers=1,
    )  # fmt: skip
    module = spread(public.Mamba2Mixer(config, 0).double().eval())
    weights = {"bias_step": module.dt_bias, "norm_weight": module.norm.weight}
    cell = SSDCell(
        UNITS, UNITS, heads=4, state_size=5, groups=groups, weights=mamba_weights(module) | weights
    )  # fmt: skip
    with lifted(public):
        return cell, module(given())


PUBLIC: dict[str, tuple[str, Callable[[], Pair]]] = {
    "min_gru": ("minGRU-pytorch", min_gru),
    "min_lstm": ("minGRU-pytorch", min_lstm),
    "lru": ("LRU-pytorch, float32", lru),
    "rg_lru": ("RecurrentGemma", rg_lru),
    "s6": ("Mamba", s6),
    "ssd": ("Mamba-2", ssd),
    "rwkv4": ("RWKV-4", rwkv4),
    "rwkv7": ("rwkv", rwkv7),
    "linear_attention": ("MiniMax", linear_attention),
    "delta": ("Qwen3-Next, nothing forgotten", delta),
    "gated_delta": ("Qwen3-Next", gated_delta),
    "mlstm": ("xLSTM", mlstm),
}
