"""What a module did with its inputs, as a graph of values over time.

A node is a series: one vector for each step of the sequence. It is made from other series by an operation that does
the same at every step (a linear map, a norm, a sum), or by a memory, which carries something from step to step (a layer
of recurrent cells, a mean over all steps). Equal operations on equal nodes are one node, so that a loop over time that
does the same at every step gives one node and not as many as there are steps.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from rote.cells.arithmetic import repeated, summed
from rote.cells.cell import Cell


@dataclass(eq=False)
class Node:
    """One vector of ``size`` numbers for each step."""

    op: str
    inputs: tuple[Node, ...]
    weights: tuple[Tensor | None, ...]
    options: tuple[Any, ...]
    size: int
    where: str  # the module in which it was made
    cell: Cell | None = None  # of a memory
    reverse: bool = False
    start: tuple[Tensor, ...] | None = None  # of a memory: its learned states before the first step, [unit] each

    @property
    def is_memory(self) -> bool:
        return self.cell is not None

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(node.op for node in self.inputs)})[{self.size}]"


@dataclass
class Graph:
    """All nodes that were made; equal ones are made once."""

    known: dict[Hashable, Node] = field(default_factory=dict)
    weights: dict[Hashable, Tensor] = field(default_factory=dict)
    seen: list[Tensor] = field(default_factory=list)

    def node(
        self,
        op: str,
        inputs: tuple[Node, ...],
        size: int,
        weights: tuple[Tensor | None, ...] = (),
        options: tuple[Any, ...] = (),
        where: str = "",
    ) -> Node:
        weights = tuple(None if weight is None else self.weight(weight) for weight in weights)
        key = (op, *map(id, inputs), size, *map(id, weights), *options)
        if key not in self.known:
            self.known[key] = Node(op, inputs, weights, options, size, where)
        return self.known[key]

    def memory(
        self, given: Node, cell: Cell, key: Hashable, where: str, reverse: bool = False,
        start: tuple[Tensor, ...] | None = None,
    ) -> Node:  # fmt: skip
        """The outputs of ``cell``; ``key`` says what makes two of them the same."""
        made = self.known_memory(given, key, reverse)
        if made is None:
            name = type(cell).__name__
            made = Node(name, (given,), (), (), cell.output_size, where, cell, reverse, start)
            self.known["memory", id(given), key, reverse] = made
        return made

    def known_memory(self, given: Node, key: Hashable, reverse: bool = False) -> Node | None:
        return self.known.get(("memory", id(given), key, reverse))

    def weight(self, given: Tensor) -> Tensor:
        """The same tensor for what lies in the same place or, if it is computed anew each time, has the same values."""
        place = (given.data_ptr(), given.shape, given.stride(), given.dtype)
        if place not in self.weights:
            same = [
                known for known in self.weights.values() if known.shape == given.shape and known.dtype == given.dtype
            ]
            computed = not isinstance(given, torch.nn.Parameter)
            self.weights[place] = next((known for known in same if computed and torch.equal(known, given)), given)
            self.seen.append(given)  # so that no other one comes to lie in its place
        return self.weights[place]


def steps_of(node: Node, known: set[int]) -> list[Node]:
    """The nodes that must be computed for this one, in order, given those of ``known``, by id; no memory is passed."""
    return list(_steps(node, set(known)))


def _steps(node: Node, seen: set[int]) -> Iterator[Node]:
    if id(node) in seen:
        return
    seen.add(id(node))
    if not node.is_memory:
        for below in node.inputs:
            yield from _steps(below, seen)
    yield node


def memories_of(node: Node) -> list[Node]:
    """Every memory that this one depends on, each after those that it depends on itself."""
    found: list[Node] = []
    seen: set[int] = set()

    def visit(at: Node) -> None:
        if id(at) in seen:
            return
        seen.add(id(at))
        for below in at.inputs:
            visit(below)
        if at.is_memory:
            found.append(at)

    visit(node)
    return found


def bases_of(node: Node, leaf: Node) -> list[Node]:
    """The memories, and the input ``leaf``, that this node is computed from step by step."""
    found: list[Node] = []
    seen: set[int] = set()

    def visit(at: Node) -> None:
        if id(at) in seen:
            return
        seen.add(id(at))
        if at is leaf or at.is_memory or not at.inputs:
            found.append(at)
            return
        for below in at.inputs:
            visit(below)

    visit(node)
    return found


def compute(a: Any, node: Node, values: Mapping[int, Any], weights: Sequence[Tensor | None]) -> Any:
    """One node in the arithmetic ``a``, from the ``values`` of its inputs, by their id."""
    return OPERATIONS[node.op](a, node, [values[id(below)] for below in node.inputs], weights)


Given = Sequence[Any]  # values of the arithmetic
Weights = Sequence[Any]  # tensors, or None where there is none


def _linear(a: Any, node: Node, given: Given, weights: Weights) -> Any:
    made = a.linear(given[0], weights[0])
    return made if weights[1] is None else made + a.constant(weights[1])


def _norm(a: Any, node: Node, given: Given, weights: Weights) -> Any:
    """Every part of a value is divided by the norm of the whole."""
    kind, eps = node.options
    (value,), (weight, bias) = given, weights
    if kind == "length":  # not less than eps, as torch's normalize
        squares = a.arrange(a.square(a.whole(value)), summed(node.size))
        inverse = a.apply(partial(_inverse_length, eps=eps), squares)
        value = a.product(a.arrange(inverse, repeated(node.size)), value)
    else:
        value = a.norm(value, node.size, eps, kind)
    value = value if weight is None else a.scale(value, weight)
    return value if bias is None else value + a.constant(bias)


def _inverse_length(squares: Tensor, eps: float) -> Tensor:
    return squares.sqrt().clamp(min=eps).reciprocal()


def _product(a: Any, node: Node, given: Given, weights: Weights) -> Any:
    """The gate first. One number for all units, such as a norm that was written by hand, is used whole."""
    gate, source = given
    if node.inputs[0].size == 1 < node.size:
        gate = a.whole(a.arrange(gate, repeated(node.size)))
    return a.product(gate, source)


def _mean_of_units(a: Any, node: Node, given: Given, weights: Weights) -> Any:
    return a.scale(a.arrange(given[0], summed(node.inputs[0].size)), node.options[0])


def _piece(a: Any, node: Node, given: Given, weights: Weights) -> Any:
    (start,), size = node.options, node.inputs[0].size
    rest = size - start - node.size
    sizes = [start] * (start > 0) + [node.size] + [rest] * (rest > 0)
    return a.pieces(given[0], sizes)[int(start > 0)]


OPERATIONS: dict[str, Callable[[Any, Node, Given, Weights], Any]] = {
    "linear": _linear,
    "norm": _norm,
    "product": _product,
    "mean": _mean_of_units,
    "piece": _piece,
    "spread": lambda a, node, given, weights: a.arrange(given[0], repeated(node.size)),
    "scale": lambda a, node, given, weights: a.scale(given[0], weights[0]),
    "shift": lambda a, node, given, weights: given[0] + a.constant(weights[0]),
    "apply": lambda a, node, given, weights: a.apply(node.options[0], given[0]),
    "add": lambda a, node, given, weights: given[0] + given[1],
    "subtract": lambda a, node, given, weights: given[0] - given[1],
    "join": lambda a, node, given, weights: a.join(list(given)),
}
