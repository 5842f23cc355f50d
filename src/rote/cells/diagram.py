"""The step of a cell as a graph of its own operations, with the value of each: what a drawing of the unit is made from.

The step is run in an arithmetic that remembers what it was asked for, so that the drawing of any cell, also of a user's
own, has its gates and states by their names and can show nothing that the cell does not compute. Weights are part of
the operation behind them: "sigmoid of a weighted sum of x and hidden" is one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Arrangement, Function, Plain
from rote.cells.cell import Cell

Kind = Literal[
    "input", "state", "weighted", "sigmoid", "tanh", "relu", "function", "product", "sum", "difference", "complement",
    "negative", "joined", "maximum",
]  # fmt: skip
FUNCTIONS: dict[Function, Kind] = {torch.sigmoid: "sigmoid", torch.tanh: "tanh", torch.relu: "relu"}
PLAIN = Plain()


class Term:
    """A value of the step and how it came about; ``weighted``: a weighted sum of ``inputs``, biases included."""

    def __init__(self, kind: Kind, value: Tensor, inputs: tuple[Term, ...] = (), name: str = "") -> None:
        self.kind, self.value, self.inputs, self.name = kind, value, inputs, name

    def __add__(self, other: Term) -> Term:
        total = self.value + other.value
        if self.kind == other.kind == "weighted":
            return Term("weighted", total, tuple(dict.fromkeys((*self.inputs, *other.inputs))))
        return Term("sum", total, (self, other))

    def __sub__(self, other: Term) -> Term:
        return Term("difference", self.value - other.value, (self, other))

    def __neg__(self) -> Term:
        return Term("negative", -self.value, (self,))

    def __rsub__(self, other: float) -> Term:
        return Term("complement", other - self.value, (self,))


class Drawing(Arithmetic[Term]):
    """The arithmetic that remembers."""

    def linear(self, value: Term, weight: Tensor) -> Term:
        return Term("weighted", value.value @ weight.T, (value,))

    def constant(self, bias: Tensor) -> Term:
        return Term("weighted", bias)

    def pieces(self, value: Term, sizes: Sequence[int]) -> tuple[Term, ...]:
        parts = value.value.split(list(sizes), dim=-1)
        if value.kind == "weighted":  # every piece is one of the same
            return tuple(Term("weighted", part, value.inputs) for part in parts)
        if not value.inputs:
            return tuple(Term(value.kind, part, name=value.name) for part in parts)
        below = zip(*(self.pieces(one, sizes) for one in value.inputs), strict=True)
        return tuple(Term(value.kind, part, inputs) for part, inputs in zip(parts, below, strict=True))

    def scale(self, value: Term, weight: Tensor | float) -> Term:
        return Term("weighted", PLAIN.scale(value.value, weight), (value,))

    def join(self, values: Sequence[Term]) -> Term:
        return Term("joined", PLAIN.join([one.value for one in values]), tuple(values))

    def arrange(self, value: Term, how: Arrangement) -> Term:
        return Term("weighted", PLAIN.arrange(value.value, how), (value,))

    def apply(self, function: Function, value: Term, *weights: Tensor) -> Term:
        return Term(FUNCTIONS.get(function, "function"), PLAIN.apply(function, value.value, *weights), (value,))

    def product(self, gate: Term, source: Term) -> Term:
        return Term("product", gate.value * source.value, (gate, source))

    def maximum(self, first: Term, second: Term) -> Term:
        return Term("maximum", torch.maximum(first.value, second.value), (first, second))

    def settle(self, value: Term) -> Term:
        return value

    def readout_gate(self, value: Term) -> Term:
        return value

    def whole(self, value: Term) -> Term:
        return value

    def gate(self, name: str, value: Term) -> Term:
        value.name = name
        return value


@dataclass(frozen=True)
class Node:
    """An operation. ``weights``: its inputs come through weights, and a bias is added."""

    kind: Kind
    name: str  # of the gate, of the state before the step; "x": the input
    inputs: tuple[int, ...]
    weights: bool
    value: Tensor  # [..., unit]


@dataclass(frozen=True)
class Diagram:
    """Each node comes after its inputs. ``outputs``: the node of each state after the step, by the state's name."""

    nodes: tuple[Node, ...]
    outputs: dict[str, int]


def diagram(cell: Cell, inputs: Tensor, state: Sequence[Tensor]) -> Diagram:
    """One step of a cell from inputs [..., input] and the state before it, [..., unit] each."""
    start = Term("input", inputs, name="x")
    states = [Term("state", value, name=name) for name, value in zip(cell.state_names, state, strict=True)]
    ends = cell.step(Drawing(), Term("weighted", cell.project(inputs), (start,)), tuple(states))
    numbers: dict[int, int] = {}
    nodes: list[Node] = []
    for term in (start, *states, *ends):
        _enter(term, nodes, numbers)
    names = zip(cell.state_names, ends, strict=True)
    return Diagram(tuple(nodes), {name: numbers[id(end)] for name, end in names})


def _enter(term: Term, nodes: list[Node], numbers: dict[int, int]) -> None:
    """Its inputs first. A weighted sum that one function alone is taken of is part of that function's node."""
    if id(term) in numbers:
        return
    sums = term.kind == "sum"
    inside = term.inputs[0] if len(term.inputs) == 1 and term.kind in (*FUNCTIONS.values(), "function") else None
    weighted = term.kind == "weighted" or (inside is not None and inside.kind == "weighted" and not inside.name)
    sources = inside.inputs if weighted and inside is not None else _summands(term) if sums else term.inputs
    for source in sources:
        _enter(source, nodes, numbers)
    numbers[id(term)] = len(nodes)
    nodes.append(Node(term.kind, term.name, tuple(numbers[id(one)] for one in sources), weighted, term.value))


def _summands(term: Term) -> tuple[Term, ...]:
    """A sum of sums that have no name of their own is one sum."""
    if term.kind != "sum" or term.name:
        return (term,)
    return tuple(part for one in term.inputs for part in (_summands(one) if one.kind == "sum" else (one,)))
