"""Linear attention with a decay for each head (Katharopoulos et al. 2020; Sun et al. 2023, RetNet; MiniMax 2025).

q, k, v = silu(W x);  S' = g S + k v^T;  y = q S'       S is a matrix for each head, g a number
output = W_out (sigmoid(W_gate x) * norm(y))            norm: the root mean square over all heads

The decay is g = exp(-exp(decay_log)), which starts as RetNet's 1 - 2^(-5 - head) and is learned; decay="none" keeps
everything. What is written and read is q and k, used whole by every rule of decomposition: they have no bias, so that a
part of q would find nothing of what stands outside its own span. Rows of ``weight_ih``: q, k, v, gate.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Matrices, V
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.heads import heads_of
from rote.config import one_of

EPS = 1e-6


@cells.register("linear_attention")
class LinearAttentionCell(Cell):
    """Linear attention: a matrix of what was written, which fades, read by a query."""

    row_groups = (1, 1, 1, 1)
    gate_names = ("output",)
    recurrent_matrix = False
    taken_whole = "keys and queries"
    state_names = ("hidden", "memory")
    decay_log: Tensor | None
    norm_weight: Tensor
    weight_out: Tensor

    def configure(self, heads: int | None = None, decay: Literal["learned", "none"] = "learned") -> None:
        self.decay = one_of("decay", decay, ("learned", "none"))
        self.heads = heads_of(self.hidden_size, heads)
        size = self.hidden_size // self.heads
        self.matrices = Matrices(self.heads, size, size)

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, self.matrices.size

    @property
    def direct_steps(self) -> int:
        return 1

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return {
            "weight_ih": (self.rows, self.input_size),
            "decay_log": None if self.decay == "none" else (self.heads,),
            "norm_weight": (self.hidden_size,),
            "weight_out": (self.hidden_size, self.hidden_size),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory = state
        q, k, v, o = a.pieces(projected, [self.hidden_size] * 4)
        kept = None if self.decay_log is None else a.whole(a.constant(torch.exp(-torch.exp(self.decay_log))))
        memory = a.settle(a.write(memory, kept, a.silu(a.whole(k)), a.silu(v), self.matrices))
        y = a.norm(a.read(a.silu(a.whole(q)), memory, self.matrices), self.hidden_size, EPS)
        o = a.gate("output", a.sigmoid(a.readout_gate(o)))
        return a.settle(a.linear(a.product(o, a.scale(y, self.norm_weight)), self.weight_out)), memory

    def initialize(self, how: Initialization) -> None:
        super().initialize(how)
        with torch.no_grad():
            self.norm_weight.fill_(1.0)
            if self.decay_log is not None:
                kept = 1 - 2.0 ** (-5 - torch.arange(self.heads, dtype=torch.float64))
                self.decay_log.copy_((-kept.log()).log())
