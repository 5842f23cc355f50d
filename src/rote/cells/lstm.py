"""Long short-term memory (Hochreiter and Schmidhuber 1997, with forget gate; torch's nn.LSTM): rows i, f, g, o.

c' = f * c + i * g;  h' = o * tanh(c').  TensorFlow's BasicLSTMCell is the same with one bias and forget_bias=1.
"""

from __future__ import annotations

from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, cells


@cells.register("lstm")
class LSTMCell(Cell):
    """Long short-term memory: a gated memory cell behind an output gate (nn.LSTM)."""

    row_groups = (4,)
    gate_names = ("input", "forget", "candidate", "output")
    state_names = ("hidden", "cell")
    forget_rows = 1

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, c = state
        i, f, g, o = lstm_gates(a, projected, h, self.weight_hh, a.constant(self.bias))
        c = a.settle(a.product(a.gate("forget", f), c) + a.product(a.gate("input", i), a.gate("candidate", a.tanh(g))))
        return a.product(a.gate("output", o), a.tanh(c)), c


def lstm_gates(a: Arithmetic[V], projected: V, h: V, weight_hh: Tensor, bias: V) -> tuple[V, V, V, V]:
    """i, f and o after their sigmoid, g before its squashing. The output gate is computed apart from the others,
    because a decomposition that takes it as it is then needs no parts of it."""
    size = weight_hh.shape[-2] // 4
    p_ifg, p_o = a.pieces(projected, [3 * size, size])
    b_ifg, b_o = a.pieces(bias, [3 * size, size])
    gates, g = a.pieces(p_ifg + a.linear(h, weight_hh[..., : 3 * size, :]) + b_ifg, [2 * size, size])
    i, f = a.pieces(a.sigmoid(gates), [size] * 2)
    o = a.readout_gate(p_o) + a.linear(a.readout_gate(h), weight_hh[..., 3 * size :, :]) + b_o
    return i, f, g, a.sigmoid(o)
