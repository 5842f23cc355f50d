"""Arithmetics that carry, along with every value, the part of it that comes from chosen inputs.

A value v is the sum of a relevant part (from the chosen inputs), an irrelevant part (from the others) and a part made
by biases alone. The rules, for each operation a cell can use:

linear      each part by itself
phi(v)      contextual decomposition, bias first (Murdoch et al. 2018): B = phi(b) and
            R = 1/2 (phi(r + b) - phi(b) + phi(v) - phi(v - r)); or the Shapley value of the three parts, with phi(0)
            kept with the bias
gate * s    relevant: R_g (R_s + B_s) + B_g R_s; with interactions="source" also I_g R_s. Bias: B_g B_s
settle      the bias part joins the relevant one where the bias rule says so, else the irrelevant one

``Relevant`` carries the relevant part only: the irrelevant one is the true value minus it. ``BothParts`` carries both
through their own recursions, as the published implementations do; that their sum is the true state is then a check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Interactions = Literal["relevant", "source"]
Linearization = Literal["bias_first", "shapley"]
Number = Tensor | float


@dataclass(frozen=True)
class Rules:
    interactions: Interactions = "relevant"
    linearization: Linearization = "bias_first"
    output_gate: bool = False


@dataclass
class Split:
    """A value in parts. ``relevant`` is None for a value that is used whole (an output gate)."""

    total: Tensor  # [batch, 1, unit]: the same for every span
    relevant: Number | None  # [batch, span, unit]
    bias: Number = 0.0

    def __add__(self, other: Split) -> Split:
        if self.relevant is None or other.relevant is None:
            return Split(self.total + other.total, None)
        return Split(self.total + other.total, _add(self.relevant, other.relevant), _add(self.bias, other.bias))

    def __rsub__(self, one: float) -> Split:
        return Split(one - self.total, None if self.relevant is None else -self.relevant, one - self.bias)


class Relevant:
    """The relevant part of every value; ``bias_counts`` [batch, span, 1] says where settled biases join it now."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.bias_counts: Tensor | None = None

    def linear(self, value: Split, weight: Tensor) -> Split:
        part = value.relevant
        return Split(value.total @ weight.T, part @ weight.T if isinstance(part, Tensor) else part)

    def constant(self, bias: Tensor) -> Split:
        return Split(bias, 0.0, bias)

    def pieces(self, value: Split, sizes: Sequence[int]) -> tuple[Split, ...]:
        n, sizes = len(sizes), list(sizes)

        def cut(part: Number | None) -> Sequence[Number | None]:
            return part.split(sizes, dim=-1) if isinstance(part, Tensor) else [part] * n

        totals = value.total.split(sizes, dim=-1)
        return tuple(map(Split, totals, cut(value.relevant), cut(value.bias)))  # type: ignore[arg-type]

    def sigmoid(self, value: Split) -> Split:
        return self._apply(torch.sigmoid, value)

    def tanh(self, value: Split) -> Split:
        return self._apply(torch.tanh, value)

    def relu(self, value: Split) -> Split:
        return self._apply(torch.relu, value)

    def product(self, gate: Split, source: Split) -> Split:
        total = gate.total * source.total
        if source.relevant is None:
            raise TypeError("The source of a product must be decomposed; only gates may be whole.")
        if gate.relevant is None:
            return Split(total, gate.total * source.relevant, gate.total * source.bias)
        weight = gate.total if self.rules.interactions == "source" else _add(gate.relevant, gate.bias)
        relevant = _add(_times(weight, source.relevant), _times(gate.relevant, source.bias))
        return Split(total, relevant, _times(gate.bias, source.bias))

    def settle(self, value: Split) -> Split:
        assert value.relevant is not None
        if self.bias_counts is None or not isinstance(value.bias, Tensor):
            return Split(value.total, value.relevant)
        return Split(value.total, _add(value.relevant, self.bias_counts * value.bias))

    def readout_gate(self, value: Split) -> Split:
        return value if self.rules.output_gate else Split(value.total, None)

    def gate(self, name: str, value: Split) -> Split:
        return value

    def _apply(self, function: Callable[[Tensor], Tensor], value: Split) -> Split:
        total = function(value.total)
        if value.relevant is None:
            return Split(total, None)
        if self.rules.linearization == "shapley":
            irrelevant = value.total - value.relevant - value.bias
            relevant, _, bias = shapley(function, value.relevant, irrelevant, value.bias)
            return Split(total, relevant, bias)
        r, b = _tensor(value.relevant, value.total), value.bias
        alone = function(b) if isinstance(b, Tensor) else float(function(torch.tensor(b)))
        # In place on fresh tensors: this is where most of the time goes.
        relevant = function(r + b).sub_(alone).add_(total).sub_(function(value.total - r)).mul_(0.5)
        return Split(total, relevant, alone)


def shapley(
    function: Callable[[Tensor], Tensor], relevant: Number, irrelevant: Tensor, bias: Number
) -> tuple[Tensor, Tensor, Tensor]:
    """Shapley values of the three parts in function(r + i + b); function(0) stays with the bias."""
    r, i, b = (_tensor(part, irrelevant) for part in (relevant, irrelevant, bias))
    nothing, all_three = function(torch.zeros_like(i)), function(r + i + b)
    alone = [function(part) for part in (r, i, b)]
    ri, rb, ib = function(r + i), function(r + b), function(i + b)

    def value(
        own: Tensor, first: Tensor, second: Tensor, with_first: Tensor, with_second: Tensor, others: Tensor
    ) -> Tensor:
        return (own - nothing) / 3 + (with_first - first + with_second - second) / 6 + (all_three - others) / 3

    return (
        value(alone[0], alone[1], alone[2], ri, rb, ib),
        value(alone[1], alone[0], alone[2], ri, ib, rb),
        value(alone[2], alone[0], alone[1], rb, ib, ri) + nothing,
    )


def _add(a: Number, b: Number) -> Number:
    """Skips the exact zeros that stand for absent parts."""
    if isinstance(a, float) and a == 0.0:
        return b
    return a if isinstance(b, float) and b == 0.0 else a + b


def _times(a: Number, b: Number) -> Number:
    if (isinstance(a, float) and a == 0.0) or (isinstance(b, float) and b == 0.0):
        return 0.0
    return a * b


def _tensor(part: Number, like: Tensor) -> Tensor:
    return part if isinstance(part, Tensor) else torch.full_like(like, part)
