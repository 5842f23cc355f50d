"""Mamba2ForCausalLM: its mixer is ``SSDCell``, with the same weights."""

from __future__ import annotations

from typing import Any

from rote.cells.cell import Cell
from rote.cells.s6 import EXPAND
from rote.cells.ssd import EPS, SSDCell
from rote.models.traced.known_modules import known


@known("transformers.models.mamba2.modeling_mamba2.Mamba2Mixer")
def mamba2(mixer: Any, model: Any) -> list[Cell] | None:
    """Where the length of its steps is not limited."""
    plain = not mixer.use_bias and mixer.conv1d.bias is not None and mixer.activation in ("silu", "swish")
    limited = tuple(mixer.time_step_limit) != (0.0, float("inf"))
    if not plain or limited or mixer.layer_norm_epsilon != EPS:
        return None
    if mixer.intermediate_size != EXPAND * mixer.hidden_size:
        return None
    weights = {
        "weight_ih": mixer.in_proj.weight,
        "weight_conv": mixer.conv1d.weight[:, 0],
        "bias_conv": mixer.conv1d.bias,
        "a_log": mixer.A_log,
        "bias_step": mixer.dt_bias,
        "skip": mixer.D,
        "norm_weight": mixer.norm.weight,
        "weight_out": mixer.out_proj.weight,
    }
    sizes = {"state_size": mixer.ssm_state_size, "width": mixer.conv_kernel_size, "heads": mixer.num_heads}
    sizes["groups"] = mixer.n_groups
    return [SSDCell(mixer.hidden_size, mixer.hidden_size, weights=weights, **sizes)]
