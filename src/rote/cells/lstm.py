"""Long short-term memory (Hochreiter and Schmidhuber 1997, with forget gate; torch's nn.LSTM): rows i, f, g, o.

c' = f * c + i * g;  h' = o * tanh(c'), or W_hr (o * tanh(c')) with proj_size, so that the hidden state is smaller than
the memory cell.  TensorFlow's BasicLSTMCell is the same with one bias and forget_bias=1.
"""

from __future__ import annotations

from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, cells
from rote.errors import UsageError


@cells.register("lstm")
class LSTMCell(Cell):
    """Long short-term memory: a gated memory cell behind an output gate (nn.LSTM)."""

    row_groups = (4,)
    gate_names = ("input", "forget", "candidate", "output")
    state_names = ("hidden", "cell")
    forget_rows = 1
    weight_hr: Tensor | None

    def configure(self, proj_size: int = 0) -> None:
        if not 0 <= proj_size < self.hidden_size:
            raise UsageError(
                f"'proj_size' must be 0 (no projection) or less than the {self.hidden_size} units. Got {proj_size}."
            )
        self.proj_size = proj_size

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.proj_size or self.hidden_size, self.hidden_size

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return super().shapes() | {"weight_hr": (self.proj_size, self.hidden_size) if self.proj_size else None}

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, c = state
        i, f, g, o = lstm_gates(a, projected, h, self.weight_hh, a.constant(self.bias))
        c = a.settle(a.product(a.gate("forget", f), c) + a.product(a.gate("input", i), a.gate("candidate", a.tanh(g))))
        h = a.product(a.gate("output", o), a.tanh(c))
        return h if self.weight_hr is None else a.linear(h, self.weight_hr), c


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
