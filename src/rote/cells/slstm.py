"""The sLSTM of xLSTM (Beck et al. 2024), with its convolution and norm: exponential gates, and a mean as its memory.

u = silu(conv(x))                    a causal convolution over the last steps, for the input and the forget gate
i, f = W_if u + R_if y + b;  z, o = W_zo x + R_zo y + b          R acts within heads
m' = max(log sigmoid(f) + m, i);  F = exp(log sigmoid(f) + m - m');  I = exp(i - m')
c' = F c + I tanh(z);  n' = F n + I;  y' = sigmoid(o) * c' / n';  output = norm(y')       a layer norm of each head

n counts what was written, m keeps c and n in range. Both are used whole by every rule of decomposition, and so are i
and f, since the exponential of a part has no bound: what came before acts on a part through z and the output gate. The
unit bends its own output and takes it in again, so that it is trained step by step.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.convolution import convolved, past_names, pushed
from rote.cells.heads import heads_of
from rote.errors import UsageError

EPS = 1e-5


@cells.register("slstm")
class SLSTMCell(Cell):
    """sLSTM of xLSTM: exponential gates over a mean of candidates, with a recurrent matrix for each head."""

    row_groups = ()
    gate_names = ("input", "forget", "candidate", "output")
    recurrent_matrix = False  # none that is called weight_hh
    whole_states = ("normalizer", "highest")
    start_values = {"highest": -1e30}  # noqa: RUF012
    weight_conv: Tensor
    bias_conv: Tensor
    weight_gates: Tensor
    weight_values: Tensor
    weight_recurrent: Tensor
    bias_units: Tensor
    norm_weight: Tensor

    def configure(self, heads: int | None = None, width: int = 4) -> None:
        if width < 1:
            raise UsageError(f"'width' of the convolution must be at least 1. Got {width}.")
        self.heads, self.width = heads_of(self.hidden_size, heads), width
        self.state_names = ("hidden", "output", "cell", "normalizer", "highest", *past_names(width))

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return *(self.hidden_size,) * 5, *(self.input_size,) * (self.width - 1)

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        units, given = self.hidden_size, self.input_size
        return {
            "weight_conv": (given, self.width),
            "bias_conv": (given,),
            "weight_gates": (2 * units, given),
            "weight_values": (2 * units, given),
            "weight_recurrent": (4 * units, units // self.heads),
            "bias_units": (4 * units,),
            "norm_weight": (units,),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, y, c, normalizer, highest, *past = state
        units = self.hidden_size
        u = a.silu(convolved(a, projected, past, self.weight_conv, self.bias_conv))
        i, f = a.pieces(a.linear(a.whole(u), self.weight_gates), [units] * 2)
        z, o = a.pieces(a.linear(projected, self.weight_values), [units] * 2)
        biases = a.pieces(a.constant(self.bias_units), [units] * 4)

        def unit(number: int, from_input: V, before: V) -> V:
            rows = self.weight_recurrent[..., number * units : (number + 1) * units, :]
            return from_input + a.within_heads(before, rows, self.heads) + biases[number]

        i, f = unit(0, i, a.whole(y)), unit(1, f, a.whole(y))
        z, o = unit(2, z, y), unit(3, a.readout_gate(o), a.readout_gate(y))
        faded = a.log_sigmoid(f) + highest
        highest = a.maximum(faded, i)
        kept, written = a.gate("forget", a.exp(faded - highest)), a.gate("input", a.exp(i - highest))
        c = a.settle(a.product(kept, c) + a.product(written, a.gate("candidate", a.tanh(z))))
        normalizer = a.product(kept, normalizer) + written
        y = a.product(a.gate("output", a.sigmoid(o)), a.product(a.reciprocal(normalizer), c))
        hidden = a.settle(a.scale(a.norm(y, units // self.heads, EPS, "layer"), self.norm_weight))
        return hidden, y, c, normalizer, highest, *pushed(projected, past)

    def initialize(self, how: Initialization) -> None:
        super().initialize(how)
        with torch.no_grad():
            self.norm_weight.fill_(1.0)
