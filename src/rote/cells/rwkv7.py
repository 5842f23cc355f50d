"""Time mixing of RWKV-7 (Peng et al. 2025): a memory of matrices whose rows fade and are replaced each at its own rate.

mix_c = (1 - p_c) * x + p_c * last          c = receptance, decay, key, value, rate, gate; last: the input before
r, k, v = W_r mix_r, W_k mix_k, W_v mix_v
w = exp(-e^(-1/2) sigmoid(b_w + W_w2 tanh(W_w1 mix_w)));  a = sigmoid(b_a + W_a2 W_a1 mix_a)
n = k * removal, of length 1 in each head;  k' = k * (1 + (a - 1) * replacement)
S' = w * S - (a * n) (n S)^T + k' v^T       S is a matrix for each head, w and a have a number for each of its rows
y = norm(r S') + (r * k' * bonus summed) v  a layer norm of each head
output = W_out ((W_g2 sigmoid(W_g1 mix_g)) * y)

n S is what the memory holds at the place n: it is taken away, as far as a says, before k' v^T is written. Receptance,
keys, w and a are used whole by every rule of decomposition, as in ``delta``: only with n of length 1 the memory cannot
grow. So is the gate of the readout: behind its matrix of low rank it may all but close for every unit, and parts of
what is next to nothing say nothing. Taken apart are the values and the memory. This is the first layer of RWKV-7; later
ones also mix the first layer's v into their own, which a cell, that sees its own input only, cannot.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Matrices, V, repeated, summed
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.heads import heads_of
from rote.errors import UsageError

MIXED = ("receptance", "decay", "key", "value", "rate", "gate")
EPS, TINY = 64e-5, 1e-12  # of the norm of what was read, of the length of a key


def kept_of_row(value: Tensor) -> Tensor:
    return torch.exp(-math.exp(-0.5) * torch.sigmoid(value))


@cells.register("rwkv7")
class RWKV7Cell(Cell):
    """Time mixing of RWKV-7: a memory whose rows fade and are replaced, each at its own rate."""

    row_groups = ()
    gate_names = ("forget", "rate", "output")
    recurrent_matrix = False
    taken_whole = "receptance, keys, decay, rate and readout gate"
    state_names = ("hidden", "memory", "last")
    mix_key: Tensor
    weight_receptance: Tensor
    weight_key: Tensor
    weight_value: Tensor
    weight_decay: Tensor
    weight_decay_out: Tensor
    bias_decay: Tensor
    weight_rate: Tensor
    weight_rate_out: Tensor
    bias_rate: Tensor
    weight_gate: Tensor
    weight_gate_out: Tensor
    removal: Tensor
    replacement: Tensor
    bonus: Tensor
    norm_weight: Tensor
    norm_bias: Tensor
    weight_out: Tensor

    def configure(self, heads: int | None = None, rank: int | None = None) -> None:
        """``rank``: of the matrices behind decay, rate and gate; a quarter of the units unless given."""
        self.heads = heads_of(self.hidden_size, heads)
        self.rank = max(1, self.hidden_size // 4) if rank is None else rank
        if self.rank < 1:
            raise UsageError(f"'rank' must be at least 1. Got {rank}.")
        size = self.hidden_size // self.heads
        self.matrices = Matrices(self.heads, size, size)

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, self.matrices.size, self.input_size

    @property
    def direct_steps(self) -> int:
        return 2

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        units, given, rank = self.hidden_size, self.input_size, self.rank
        of_units = ("bias_decay", "bias_rate", "removal", "replacement", "bonus", "norm_weight", "norm_bias")
        return {
            **{f"mix_{name}": (given,) for name in MIXED},
            **{f"weight_{name}": (units, given) for name in ("receptance", "key", "value")},
            **{f"weight_{name}": (rank, given) for name in ("decay", "rate", "gate")},
            **{f"weight_{name}_out": (units, rank) for name in ("decay", "rate", "gate")},
            **dict.fromkeys(of_units, (units,)),
            "weight_out": (units, units),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory, last = state
        shape, size = self.matrices, self.matrices.columns

        ones = torch.ones_like(self.mix_key)
        back = a.convolve(projected, [last], torch.stack([ones, -ones], -1))  # last - x

        def mixed(name: str) -> V:
            return a.linear(projected + a.scale(back, getattr(self, f"mix_{name}")), getattr(self, f"weight_{name}"))

        r, k, v = a.whole(mixed("receptance")), a.whole(mixed("key")), mixed("value")
        w = a.linear(a.tanh(a.whole(mixed("decay"))), self.weight_decay_out) + a.constant(self.bias_decay)
        w = a.gate("forget", a.apply(kept_of_row, w))
        rate = a.linear(a.whole(mixed("rate")), self.weight_rate_out) + a.constant(self.bias_rate)
        rate = a.gate("rate", a.whole(a.sigmoid(rate)))
        n = a.norm(a.scale(k, self.removal), size, TINY, "length")
        k = k + a.product(a.scale(rate, self.replacement) - a.whole(a.constant(self.replacement)), k)
        memory = a.settle(a.replace(memory, w, n, a.product(rate, n), k, v, shape))
        y = a.norm(a.read(r, memory, shape), size, EPS, "layer")
        y = a.scale(y, self.norm_weight) + a.constant(self.norm_bias)
        own = a.arrange(a.scale(a.product(r, k), self.bonus), summed(size))
        y = y + a.product(a.arrange(own, repeated(size)), v)
        gate = a.linear(a.gate("output", a.sigmoid(a.whole(mixed("gate")))), self.weight_gate_out)
        return a.settle(a.linear(a.product(gate, y), self.weight_out)), memory, projected

    def initialize(self, how: Initialization) -> None:
        """Rows fade at rates from exp(-6) to exp(-1), mixtures go from none to all of the newest input."""
        super().initialize(how)
        units = torch.arange(self.hidden_size) / max(1, self.hidden_size - 1)
        with torch.no_grad():
            for name in MIXED:
                self.get_parameter(f"mix_{name}").copy_(1 - torch.arange(self.input_size) / self.input_size)
            self.bias_decay.copy_(-6 + 5 * units)
            for parameter, value in (
                ("bias_rate", 0.0),
                ("bonus", 0.0),
                ("norm_bias", 0.0),
                ("removal", 0.85),
                ("replacement", 1.0),
                ("norm_weight", 1.0),
            ):
                self.get_parameter(parameter).fill_(value)
