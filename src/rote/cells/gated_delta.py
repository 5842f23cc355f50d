"""The gated delta rule (Yang, Kautz and Hatamizadeh 2025, Gated DeltaNet): ``delta`` that forgets, as in Qwen3-Next.

S' = a S + b k (v - k (a S))^T;  a = exp(-exp(a_log) softplus(W_a x + bias_step)), a number for each head
output = W_out (silu(z) * norm(q S'))        z = W_z x, behind the norm

All else is as in ``delta``. Rows of ``weight_ih``: q, k, v, b, a, z.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Initialization, cells
from rote.cells.delta import DeltaCell
from rote.cells.s6 import decay


@cells.register("gated_delta")
class GatedDeltaCell(DeltaCell):
    """Gated delta rule of Qwen3-Next: a corrected memory that can also be let go, behind a gated readout."""

    gate_names = ("write", "forget")
    a_log: Tensor
    bias_step: Tensor

    @property
    def row_sizes(self) -> list[int]:
        return [*super().row_sizes, self.heads, self.hidden_size]

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        own: tuple[int, ...] = (self.heads,)
        return super().shapes() | {"a_log": own, "bias_step": own}

    def kept(self, a: Arithmetic[V], memory: V, rest: list[V]) -> V:
        step = a.whole(rest[0]) + a.constant(self.bias_step)
        share = a.gate("forget", a.apply(decay, step, self.a_log))
        return a.product(a.arrange(share, self.matrices.from_heads), memory)

    def shown(self, a: Arithmetic[V], y: V, rest: list[V]) -> V:
        return a.product(a.silu(a.readout_gate(rest[1])), y)

    def initialize(self, how: Initialization) -> None:
        """Heads fade at rates of up to 16 over steps that are 0.001 to 0.1 long, as in Mamba-2."""
        super().initialize(how)
        with torch.no_grad():
            self.a_log.uniform_(0.01, 16).log_()
            length = self.bias_step.uniform_(math.log(1e-3), math.log(0.1)).exp()
            self.bias_step.copy_(length.expm1().log())
