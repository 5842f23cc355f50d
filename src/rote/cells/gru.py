"""Gated recurrent unit (Cho et al. 2014), in both forms that are in use: rows r, z, n.

reset="after" (torch's nn.GRU):  n = tanh(W x + b_i + r * (V h + b_h))
reset="before" (TensorFlow's GRUCell, the original paper):  n = tanh(W x + V (r * h) + b)
h' = (1 - z) * n + z * h
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, cells
from rote.config import one_of


@cells.register("gru")
class GRUCell(Cell):
    """Gated recurrent unit: an update gate mixes the old state with a candidate (nn.GRU, or reset first)."""

    row_groups = (2, 1)
    gate_names = ("reset", "update", "candidate")
    gate_bias_rows = (0, 1)

    def configure(self, reset: Literal["after", "before"] = "after") -> None:
        one_of("reset", reset, ("after", "before"))
        self.reset = reset

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        (h,) = state
        size = self.hidden_size
        p_rz, p_n = a.pieces(projected, [2 * size, size])
        gates = a.sigmoid(
            p_rz + a.linear(h, self.weight_hh[..., : 2 * size, :]) + a.constant(self.bias[..., : 2 * size])
        )
        r, z = a.pieces(gates, [size] * 2)
        r, z = a.gate("reset", r), a.gate("update", z)
        weight = self.weight_hh[..., 2 * size :, :]
        if self.reset == "after":
            inner, outer = self._candidate_biases()
            n = p_n + a.constant(outer) + a.product(r, a.linear(h, weight) + a.constant(inner))
        else:
            n = p_n + a.constant(self.bias[..., 2 * size :]) + a.linear(a.settle(a.product(r, h)), weight)
        n = a.gate("candidate", a.tanh(n))
        return (a.settle(a.product(1 - z, n) + a.product(z, h)),)

    def _candidate_biases(self) -> tuple[Tensor, Tensor]:
        """The bias inside the reset product and the one outside it."""
        size = self.hidden_size
        zeros = torch.zeros_like(self.weight_hh[..., :size, 0])
        inner = zeros if self.bias_hh is None else self.bias_hh[..., 2 * size :]
        outer = zeros if self.bias_ih is None else self.bias_ih[..., 2 * size :]
        return inner, outer


@cells.register("gru_before")
class ResetFirstGRUCell(GRUCell):
    """Gated recurrent unit whose reset gate acts on the state before its matrix, as first published."""

    def configure(self, reset: Literal["after", "before"] = "before") -> None:
        super().configure(reset)
