"""Both parts of every value, each through its own recursion, as the published implementations carry them.

Slower than ``splitting.Relevant`` and used to measure its error: nothing here knows the true state, so that relevant
plus irrelevant part equals it only if the rules and the arithmetic are right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rote.analyses.splitting import Number, Rules, shapley


@dataclass
class Parted:
    relevant: Tensor
    irrelevant: Tensor
    bias: Tensor
    whole: bool = False  # used undivided: only the sum of the parts has a meaning

    @property
    def total(self) -> Tensor:
        return self.relevant + self.irrelevant + self.bias

    def __add__(self, other: Parted) -> Parted:
        parts = (self.relevant + other.relevant, self.irrelevant + other.irrelevant, self.bias + other.bias)
        return Parted(*parts, self.whole or other.whole)

    def __rsub__(self, one: float) -> Parted:
        return Parted(-self.relevant, -self.irrelevant, one - self.bias, self.whole)


class BothParts:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.bias_counts: Number = 0.0

    def linear(self, value: Parted, weight: Tensor) -> Parted:
        return Parted(value.relevant @ weight.T, value.irrelevant @ weight.T, value.bias @ weight.T, value.whole)

    def constant(self, bias: Tensor) -> Parted:
        zero = torch.zeros_like(bias)
        return Parted(zero, zero, bias)

    def pieces(self, value: Parted, sizes: Sequence[int]) -> tuple[Parted, ...]:
        relevant, irrelevant, bias = (
            part.split(list(sizes), dim=-1) for part in (value.relevant, value.irrelevant, value.bias)
        )
        return tuple(Parted(r, i, b, value.whole) for r, i, b in zip(relevant, irrelevant, bias, strict=True))

    def sigmoid(self, value: Parted) -> Parted:
        return self._apply(torch.sigmoid, value)

    def tanh(self, value: Parted) -> Parted:
        return self._apply(torch.tanh, value)

    def relu(self, value: Parted) -> Parted:
        return self._apply(torch.relu, value)

    def product(self, gate: Parted, source: Parted) -> Parted:
        rg, ig, bg = gate.relevant, gate.irrelevant, gate.bias
        rs, i_s, bs = source.relevant, source.irrelevant, source.bias
        if source.whole:
            raise TypeError("The source of a product must be decomposed; only gates may be whole.")
        if gate.whole:
            return Parted(gate.total * rs, gate.total * i_s, gate.total * bs)
        relevant = rg * rs + rg * bs + bg * rs
        irrelevant = ig * i_s + ig * bs + rg * i_s + bg * i_s
        if self.rules.interactions == "source":
            relevant = relevant + ig * rs
        else:
            irrelevant = irrelevant + ig * rs
        return Parted(relevant, irrelevant, bg * bs)

    def settle(self, value: Parted) -> Parted:
        counted = self.bias_counts * value.bias
        return Parted(value.relevant + counted, value.irrelevant + value.bias - counted, torch.zeros_like(value.bias))

    def readout_gate(self, value: Parted) -> Parted:
        return value if self.rules.output_gate else Parted(value.relevant, value.irrelevant, value.bias, True)

    def gate(self, name: str, value: Parted) -> Parted:
        return value

    def _apply(self, function: Callable[[Tensor], Tensor], value: Parted) -> Parted:
        r, i, b = value.relevant, value.irrelevant, value.bias
        if value.whole:
            zero = torch.zeros_like(i)
            return Parted(zero, function(value.total), zero, True)
        if self.rules.linearization == "shapley":
            return Parted(*shapley(function, r, i + torch.zeros_like(r), b + torch.zeros_like(r)))
        both, alone = function(r + i + b), function(b)
        with_r, with_i = function(r + b), function(i + b)
        return Parted((with_r - alone + both - with_i) / 2, (with_i - alone + both - with_r) / 2, alone)
