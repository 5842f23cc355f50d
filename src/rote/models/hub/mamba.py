"""MambaForCausalLM: its mixer is ``S6Cell``, with the same weights."""

from __future__ import annotations

from typing import Any

from rote.cells.cell import Cell
from rote.cells.s6 import EXPAND, S6Cell
from rote.models.traced.known_modules import known


@known("transformers.models.mamba.modeling_mamba.MambaMixer")
def mamba(mixer: Any) -> list[Cell] | None:
    if mixer.use_bias or mixer.conv1d.bias is None or mixer.intermediate_size != EXPAND * mixer.hidden_size:
        return None
    if mixer.activation not in ("silu", "swish"):
        return None
    weights = {
        "weight_ih": mixer.in_proj.weight,
        "weight_conv": mixer.conv1d.weight[:, 0],
        "bias_conv": mixer.conv1d.bias,
        "weight_select": mixer.x_proj.weight,
        "weight_step": mixer.dt_proj.weight,
        "bias_step": mixer.dt_proj.bias,
        "a_log": mixer.A_log,
        "skip": mixer.D,
        "weight_out": mixer.out_proj.weight,
    }
    sizes = {"state_size": mixer.ssm_state_size, "width": mixer.conv_kernel_size, "rank": mixer.time_step_rank}
    return [S6Cell(mixer.hidden_size, mixer.hidden_size, weights=weights, **sizes)]
