"""The state space layer of Mamba-2 (Dao and Gu 2024): ``s6`` with one decay for each head.

z, x, B, C, s = W_in input               twice as many inner units as the layer has
u, B, C = silu(conv([x, B, C]))          a causal convolution over the last steps
p = s + bias_step;  a = exp(-exp(a_log) softplus(p))
S' = a S + B (softplus(p) * u)^T;  y = C S' + skip * u        S is a matrix for each head
output = W_out norm(silu(z) * y)         norm: the root mean square over all inner units

B and C belong to a group of heads. They, the length of a step and a are used whole by every rule of decomposition, as
in ``s6``. Rows of ``weight_ih``: z, x, B, C, s.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Matrices, V, repeated, tiled
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.convolution import past_names, pushed
from rote.cells.heads import heads_of
from rote.cells.s6 import EXPAND, decay
from rote.errors import UsageError

EPS = 1e-5


@cells.register("ssd")
class SSDCell(Cell):
    """State space layer of Mamba-2: heads of a matrix each, with a decay that depends on the input."""

    row_groups = ()
    gate_names = ("forget",)
    recurrent_matrix = False
    taken_whole = "the length of a step, what it keeps, B and C"
    weight_conv: Tensor
    bias_conv: Tensor
    a_log: Tensor
    bias_step: Tensor
    skip: Tensor
    norm_weight: Tensor
    weight_out: Tensor

    def configure(self, state_size: int = 16, width: int = 4, heads: int | None = None, groups: int = 1) -> None:
        """``groups``: of heads that share what they write with and read with."""
        self.inner = EXPAND * self.hidden_size
        self.heads = heads_of(self.inner, heads)
        if min(state_size, width, groups) < 1 or self.heads % groups:
            raise UsageError(
                f"'state_size', 'width' and 'groups' must be at least 1, and 'groups' must divide the {self.heads} "
                f"heads. Got {state_size}, {width}, {groups}."
            )
        self.state_size, self.width, self.groups = state_size, width, groups
        self.matrices = Matrices(self.heads, state_size, self.inner // self.heads)
        self.state_names = ("hidden", "memory", *past_names(width))

    @property
    def convolved_size(self) -> int:
        return self.inner + 2 * self.groups * self.state_size

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, self.matrices.size, *(self.convolved_size,) * (self.width - 1)

    @property
    def direct_steps(self) -> int:
        return self.width

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        rows = self.inner + self.convolved_size + self.heads
        return {
            "weight_ih": (rows, self.input_size),
            "weight_conv": (self.convolved_size, self.width),
            "bias_conv": (self.convolved_size,),
            **dict.fromkeys(("a_log", "bias_step", "skip"), (self.heads,)),
            "norm_weight": (self.inner,),
            "weight_out": (self.hidden_size, self.inner),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory, *past = state
        z, newest, s = a.pieces(projected, [self.inner, self.convolved_size, self.heads])
        conv = a.convolve(newest, past, self.weight_conv) + a.constant(self.bias_conv)
        x, b, c = a.pieces(conv, [self.inner, *[self.groups * self.state_size] * 2])
        by_head, size = tiled(self.heads // self.groups, self.groups), self.matrices.columns
        u, (b, c) = a.silu(x), (a.arrange(a.silu(a.whole(value)), by_head) for value in (b, c))
        p = a.whole(s) + a.constant(self.bias_step)
        kept, length = a.gate("forget", a.apply(decay, p, self.a_log)), a.arrange(a.softplus(p), repeated(size))
        memory = a.settle(a.write(memory, kept, b, a.product(length, u), self.matrices))
        y = a.read(c, memory, self.matrices) + a.scale(u, repeated(size).forward(self.skip))
        shown = a.norm(a.product(a.silu(a.readout_gate(z)), y), self.inner, EPS)
        hidden = a.settle(a.linear(a.scale(shown, self.norm_weight), self.weight_out))
        return hidden, memory, *pushed(newest, past)

    def initialize(self, how: Initialization) -> None:
        """Heads fade at rates 1, 2, 3, ..., steps are 0.001 to 0.1 long."""
        super().initialize(how)
        with torch.no_grad():
            self.a_log.copy_(torch.arange(1, self.heads + 1).log())
            length = self.bias_step.uniform_(math.log(1e-3), math.log(0.1)).exp()
            self.bias_step.copy_(length.expm1().log())
            self.skip.fill_(1.0)
            self.norm_weight.fill_(1.0)
