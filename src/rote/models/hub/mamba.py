"""MambaForCausalLM: its mixer is ``S6Cell``, with the same weights. FalconMambaForCausalLM norms what is selected."""

from __future__ import annotations

from typing import Any

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell
from rote.cells.s6 import EXPAND, S6Cell
from rote.models.traced.known_modules import known


class FalconCell(S6Cell):
    """``S6Cell`` with s, B and C over their root mean square."""

    def configure(self, state_size: int = 16, width: int = 4, rank: int | None = None, eps: float = 1e-6) -> None:
        super().configure(state_size, width, rank)
        self.eps = eps

    def selected(self, a: Arithmetic[V], values: tuple[V, ...]) -> tuple[V, ...]:
        sizes = (self.rank, self.state_size, self.state_size)
        return tuple(a.norm(value, size, self.eps) for value, size in zip(values, sizes, strict=True))


@known(
    "transformers.models.mamba.modeling_mamba.MambaMixer",
    "transformers.models.falcon_mamba.modeling_falcon_mamba.FalconMambaMixer",
)
def mamba(mixer: Any, model: Any) -> list[Cell] | None:
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
    units = mixer.hidden_size
    if hasattr(mixer, "rms_eps"):
        return [FalconCell(units, units, weights=weights, eps=mixer.rms_eps, **sizes)]
    return [S6Cell(units, units, weights=weights, **sizes)]
