"""Nested LSTM (Moniz and Krueger 2017), as source 003 used it, of any depth.

The memory cell of a level is itself an LSTM: instead of f * c + i * g, the next level inside receives i * g as its
input and f * c as its hidden state, and its output is the new c. Only the innermost level adds. The candidate of the
outermost level is not squashed. State: h, then the cells from the outermost to the innermost.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, cells
from rote.cells.lstm import lstm_gates
from rote.errors import UsageError


@cells.register("nested_lstm")
class NestedLSTMCell(Cell):
    """LSTM whose memory cell is another LSTM, to any depth."""

    row_groups = (4,)
    gate_names = ("input", "forget", "candidate", "output")
    forget_rows = 1

    def configure(self, depth: int = 2) -> None:
        if depth < 1:
            raise UsageError(f"The 'depth' of a Nested LSTM must be at least 1. Got {depth}.")
        self.depth = depth
        self.state_names = ("hidden", "cell", *(f"cell_{level}" for level in range(1, depth)))

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        shapes = super().shapes()
        rows, size = 4 * self.hidden_size, self.hidden_size
        for level in range(1, self.depth):
            shapes[f"weight_ih_{level}"] = shapes[f"weight_hh_{level}"] = (rows, size)
            shapes[f"bias_ih_{level}"] = None if self.biases == "none" else (rows,)
            shapes[f"bias_hh_{level}"] = (rows,) if self.biases == "two" else None
        return shapes

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        hidden, *memory = state
        return self._level(a, 0, projected, hidden, tuple(memory))

    def _level(self, a: Arithmetic[V], level: int, projected: V, h: V, memory: tuple[V, ...]) -> tuple[V, ...]:
        """(output, cells from here inward)."""
        c, *inside = memory
        i, f, g, o = lstm_gates(
            a, projected, h, self.level_weight("weight_hh", level), a.constant(self.level_bias(level))
        )
        suffix = f"_{level}" if level else ""
        i, f, o = a.gate(f"input{suffix}", i), a.gate(f"forget{suffix}", f), a.gate(f"output{suffix}", o)
        g = a.gate(f"candidate{suffix}", g if level == 0 and self.depth > 1 else a.tanh(g))
        if not inside:
            cells_inward: tuple[V, ...] = (a.settle(a.product(f, c) + a.product(i, g)),)
        else:
            inner_input, inner_hidden = a.settle(a.product(i, g)), a.settle(a.product(f, c))
            projected_inside = a.linear(inner_input, self.level_weight("weight_ih", level + 1))
            cells_inward = self._level(a, level + 1, projected_inside, inner_hidden, tuple(inside))
        return (a.product(o, a.tanh(cells_inward[0])), *cells_inward)

    def level_weight(self, name: str, level: int) -> Tensor:
        weight: Tensor = getattr(self, f"{name}_{level}" if level else name)
        return weight

    def level_bias(self, level: int) -> Tensor:
        if level == 0:
            return self.bias
        outer: Tensor | None = getattr(self, f"bias_ih_{level}")
        second: Tensor | None = getattr(self, f"bias_hh_{level}")
        if outer is None:
            return torch.zeros_like(self.weight_hh[..., 0])
        return outer if second is None else outer + second
