"""minGRU (Feng et al. 2024, "Were RNNs All We Needed?"): a GRU whose gates see the input alone. Rows n, z.

h' = (1 - z) * h + z * g(n),  z = sigmoid(W_z x + b_z),  n = W_n x + b_n

form="log" is the one that the paper trains, in which states stay positive so that their logarithms can be added up
(appendix B): g(v) = v + 1/2 above zero and sigmoid(v) below. form="plain" is that of its section 3.1: g(v) = v.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, cells
from rote.config import one_of

Form = Literal["log", "plain"]


def positive(value: Tensor) -> Tensor:
    """The paper's g: above zero everywhere, and nearly linear where the value is large."""
    return torch.where(value >= 0, value + 0.5, torch.sigmoid(value))


def candidate(a: Arithmetic[V], value: V, form: Form) -> V:
    return a.gate("candidate", a.apply(positive, value) if form == "log" else value)


@cells.register("min_gru")
class MinGRUCell(Cell):
    """minGRU: the update gate and the candidate see the input alone; no recurrent matrix."""

    row_groups = (1, 1)
    gate_names = ("update", "candidate")
    recurrent_matrix = False

    def configure(self, form: Form = "log") -> None:
        self.form: Form = one_of("form", form, ("log", "plain"))

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        (h,) = state
        n, z = a.pieces(projected + a.constant(self.bias), [self.hidden_size] * 2)
        z, n = a.gate("update", a.sigmoid(z)), candidate(a, n, self.form)
        return (a.settle(a.product(1 - z, h) + a.product(z, n)),)
