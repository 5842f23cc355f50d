"""LSTM with peepholes (Gers and Schmidhuber 2000; TensorFlow's LSTMCell with use_peepholes): rows i, f, g, o.

i = sigmoid(W x + V h + p_i * c),  f = sigmoid(W x + V h + p_f * c),  g = tanh(W x + V h)
c' = f * c + i * g,  o = sigmoid(W x + V h + p_o * c'),  h' = o * tanh(c')

The gates see the memory cell, each unit its own: the input and the forget gate the old one, the output gate the new.
``proj_size`` is that of the LSTM (Sak, Senior and Beaufays 2014 have both).
"""

from __future__ import annotations

from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import cells
from rote.cells.lstm import LSTMCell


@cells.register("peephole_lstm")
class PeepholeLSTMCell(LSTMCell):
    """LSTM whose gates see the memory cell as well, with or without a projection."""

    peephole_input: Tensor
    peephole_forget: Tensor
    peephole_output: Tensor

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        own: tuple[int, ...] = (self.hidden_size,)
        return super().shapes() | dict.fromkeys(("peephole_input", "peephole_forget", "peephole_output"), own)

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, c = state
        size = self.hidden_size
        p_ifg, p_o = a.pieces(projected, [3 * size, size])
        b_ifg, b_o = a.pieces(a.constant(self.bias), [3 * size, size])
        i, f, g = a.pieces(p_ifg + a.linear(h, self.weight_hh[..., : 3 * size, :]) + b_ifg, [size] * 3)
        i = a.gate("input", a.sigmoid(i + a.scale(c, self.peephole_input)))
        f = a.gate("forget", a.sigmoid(f + a.scale(c, self.peephole_forget)))
        c = a.settle(a.product(f, c) + a.product(i, a.gate("candidate", a.tanh(g))))
        before = a.readout_gate(p_o) + a.linear(a.readout_gate(h), self.weight_hh[..., 3 * size :, :]) + b_o
        o = a.gate("output", a.sigmoid(before + a.scale(a.readout_gate(c), self.peephole_output)))
        h = a.product(o, a.tanh(c))
        return h if self.weight_hr is None else a.linear(h, self.weight_hr), c
