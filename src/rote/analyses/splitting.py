"""An arithmetic that carries, along with every value, one part of it: what comes from chosen inputs, or the rest.

A value v is the sum of a relevant part r (from the chosen inputs), an irrelevant part q (from the others) and a part b
that comes from no input. Only one of r and q is carried, p; the other is v - b - p. The rules, for each operation that
a cell can use, with o for the other part:

linear      each part by itself
phi(v)      contextual decomposition, bias first (Murdoch et al. 2018): B = phi(b) and
            P = 1/2 (phi(p + b) - phi(b) + phi(v) - phi(v - p)); or the Shapley value of the three parts, with phi(0)
            kept with the bias
gate * s    shapley   R = R_g (R_s + B_s) + B_g R_s + 1/2 (R_g Q_s + Q_g R_s), a cross term is shared by its factors:
                      P = 1/2 (P_g (S + B_s) + P_s (G + B_g))
            source    R = R_g (R_s + B_s) + (B_g + Q_g) R_s, a cross term goes with its source: P = G P_s + P_g B_s
            relevant  R = R_g (R_s + B_s) + B_g R_s, every cross term is irrelevant: Q = (G - Q_g) Q_s + Q_g S
            Bias: B_g B_s
            Where one factor is whole (marked so, or a gate with gates="whole"), every part of the other is multiplied
            with it
settle      with bias="reference" b stays: it is the state of the reference run, on inputs of zero. By the other rules
            it joins the relevant part where the rule says so, else the irrelevant one

A part of zero stays exactly zero, and the differences of sigmoid, tanh and relu are computed without cancellation
(``differences``), so that a part keeps its relative precision however small it is. ``propagation`` carries the smaller
of the two parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from torch import Tensor

from rote.analyses.differences import DIFFERENCES, IN_PLACE, of_other, shapley
from rote.cells.arithmetic import Arithmetic, Arrangement, Function, NoTensor
from rote.cells.cell import Cell
from rote.errors import UsageError

Bias = Literal["reference", "in_span", "exclusive_end", "never"]
Interactions = Literal["shapley", "source", "relevant"]
Linearization = Literal["bias_first", "shapley"]
Gates = Literal["parts", "whole"]
Number = Tensor | float  # a float 0.0 stands for a part that is absent


@dataclass(frozen=True)
class Rules:
    """How sums and products are split."""

    bias: Bias = "reference"
    interactions: Interactions = "shapley"
    linearization: Linearization = "bias_first"
    output_gate: bool = True
    gates: Gates = "parts"

    def takes_apart(self, gate: str) -> bool:
        """Whether the gate of this name is taken apart. A candidate always is: it is what the gates act on."""
        return self.gates == "parts" or gate.startswith("candidate")

    @property
    def reference(self) -> bool:
        return self.bias == "reference"


PRESETS = {
    "shapley": Rules(),
    "murdoch2018": Rules("in_span", "relevant", "bias_first", output_gate=False),
    "gcd2019": Rules("in_span", "source", "shapley", output_gate=True),
}


def published_gates(cells: Iterable[Cell]) -> Gates:
    """How the published rule, which is refused on some cells with their gates in parts, takes these apart."""
    return "whole" if any(cell.taken_whole for cell in cells) else "parts"


def refuse_parts(rules: Rules, cells: Iterable[Cell]) -> None:
    """Refuse the published rule on cells that it makes no sense of."""
    for cell in cells:
        if cell.taken_whole and rules.interactions == "relevant" and rules.gates == "parts":
            raise UsageError(
                "interactions='relevant' (rules='murdoch2018') takes every factor of a product apart. "
                f"{type(cell).__name__} uses {cell.taken_whole} whole by every rule: in parts they grow without bound, "
                "or leave every earlier step a part of exactly zero. Add gates='whole', or choose rules='shapley' or "
                "'gcd2019'."
            )


@dataclass(frozen=True)
class Chosen:
    """The carried part of an input: all of ``value`` [batch, 1, row] where ``inside`` [batch, span, 1] is 1."""

    inside: Tensor
    value: Tensor


@dataclass
class Split(NoTensor):
    """A value in parts. ``part`` is None for a value that is used whole (an output gate)."""

    total: Tensor  # [batch, 1, unit]: the same for every span
    part: Number | Chosen | None  # [batch, span, unit]
    bias: Number = 0.0

    def __add__(self, other: Split) -> Split:
        if self.part is None or other.part is None:
            return Split(self.total + other.total, None)
        return Split(self.total + other.total, _join(self.part, other.part), _add(self.bias, other.bias))

    def __sub__(self, other: Split) -> Split:
        return self + -other

    def __neg__(self) -> Split:
        return self.times(-1.0)

    def __rsub__(self, one: float) -> Split:
        return Split(one - self.total, None if self.part is None else -part_of(self), one - self.bias)

    def times(self, factor: Tensor | float) -> Split:
        """With every part multiplied by a factor that is the same for all spans."""
        part = self.part
        if isinstance(part, Chosen):
            part = Chosen(part.inside, part.value * factor)
        elif part is not None:
            part = _times(factor, part)
        return Split(self.total * factor, part, _times(factor, self.bias))


class Carried(Arithmetic[Split]):
    """The carried part of every value.

    - rest: [batch, span, 1], 1 where the carried part is the irrelevant one, else 0; None for nowhere.
    - settled: [batch, span, 1], the share of a settled bias that joins the carried part now; None for nothing.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.rest: Tensor | None = None
        self.settled: Tensor | None = None

    def linear(self, value: Split, weight: Tensor) -> Split:
        if value.part is None:
            return Split(value.total @ weight.T, None)
        parts = [
            part @ weight.T if isinstance(part, Tensor) else part * weight.sum(1) if part else 0.0
            for part in (part_of(value), value.bias)
        ]
        return Split(value.total @ weight.T, *parts)

    def constant(self, bias: Tensor) -> Split:
        return Split(bias, 0.0, bias)

    def pieces(self, value: Split, sizes: Sequence[int]) -> tuple[Split, ...]:
        totals, biases = value.total.split_with_sizes(sizes, -1), _cut(value.bias, sizes)
        if isinstance(value.part, Chosen):
            inside, cut = value.part.inside, value.part.value.split_with_sizes(sizes, -1)
            return tuple(Split(t, Chosen(inside, c), b) for t, c, b in zip(totals, cut, biases, strict=True))
        parts = [None] * len(sizes) if value.part is None else _cut(value.part, sizes)
        return tuple(map(Split, totals, parts, biases))

    def scale(self, value: Split, weight: Tensor | float) -> Split:
        return value.times(weight)

    def join(self, values: Sequence[Split]) -> Split:
        sizes = [value.total.shape[-1] for value in values]
        total = _joined([value.total for value in values], sizes)
        assert isinstance(total, Tensor)
        if any(value.part is None for value in values):
            return Split(total, None)
        return Split(
            total, _joined(list(map(part_of, values)), sizes), _joined([value.bias for value in values], sizes)
        )

    def arrange(self, value: Split, how: Arrangement) -> Split:
        total = how.forward(value.total)
        if value.part is None:
            return Split(total, None)
        part, bias = part_of(value), value.bias
        laid = [number if _absent(number) else how.forward(_spread(number, value.total)) for number in (part, bias)]
        return Split(total, *laid)

    def product(self, gate: Split, source: Split) -> Split:
        total = gate.total * source.total
        if source.part is None:
            if gate.part is None:
                return Split(total, None)
            gate, source = source, gate
        part, bias = part_of(source), source.bias
        if gate.part is None:
            return Split(total, _times(gate.total, part), _times(gate.total, bias))
        own = part_of(gate)
        weight, other = self._weights(gate, own, source)
        return Split(total, _sum_of_products(weight, part, own, other), _times(gate.bias, bias))

    def maximum(self, first: Split, second: Split) -> Split:
        return Split(torch.maximum(first.total, second.total), None)

    def _weights(self, gate: Split, own: Number, source: Split) -> tuple[Number, Number]:
        """What the source's and the gate's part are multiplied with."""
        if self.rules.interactions == "shapley":
            return _mean(gate.total, gate.bias), _mean(source.total, source.bias)
        if self.rules.interactions == "source":
            return gate.total, source.bias
        if self.rest is None:
            return _add(own, gate.bias), source.bias
        # Q_g has the other sign, and what it is added to is the whole: written so that one formula serves both.
        weight, other = (_where(self.rest, value.total, value.bias) for value in (gate, source))
        sign = 1 - 2 * self.rest
        return torch.addcmul(weight, sign, own) if isinstance(own, Tensor) else weight + sign * own, other

    def settle(self, value: Split) -> Split:
        if value.part is None:
            raise UsageError(
                "A state must be taken apart. Got one that is used whole: a.whole(), and with gates='whole' a.gate(), "
                "mark what a state is multiplied with, not the state. Name a gate that becomes the state 'candidate'."
            )
        if self.rules.reference:
            return value
        part = part_of(value)
        if self.settled is None or _absent(value.bias):
            return Split(value.total, part)
        if isinstance(part, Tensor) and isinstance(value.bias, Tensor):
            return Split(value.total, torch.addcmul(part, self.settled, value.bias))
        return Split(value.total, _add(part, self.settled * value.bias))

    def readout_gate(self, value: Split) -> Split:
        return value if self.rules.output_gate else self.whole(value)

    def whole(self, value: Split) -> Split:
        return Split(value.total, None)

    def gate(self, name: str, value: Split) -> Split:
        return value if self.rules.takes_apart(name) else self.whole(value)

    def apply(self, function: Function, value: Split, *weights: Tensor) -> Split:
        if function not in IN_PLACE:
            return self._apply_other(lambda x: function(x, *weights), value)
        in_place = IN_PLACE[function]
        total = in_place(value.total.clone())
        if value.part is None:
            return Split(total, None)
        part, b = part_of(value), value.bias
        if self.rules.linearization == "shapley" and not _absent(b):
            whole = part if isinstance(part, Tensor) else torch.full_like(value.total, part)
            return Split(total, *shapley(function, whole, b, value.total))
        alone = in_place(b.clone()) if isinstance(b, Tensor) else _at(function, b)
        if not isinstance(part, Tensor):
            return Split(total, 0.0, alone)
        return Split(total, DIFFERENCES[function](part, b, value.total, alone, total), alone)

    def _apply_other(self, function: Function, value: Split) -> Split:
        """A function that has no formula of its own."""
        total = function(value.total)
        if value.part is None:
            return Split(total, None)
        part, b = part_of(value), _spread(value.bias, value.total)
        if self.rules.linearization == "shapley":
            return Split(total, *shapley(function, _spread(part, value.total), b, value.total))
        alone = function(b)
        if not isinstance(part, Tensor):
            return Split(total, 0.0, alone)
        return Split(total, of_other(function, part, b, value.total, alone, total), alone)


@cache
def _at(function: Function, x: float) -> float:
    return float(function(torch.tensor(x, dtype=torch.float64)))


def part_of(value: Split) -> Number:
    """The carried part, worked out if it is still a choice of inputs."""
    assert value.part is not None
    part = value.part
    return part.inside * part.value if isinstance(part, Chosen) else part


def _join(a: Number | Chosen, b: Number | Chosen) -> Number | Chosen:
    if isinstance(a, Chosen) and isinstance(b, Tensor):
        return torch.addcmul(b, a.inside, a.value)
    if isinstance(b, Chosen) and isinstance(a, Tensor):
        return torch.addcmul(a, b.inside, b.value)
    if _absent(a) or _absent(b):
        return b if _absent(a) else a
    parts = [part.inside * part.value if isinstance(part, Chosen) else part for part in (a, b)]
    return parts[0] + parts[1]


def _sum_of_products(a: Number, b: Number, c: Number, d: Number) -> Number:
    """a b + c d."""
    first = _times(a, b)
    if isinstance(first, Tensor) and isinstance(c, Tensor) and isinstance(d, Tensor):
        return torch.addcmul(first, c, d)
    return _add(first, _times(c, d))


def _mean(total: Tensor, bias: Number) -> Tensor:
    return total / 2 if _absent(bias) else (total + bias) / 2


def _where(chosen: Tensor, value: Tensor, otherwise: Number) -> Tensor:
    """``value`` where ``chosen`` is 1, ``otherwise`` where it is 0."""
    if _absent(otherwise):
        return chosen * value
    return torch.addcmul(torch.as_tensor(otherwise, dtype=value.dtype), chosen, value - otherwise)


def _absent(part: Number | Chosen) -> bool:
    return isinstance(part, float) and part == 0.0


def _add(a: Number, b: Number) -> Number:
    if _absent(a):
        return b
    return a if _absent(b) else a + b


def _times(a: Number, b: Number) -> Number:
    return 0.0 if _absent(a) or _absent(b) else a * b


def _spread(number: Number, like: Tensor) -> Tensor:
    """A number for each unit."""
    return number if isinstance(number, Tensor) else like.new_full(like.shape[-1:], number)


def _joined(parts: Sequence[Number], sizes: Sequence[int]) -> Number:
    """Beside each other on the last axis; absent if all of them are."""
    if all(map(_absent, parts)):
        return 0.0
    like = next(part for part in parts if isinstance(part, Tensor))
    tensors = [
        part if isinstance(part, Tensor) else like.new_full((n,), part) for part, n in zip(parts, sizes, strict=True)
    ]
    lead = torch.broadcast_shapes(*(tensor.shape[:-1] for tensor in tensors))
    return torch.cat([tensor.expand(*lead, -1) for tensor in tensors], dim=-1)


def _cut(part: Number, sizes: Sequence[int]) -> Sequence[Number]:
    return part.split_with_sizes(sizes, -1) if isinstance(part, Tensor) else [part] * len(sizes)
