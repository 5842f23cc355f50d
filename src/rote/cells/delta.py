"""The delta rule (Schlag, Irie and Schmidhuber 2021; Yang et al. 2024, DeltaNet): a memory that is corrected.

q, k, v = silu(conv(W x));  q and k of length 1, q over the root of its size
S' = S + b k (v - k S)^T;  y = q S'          b = sigmoid(W_b x); S is a matrix for each head
output = W_out norm(y)                       norm: the root mean square of each head

k S is what the memory holds at the place k: the difference from what is to be there, v, is written, so that a place can
be written anew. Keys, queries and b are used whole by every rule of decomposition. Only a key of length 1 shrinks the
memory: parts of it are longer, and parts of the state would grow at every step. Rows of ``weight_ih``: q, k, v, b.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Matrices, V, tiled
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.convolution import past_names, pushed
from rote.cells.heads import heads_of
from rote.errors import UsageError

EPS = 1e-6


@cells.register("delta")
class DeltaCell(Cell):
    """Delta rule of DeltaNet: what is written at a place replaces what was there."""

    row_groups = ()
    gate_names: tuple[str, ...] = ("write",)
    recurrent_matrix = False
    taken_whole = "keys, queries and gates"
    weight_conv: Tensor
    norm_weight: Tensor
    weight_out: Tensor

    def configure(self, heads: int | None = None, width: int = 4) -> None:
        if width < 1:
            raise UsageError(f"'width' of the convolution must be at least 1. Got {width}.")
        self.heads, self.width = heads_of(self.hidden_size, heads), width
        size = self.hidden_size // self.heads
        self.matrices = Matrices(self.heads, size, size)
        self.state_names = ("hidden", "memory", *past_names(width))

    @property
    def row_sizes(self) -> list[int]:
        """Of q, k and v together, and of b."""
        return [3 * self.hidden_size, self.heads]

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, self.matrices.size, *(3 * self.hidden_size,) * (self.width - 1)

    @property
    def direct_steps(self) -> int:
        return self.width

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return {
            "weight_ih": (sum(self.row_sizes), self.input_size),
            "weight_conv": (3 * self.hidden_size, self.width),
            "norm_weight": (self.matrices.columns,),
            "weight_out": (self.hidden_size, self.hidden_size),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory, *past = state
        qkv, b, *rest = a.pieces(projected, self.row_sizes)
        q, k, v = a.pieces(a.convolve(qkv, past, self.weight_conv), [self.hidden_size] * 3)
        size, shape = self.matrices.rows, self.matrices
        q, k = (a.norm(a.silu(a.whole(value)), size, EPS, "length") for value in (q, k))
        share = a.gate("write", a.whole(a.sigmoid(b)))
        memory = a.settle(a.write(memory, self.kept(a, rest), k, a.silu(v), shape, share=share))
        y = a.norm(a.read(a.scale(q, size**-0.5), memory, shape), size, EPS)
        shown = self.shown(a, a.scale(y, tiled(self.heads).forward(self.norm_weight)), rest)
        return a.settle(a.linear(shown, self.weight_out)), memory, *pushed(qkv, past)

    def kept(self, a: Arithmetic[V], rest: list[V]) -> V | None:
        """How much of the memory a step begins with: all of it."""
        return None

    def shown(self, a: Arithmetic[V], y: V, rest: list[V]) -> V:
        """What is given out of what was read: all of it."""
        return y

    def initialize(self, how: Initialization) -> None:
        super().initialize(how)
        with torch.no_grad():
            self.norm_weight.fill_(1.0)
