"""Elman's simple recurrent unit (Elman 1990; torch's nn.RNN): h' = f(W x + V h + b)."""

from __future__ import annotations

from typing import Literal

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, cells
from rote.config import one_of


@cells.register("elman")
class ElmanCell(Cell):
    """Simple recurrent unit: the new state is a squashed sum of input and old state (nn.RNN)."""

    row_groups = (1,)
    gate_names = ("candidate",)

    def configure(self, nonlinearity: Literal["tanh", "relu"] = "tanh") -> None:
        one_of("nonlinearity", nonlinearity, ("tanh", "relu"))
        self.nonlinearity = nonlinearity

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        (h,) = state
        total = projected + a.linear(h, self.weight_hh) + a.constant(self.bias)
        candidate = a.tanh(total) if self.nonlinearity == "tanh" else a.relu(total)
        return (a.settle(a.gate("candidate", candidate)),)
