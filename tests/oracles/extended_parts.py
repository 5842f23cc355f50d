"""Contextual decomposition in numpy's extended precision (80 bits here): both parts of every value, nothing shared.

The plain recursion of the definitions (docs/decomposition.md), straight on the cell's own step, so that a trained cell
of any kind can be followed over long sequences. Nothing of Rote's arithmetics is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, permutations
from typing import Any

import numpy as np
from torch import Tensor

from rote.cells import Cell

Array = np.ndarray


@dataclass
class Value:
    r: Array
    q: Array
    b: Array
    whole: bool = False

    @property
    def total(self) -> Array:
        return self.r + self.q + self.b

    def __add__(self, other: Value) -> Value:
        return Value(self.r + other.r, self.q + other.q, self.b + other.b, self.whole or other.whole)

    def __rsub__(self, one: float) -> Value:
        return Value(-self.r, -self.q, one - self.b, self.whole)


def times(part: Array, matrix: Array) -> Array:
    """The product, of which rows of zeros, as a part has them outside its span, are not computed: in extended precision
    nothing takes longer."""
    rows = part.any(-1)
    made = np.zeros((*part.shape[:-1], matrix.shape[1]), matrix.dtype)
    made[rows] = part[rows] @ matrix
    return made


class Extended:
    def __init__(self, rules: dict[str, Any], precision: type) -> None:
        self.bias, self.interactions, self.output_gate = rules["bias"], rules["interactions"], rules["output_gate"]
        self.three = rules.get("linearization") == "shapley"
        self.precision = precision
        self.counts: Array = np.zeros(1)
        self._weights: dict[Any, Array] = {}

    def weight(self, weight: Tensor) -> Array:
        key = (weight.data_ptr(), tuple(weight.shape))
        if key not in self._weights:
            self._weights[key] = np.ascontiguousarray(weight.detach().numpy().T.astype(self.precision))
        return self._weights[key]

    def linear(self, value: Value, weight: Tensor) -> Value:
        matrix = self.weight(weight)
        return Value(times(value.r, matrix), times(value.q, matrix), times(value.b, matrix), value.whole)

    def constant(self, bias: Tensor) -> Value:
        own = bias.detach().numpy().astype(self.precision)
        return Value(0 * own, 0 * own, own)

    def pieces(self, value: Value, sizes: Sequence[int]) -> tuple[Value, ...]:
        cuts = np.cumsum(sizes)[:-1]
        parts = zip(*(np.split(part, cuts, axis=-1) for part in (value.r, value.q, value.b)), strict=True)
        return tuple(Value(r, q, b, value.whole) for r, q, b in parts)

    def sigmoid(self, value: Value) -> Value:
        return self._apply(lambda x: 1 / (1 + np.exp(-x)), value)

    def tanh(self, value: Value) -> Value:
        return self._apply(np.tanh, value)

    def relu(self, value: Value) -> Value:
        return self._apply(lambda x: np.maximum(x, 0), value)

    def _apply(self, phi: Callable[[Array], Array], value: Value) -> Value:
        r, q, b = value.r, value.q, value.b
        if value.whole:
            return Value(0 * q, phi(value.total), 0 * q, True)
        if self.three:  # the mean over all orders in which r, q and b can come
            nothing = phi(0 * (r + q + b))
            shares = [0 * nothing] * 3
            for order in permutations(range(3)):
                sums = [0 * nothing, *accumulate((r, q, b)[number] + 0 * nothing for number in order)]
                for place, number in enumerate(order):
                    shares[number] = shares[number] + (phi(sums[place + 1]) - phi(sums[place])) / 6
            return Value(shares[0], shares[1], shares[2] + nothing)
        alone, with_r, with_q, both = phi(b), phi(r + b), phi(q + b), phi(r + q + b)
        return Value((with_r - alone + both - with_q) / 2, (with_q - alone + both - with_r) / 2, alone)

    def product(self, g: Value, s: Value) -> Value:
        if g.whole:
            return Value(g.total * s.r, g.total * s.q, g.total * s.b)
        r, q = g.r * (s.r + s.b) + g.b * s.r, g.q * (s.q + s.b) + g.b * s.q
        share = {"relevant": (0, 0), "source": (1, 0), "shapley": (0.5, 0.5)}[self.interactions]
        r = r + share[0] * g.q * s.r + share[1] * g.r * s.q
        q = q + (1 - share[0]) * g.q * s.r + (1 - share[1]) * g.r * s.q
        return Value(r, q, g.b * s.b)

    def settle(self, value: Value) -> Value:
        if self.bias == "reference":
            return value
        return Value(value.r + self.counts * value.b, value.q + (1 - self.counts) * value.b, 0 * value.b)

    def readout_gate(self, value: Value) -> Value:
        return value if self.output_gate else Value(value.r, value.q, value.b, True)

    def gate(self, name: str, value: Value) -> Value:
        return value


def decompose(
    cell: Cell, vectors: Array, spans: Sequence[tuple[int, int]], rules: dict[str, Any], precision: type = np.longdouble
) -> tuple[Array, Array]:
    """Relevant and irrelevant part of one layer's hidden state, [span, time, unit]."""
    a = Extended(rules, precision)
    inputs = vectors.astype(precision) @ a.weight(cell.weight_ih)
    inside = np.zeros((len(spans), len(inputs), 1), precision)
    for number, (start, end) in enumerate(spans):
        inside[number, start : end + 1] = 1
    state = []
    for zeros in cell.zero_state(len(spans)):
        none = zeros.numpy().astype(precision)
        state.append(Value(none, none, none))
    relevant, irrelevant = [], []
    for t, x in enumerate(inputs):
        a.counts = inside[:, t] * (rules["bias"] == "in_span")
        state = [
            a.settle(v) for v in cell.step(a, Value(inside[:, t] * x, (1 - inside[:, t]) * x, 0 * x), tuple(state))
        ]
        relevant.append(state[0].r)
        irrelevant.append(state[0].q)
    return np.stack(relevant, 1), np.stack(irrelevant, 1)
