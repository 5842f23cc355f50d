"""xLSTMForCausalLM: its mLSTM layer is ``MLSTMCell``. That has all its weights in one matrix."""

from __future__ import annotations

from typing import Any

import torch

from rote.cells.cell import Cell
from rote.cells.mlstm import CAP, EPS, MLSTMCell
from rote.models.traced.known_modules import known


@known("transformers.models.xlstm.modeling_xlstm.xLSTMLayer")
def xlstm(layer: Any, model: Any) -> list[Cell] | None:
    config = layer.config
    fits = not config.use_bias and config.gate_soft_cap == CAP and (config.eps, config.norm_eps) == (EPS, EPS)
    if not fits or layer.v_dim != config.hidden_size:
        return None
    if config.weight_mode == "single":
        parts = [layer.q, layer.k, layer.v, layer.ogate_preact, layer.igate_preact, layer.fgate_preact]
        gates = torch.cat([layer.igate_preact.bias, layer.fgate_preact.bias])
    else:
        parts, gates = [layer.qkv_opreact, layer.ifgate_preact], layer.ifgate_preact.bias
    weights = {
        "weight_ih": torch.cat([part.weight for part in parts]).detach(),
        "bias_gates": gates.detach(),
        "norm_weight": layer.multihead_norm.weight,
        "weight_out": layer.out_proj.weight,
    }
    heads, size = config.num_heads, config.hidden_size
    return [MLSTMCell(size, size, weights=weights, heads=heads, key_size=layer.qk_dim // heads)]
