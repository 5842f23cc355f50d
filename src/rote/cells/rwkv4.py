"""Time mixing of RWKV-4 (Peng et al. 2023): a weighted mean of all earlier values, whose weights fade.

mix_c = p_c * x + (1 - p_c) * last          for c = key, value and receptance; last is the input before
k, v, r = W_k mix_k, W_v mix_v, sigmoid(W_r mix_r)
y = (sum_s exp(k_s - (t - 1 - s) w) v_s + exp(u + k) v) / (the same without v)          w = exp(time_decay), s < t
output = W_out (r * y)

Both sums are states, ``numerator`` and ``denominator``, divided by the exponential of ``highest``, so that nothing
overflows. Keys, the denominator and that stabilizer are used whole by every rule of decomposition: the exponential of a
part has no bound, and a part of a denominator may be zero. Taken apart are the mean of values and the receptance.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, Initialization, cells

MIXED = ("key", "value", "receptance")


@cells.register("rwkv4")
class RWKV4Cell(Cell):
    """Time mixing of RWKV-4: a fading weighted mean of values behind a receptance gate."""

    row_groups = ()
    gate_names = ("input", "receptance")
    recurrent_matrix = False
    state_names = ("hidden", "numerator", "denominator", "highest", "last")
    whole_states = ("denominator", "highest")
    start_values = {"highest": -1e30}  # noqa: RUF012
    weight_key: Tensor
    weight_value: Tensor
    weight_receptance: Tensor
    weight_out: Tensor
    mix_key: Tensor
    mix_value: Tensor
    mix_receptance: Tensor
    time_decay: Tensor
    time_first: Tensor

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return *(self.hidden_size,) * 4, self.input_size

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        units, given = self.hidden_size, self.input_size
        return {
            **{f"weight_{name}": (units, given) for name in MIXED},
            "weight_out": (units, units),
            **{f"mix_{name}": (given,) for name in MIXED},
            "time_decay": (units,),
            "time_first": (units,),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, numerator, denominator, highest, last = state

        def mixed(share: Tensor, weight: Tensor) -> V:
            return a.linear(a.scale(projected, share) + a.scale(last, 1 - share), weight)

        k, v = a.whole(mixed(self.mix_key, self.weight_key)), mixed(self.mix_value, self.weight_value)
        r = a.sigmoid(a.readout_gate(mixed(self.mix_receptance, self.weight_receptance)))
        now = k + a.constant(self.time_first)
        old, new = shares(a, highest, now, a.maximum(highest, now))
        each = a.reciprocal(a.product(old, denominator) + new)
        own = a.product(a.gate("input", a.product(each, new)), v)
        y = a.product(a.product(each, old), numerator) + own
        hidden = a.settle(a.linear(a.product(a.gate("receptance", r), y), self.weight_out))
        faded = highest + a.constant(-torch.exp(self.time_decay))
        highest = a.maximum(faded, k)
        old, new = shares(a, faded, k, highest)
        numerator = a.settle(a.product(old, numerator) + a.product(new, v))
        return hidden, numerator, a.product(old, denominator) + new, highest, projected

    def initialize(self, how: Initialization) -> None:
        """Units fade at rates from exp(-5) to exp(3), and mix from none to all of the newest input (appendix E)."""
        super().initialize(how)
        with torch.no_grad():
            self.time_decay.copy_(-5 + 8 * torch.linspace(0, 1, self.hidden_size) ** 0.7)
            self.time_first.fill_(math.log(0.3))
            for name in MIXED:
                self.get_parameter(f"mix_{name}").copy_(torch.arange(self.input_size) / self.input_size)


def shares(a: Arithmetic[V], old: V, new: V, highest: V) -> tuple[V, V]:
    """The exponentials of two values, both over that of the larger one."""
    return a.exp(old - highest), a.exp(new - highest)
