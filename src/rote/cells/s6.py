"""The selective state space layer of Mamba (Gu and Dao 2023): each inner unit has a memory of several numbers.

x, z = W_in input             twice as many inner units as the layer has; z gates what is shown
u = silu(conv(x))             a causal convolution over the last steps, one kernel for each unit
s, B, C = W_select u;  p = W_step s + b_step
a = exp(-exp(a_log) softplus(p))
m' = a * m + (softplus(p) * u) B^T        a matrix, unit by number, kept as one long state
y = m' C + skip * u;  output = W_out (silu(z) * y)

How far a step goes, softplus(p), and with it a, and where it writes and reads, B and C, are used whole by every rule of
decomposition: taken apart they have no bound, and C, which has no bias, would leave all earlier steps with a part of
zero. a is one function of p, since a part of softplus(p) may lie below zero. The layer is Mamba's mixer as the authors'
code has it: what is written is softplus(p) B, where their paper integrates. With signed=True, 2 a - 1 stands for a:
what is kept may change its sign, without which no such layer can track parity (Grazzi et al. 2025).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

from rote.cells.arithmetic import Arithmetic, Plain, V, repeated, summed, tiled
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.s6_training import run_s6
from rote.errors import UsageError

EXPAND = 2


def decay(value: Tensor, a_log: Tensor) -> Tensor:
    return torch.exp(-torch.exp(a_log) * softplus(value))


def signed_decay(value: Tensor, a_log: Tensor) -> Tensor:
    return 2 * decay(value, a_log) - 1


@cells.register("s6")
class S6Cell(Cell):
    """Selective state space layer of Mamba: what is kept, written and read depends on the input."""

    row_groups = (EXPAND, EXPAND)
    gate_names = ("forget",)
    recurrent_matrix = False
    taken_whole = "the length of a step, what it keeps, B and C"
    weight_conv: Tensor
    bias_conv: Tensor
    weight_select: Tensor
    weight_step: Tensor
    bias_step: Tensor
    a_log: Tensor
    skip: Tensor
    weight_out: Tensor

    def configure(self, state_size: int = 16, width: int = 4, rank: int | None = None, signed: bool = False) -> None:
        """``rank``: of what the step is computed from; a sixteenth of the units unless given. ``signed``: memories may
        change their sign from step to step."""
        rank = math.ceil(self.hidden_size / 16) if rank is None else rank
        if min(state_size, width, rank) < 1:
            raise UsageError(f"'state_size', 'width' and 'rank' must be at least 1. Got {state_size}, {width}, {rank}.")
        self.state_size, self.width, self.rank, self.signed = state_size, width, rank, signed
        self.state_names = ("hidden", "memory", *(f"past_{ago}" for ago in range(1, width)))

    @property
    def _is_plain(self) -> bool:
        kind = type(self)
        return kind.step is S6Cell.step and kind.selected is S6Cell.selected and not self.signed

    @property
    def inner(self) -> int:
        return EXPAND * self.hidden_size

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, self.inner * self.state_size, *(self.inner,) * (self.width - 1)

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        inner, numbers = self.inner, self.state_size
        return {
            "weight_ih": (self.rows, self.input_size),
            "weight_conv": (inner, self.width),
            "bias_conv": (inner,),
            "weight_select": (self.rank + 2 * numbers, inner),
            "weight_step": (inner, self.rank),
            "bias_step": (inner,),
            "a_log": (inner, numbers),
            "skip": (inner,),
            "weight_out": (self.hidden_size, inner),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory, *past = state
        x, z = a.pieces(projected, [self.inner] * 2)
        u = a.scale(x, self.weight_conv[..., -1]) + a.constant(self.bias_conv)
        for ago, earlier in enumerate(past, start=2):
            u = u + a.scale(earlier, self.weight_conv[..., -ago])
        u = a.silu(u)
        numbers, each, every = self.state_size, repeated(self.state_size), tiled(self.inner)
        s, b, c = self.selected(a, a.pieces(a.linear(u, self.weight_select), [self.rank, numbers, numbers]))
        p = a.linear(s, self.weight_step) + a.constant(self.bias_step)
        function = signed_decay if self.signed else decay
        kept = a.gate("forget", a.whole(a.apply(function, a.arrange(p, each), self.a_log.flatten(-2))))
        written = a.product(a.whole(a.arrange(b, every)), a.arrange(a.product(a.whole(a.softplus(p)), u), each))
        memory = a.settle(a.product(kept, memory) + written)
        y = a.arrange(a.product(a.whole(a.arrange(c, every)), memory), summed(numbers)) + a.scale(u, self.skip)
        hidden = a.settle(a.linear(a.product(a.silu(a.readout_gate(z)), y), self.weight_out))
        return hidden, memory, *(x, *past)[: self.width - 1]

    def selected(self, a: Arithmetic[V], values: tuple[V, ...]) -> tuple[V, ...]:
        """s, B and C, as they are."""
        return values

    def over_time(
        self, a: Plain, projected: Tensor, start: tuple[Tensor, ...], mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        return run_s6(self, a, projected, start, mask) if self._is_plain else None

    def initialize(self, how: Initialization) -> None:
        """The numbers of a unit fade at rates 1, 2, 3, ..., steps are 0.001 to 0.1 long (section 3.6)."""
        super().initialize(how)
        with torch.no_grad():
            self.a_log.copy_(torch.arange(1, self.state_size + 1).log().expand_as(self.a_log))
            length = self.bias_step.uniform_(math.log(1e-3), math.log(0.1)).exp()
            self.bias_step.copy_(length.expm1().log())
            self.skip.fill_(1.0)
