"""The mLSTM of xLSTM (Beck et al. 2024), in the form of xLSTM 7B: an LSTM whose memory is a matrix for each head.

q, k, v, o, i, f = W x, with biases for i and f; i and f are capped at 15, q is divided by the root of its size
m' = max(log sigmoid(f) + m, i);  F = exp(log sigmoid(f) + m - m');  I = exp(i - m')
C' = F C + I k v^T;  n' = F n + I k
h = q C' / max(|q n'|, exp(-m'));  output = W_out (sigmoid(o) * norm(h))       norm: a layer norm of each head

The input gate is an exponential: n counts what was written, m keeps both in range. Both, and with them the gates, keys
and queries, are used whole by every rule of decomposition: the exponential of a part of i may lie above the m that was
taken from all of it, and the parts grow from step to step. Rows of ``weight_ih``: q, k, v, o, i, f.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Matrices, V, repeated, summed
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.heads import heads_of
from rote.errors import UsageError

CAP, EPS = 15.0, 1e-6


def capped(value: Tensor) -> Tensor:
    return CAP * torch.tanh(value / CAP)


def over(count: Tensor) -> Tensor:
    return 1 / (count + EPS)


@cells.register("mlstm")
class MLSTMCell(Cell):
    """mLSTM of xLSTM: exponential gates, a matrix for each head and a count of what was written."""

    row_groups = ()
    gate_names = ("input", "forget", "output")
    recurrent_matrix = False
    taken_whole = "keys, queries, gates and the normalizer"
    state_names = ("hidden", "memory", "normalizer", "highest")
    whole_states = ("normalizer", "highest")
    bias_gates: Tensor
    norm_weight: Tensor
    weight_out: Tensor

    def configure(self, heads: int | None = None, key_size: int | None = None) -> None:
        """``key_size``: of each head; half as many as it has values unless given."""
        self.heads = heads_of(self.hidden_size, heads)
        values = self.hidden_size // self.heads
        keys = max(1, values // 2) if key_size is None else key_size
        if keys < 1:
            raise UsageError(f"'key_size' must be at least 1. Got {key_size}.")
        self.matrices = Matrices(self.heads, keys, values)

    @property
    def keys(self) -> int:
        return self.heads * self.matrices.rows

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, self.matrices.size, self.keys, self.heads

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return {
            "weight_ih": (2 * (self.keys + self.hidden_size + self.heads), self.input_size),
            "bias_gates": (2 * self.heads,),
            "norm_weight": (self.hidden_size,),
            "weight_out": (self.hidden_size, self.hidden_size),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory, normalizer, highest = state
        shape, units = self.matrices, self.hidden_size
        q, k, v, o, gates = a.pieces(projected, [self.keys, self.keys, units, units, 2 * self.heads])
        q, k = a.scale(a.whole(q), shape.rows**-0.5), a.whole(k)
        i, f = a.pieces(a.apply(capped, a.whole(gates) + a.constant(self.bias_gates)), [self.heads] * 2)
        faded = a.log_sigmoid(f) + highest
        highest = a.maximum(faded, i)
        kept, written = a.gate("forget", a.exp(faded - highest)), a.gate("input", a.exp(i - highest))
        k = a.product(a.arrange(written, repeated(shape.rows)), k)
        memory = a.settle(a.write(memory, kept, k, v, shape))
        normalizer = a.product(a.arrange(kept, repeated(shape.rows)), normalizer) + k
        count = a.apply(torch.abs, a.arrange(a.product(q, normalizer), summed(shape.rows)))
        inverse = a.apply(over, a.maximum(count, a.exp(-highest)))
        h = a.product(a.arrange(inverse, repeated(shape.columns)), a.read(q, memory, shape))
        y = a.scale(a.norm(h, shape.columns, EPS, "layer"), self.norm_weight)
        o = a.gate("output", a.sigmoid(a.readout_gate(o)))
        return a.settle(a.linear(a.product(o, y), self.weight_out)), memory, normalizer, highest

    def initialize(self, how: Initialization) -> None:
        """Input gates start nearly shut, at -10, and forget gates open, from 3 to 6 over the heads."""
        super().initialize(how)
        with torch.no_grad():
            self.norm_weight.fill_(1.0)
            self.bias_gates[: self.heads].fill_(-10.0)
            self.bias_gates[self.heads :].copy_(torch.linspace(3, 6, self.heads))
