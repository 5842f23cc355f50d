"""A unit whose gates do not see its state (minGRU, Feng et al. 2024), written as a user would; and one with a larger
state than it has units."""

from __future__ import annotations

from rote.cells import Arithmetic, Cell
from rote.cells.arithmetic import V


class MinGRUCell(Cell):
    """z = sigmoid(W_z x + b_z), h' = (1 - z) h + z (W_h x + b_h): the state meets no matrix."""

    row_groups = (1, 1)
    gate_names = ("update", "candidate")
    gate_bias_rows = (0,)
    recurrent_matrix = False

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        (h,) = state
        z, n = a.pieces(projected + a.constant(self.bias), [self.hidden_size] * 2)
        z, n = a.gate("update", a.sigmoid(z)), a.gate("candidate", n)
        return (a.settle(a.product(1 - z, h) + a.product(z, n)),)


class WideCell(Cell):
    """No recurrent matrix, and twice as many units of state as of output: a gate decides over each of them."""

    row_groups = (2, 2)
    gate_names = ("keep", "candidate")
    state_names = ("hidden", "memory")
    recurrent_matrix = False

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, 2 * self.hidden_size

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, m = state
        z, n = a.pieces(projected + a.constant(self.bias), [2 * self.hidden_size] * 2)
        z, n = a.gate("keep", a.sigmoid(z)), a.gate("candidate", a.tanh(n))
        m = a.settle(a.product(z, m) + a.product(1 - z, n))
        first, second = a.pieces(m, [self.hidden_size] * 2)
        return a.product(a.sigmoid(first), second), m
