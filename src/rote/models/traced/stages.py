"""A graph as layers of cells, which every analysis takes.

Each memory is a layer. What is computed step by step before it (a norm, a projection, a residual sum) is done inside
its cell, and what a later layer needs from below it goes through it unchanged, beside the memory's own output: so
several layers of different size, with anything between them, are a ``Recurrent`` as any other.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rote.cells.arithmetic import Arithmetic, Plain, V
from rote.cells.cell import Cell
from rote.cells.fused import State
from rote.cells.over_time import ended, hidden_over_time
from rote.cells.recurrent import Recurrent, unroll
from rote.errors import UsageError
from rote.models.traced.graph import Node, bases_of, compute, memories_of, steps_of
from rote.models.traced.memories import Growing


@dataclass(frozen=True)
class Wire:
    """A range of units of a value, as it lies in what a layer gets."""

    node: Node
    start: int
    size: int


class Program(nn.Module):
    """Nodes computed step by step from what lies beside each other on one axis."""

    only_reads = True

    def __init__(self, wires: Sequence[Wire], wanted: Sequence[Node]) -> None:
        super().__init__()
        self.wires, self.wanted = tuple(wires), tuple(wanted)
        given = {id(wire.node) for wire in wires}
        self.nodes: list[Node] = []
        for node in wanted:
            known = given | {id(made) for made in self.nodes}
            self.nodes += steps_of(node, known)
        self.names: list[list[str | None]] = []
        for number, node in enumerate(self.nodes):
            names = [None if w is None else f"weight_{number}_{place}" for place, w in enumerate(node.weights)]
            for name, weight in zip(names, node.weights, strict=True):
                if isinstance(weight, nn.Parameter):
                    self.register_parameter(str(name), weight)
                elif weight is not None:
                    self.register_buffer(str(name), weight)
            self.names.append(names)

    def run(self, a: Arithmetic[V], given: V) -> list[V]:
        values = self.taken(a, given)
        for node, names in zip(self.nodes, self.names, strict=True):
            values[id(node)] = compute(a, node, values, [None if n is None else getattr(self, n) for n in names])
        return [values[id(node)] for node in self.wanted]

    def taken(self, a: Arithmetic[V], given: V) -> dict[int, V]:
        """The values of ``given`` by the id of their node; halves are put together."""
        pieces = a.pieces(given, [wire.size for wire in self.wires]) if len(self.wires) > 1 else (given,)
        found: dict[int, list[tuple[int, Any]]] = {}
        for wire, piece in zip(self.wires, pieces, strict=True):
            found.setdefault(id(wire.node), []).append((wire.start, piece))
        joined: dict[int, V] = {}
        for key, parts in found.items():
            ordered = [piece for _, piece in sorted(parts, key=lambda part: part[0])]
            joined[key] = ordered[0] if len(ordered) == 1 else a.join(ordered)
        return joined

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        """Nodes are shared: they are told apart by what they are."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        for kind in ("_parameters", "_buffers"):
            made.__dict__[kind] = {name: copy.deepcopy(value, memo) for name, value in getattr(self, kind).items()}
        return made


class Stage(Cell):
    """One direction of a layer: what comes before a memory, the memory, and what goes past it.

    - inner: the memory's cell; None in a layer, or a direction of one, that has none.
    - passed: what goes on to later layers, as (value, start, size), beside the memory's own output.
    - padded: zeros at the end, so that both directions of a layer have as many units.
    """

    row_groups = (1,)
    gate_names = ()
    ones: Tensor

    def __init__(
        self, wires: Sequence[Wire], inner: Cell | None, given: Node | None, passed: Sequence[Wire], padded: int,
        like: Tensor,
    ) -> None:  # fmt: skip
        self._sizes = sum(wire.size for wire in wires), (inner.output_size if inner is not None else 0)
        self._passed_size, self._padded = sum(wire.size for wire in passed), padded
        self._inner_sizes = inner.state_sizes[1:] if inner is not None else ()
        output = self._sizes[1] + self._passed_size + padded
        units, ones = inner.hidden_size if inner is not None else output, like.new_ones(self._sizes[0])
        super().__init__(self._sizes[0], units, biases="none", weights={"ones": ones})
        self.inner, self.passed = inner, tuple(passed)
        self.program = Program(wires, [*([] if given is None else [given]), *(wire.node for wire in passed)])
        self.__dict__["recurrent_matrix"] = inner is not None  # it goes step by step
        if inner is not None:
            self.state_names = inner.state_names
            for name in ("gate_names", "whole_states", "start_values"):
                self.__dict__[name] = getattr(inner, name)

    @property
    def own_size(self) -> int:
        """Units of the memory's own output, which come first."""
        return self._sizes[1]

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self._sizes[1] + self._passed_size + self._padded, *self._inner_sizes

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return {"ones": (self.input_size,)}

    def for_steps(self, steps: int) -> Stage:
        """With room for so many steps in its memory; itself if it has that."""
        inner = with_room(self.inner, steps)
        if inner is self.inner or inner is None:
            return self
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__["_modules"] = {**self._modules, "inner": inner}
        made.__dict__["_inner_sizes"] = inner.state_sizes[1:]
        return made

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        # By itself first: what gradients arrive at is an elementwise function of the input, never a product.
        values = self.program.run(a, a.scale(projected, self.ones))
        outputs: list[V] = []
        others: tuple[V, ...] = ()
        if self.inner is not None:
            given, *values = values
            rest = self.state_sizes[0] - self.own_size
            own = a.pieces(state[0], [self.own_size, rest])[0] if rest else state[0]
            hidden, *others_ = self.inner.step(a, self.inner.enter(a, given), (own, *state[1:]))
            outputs, others = [hidden], tuple(others_)
        for value, wire in zip(values, self.passed, strict=True):
            outputs.append(_cut(a, value, wire))
        if self._padded:
            rest = self.state_sizes[0] - self._padded
            before = a.pieces(state[0], [rest, self._padded])[1] if rest else state[0]
            outputs.append(a.scale(before, 0.0))
        return (a.settle(outputs[0] if len(outputs) == 1 else a.join(outputs)), *others)

    def over_time(
        self, a: Plain, projected: Tensor, start: tuple[Tensor, ...], mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        """All else acts on each step by itself, so that the memory alone goes step by step, if it has to."""
        if self.inner is None or projected.dim() != 3 or (self.inner.recurrent_matrix and type(a) is not Plain):
            return None
        given, *values = self.program.run(a, a.scale(projected, self.ones))
        before = (start[0][..., : self.own_size], *start[1:])
        if self.inner.recurrent_matrix:
            run = unroll(self.inner, given, before, mask)
            own, (_, *ends) = run.states["hidden"], run.final
        else:
            found = hidden_over_time(self.inner, a, self.inner.enter(a, given), before, mask)
            if found is None:
                return None
            own, (_, *ends) = found
        passed = [_cut(a, value, wire) for value, wire in zip(values, self.passed, strict=True)]
        hidden = a.join([own, *passed, *([own.new_zeros(self._padded)] if self._padded else [])])
        shown, (last,) = ended([hidden], mask, start[:1])
        return shown, (last, *ends)


def with_room(cell: Cell | None, steps: int) -> Cell | None:
    return cell.for_steps(steps) if isinstance(cell, Growing | Stage) else cell


def _cut(a: Arithmetic[V], value: V, wire: Wire) -> V:
    rest = wire.node.size - wire.start - wire.size
    sizes = [wire.start] * (wire.start > 0) + [wire.size] + [rest] * (rest > 0)
    return value if len(sizes) == 1 else a.pieces(value, sizes)[int(wire.start > 0)]


class Stages(Recurrent):
    """Layers of different sizes, which may start from learned states."""

    def __init__(
        self, cells: Sequence[Cell], starts: Sequence[Sequence[Tensor] | None], *, bidirectional: bool
    ) -> None:
        super().__init__(cells, bidirectional=bidirectional)
        self.starts = [None if start is None else [value.detach() for value in start] for start in starts]

    def for_steps(self, steps: int) -> Stages:
        """With room for so many steps, from the weights as they are now; itself if it has that."""
        cells = self.all_cells()
        larger = [with_room(cell, steps) or cell for cell in cells]
        if all(one is two for one, two in zip(cells, larger, strict=True)):
            return self
        return Stages(larger, self.starts, bidirectional=self.directions == 2)

    def _check_sizes(self) -> None:
        """Made to fit."""

    @property
    def output_size(self) -> int:
        return sum(self.cell(self.layers - 1, direction).output_size for direction in range(self.directions))

    def zero_states(self, batch: int) -> list[State]:
        """The states before the first step: learned ones where there are, else zero."""
        made = super().zero_states(batch)
        for index, start in enumerate(self.starts):
            if start is not None:
                made[index] = tuple(
                    torch.cat([value.to(zero).expand(batch, -1), zero[:, len(value):]], -1)
                    for value, zero in zip(start, made[index], strict=True)
                )  # fmt: skip
        return made


def stages_for(wanted: Node, leaf: Node, like: Tensor) -> Stages:
    """Layers whose output is ``wanted``, computed from the input ``leaf``."""
    groups = _groups(wanted)
    directions = 2 if any(memory.reverse for group in groups for memory in group) else 1
    plans: list[list[Node]] = [*groups]
    if not (plans and _is_output(plans[-1], wanted) and len(plans[-1]) == directions):
        plans.append([])
        if directions == 2 and wanted.size == 1:
            raise UsageError("A single number read from both directions cannot be a layer.")
    wires, made, starts = [Wire(leaf, 0, leaf.size)], list[Cell](), list[tuple[Tensor, ...] | None]()
    for index, group in enumerate(plans):
        last = index == len(plans) - 1
        later = [memory.inputs[0] for other in plans[index + 1 :] for memory in other] + [wanted]
        below = {id(wire.node) for wire in wires}
        keep = _unique(base for node in later for base in bases_of(node, leaf) if id(base) in below) if not last else []
        keep = [node for node in keep if id(node) not in {id(memory) for memory in group}]
        passed = [Wire(node, 0, node.size) for node in ([wanted] if last and not group else keep)]
        wires = _layer(group, wires, passed, directions, like, made, starts)
    return Stages(made, starts, bidirectional=directions == 2)


def _layer(
    group: Sequence[Node], wires: list[Wire], passed: list[Wire], directions: int, like: Tensor, made: list[Cell],
    starts: list[tuple[Tensor, ...] | None],
) -> list[Wire]:  # fmt: skip
    """Add the cells of one layer; what they give."""
    shares = [passed] if directions == 1 else _halves(passed)
    memories = [next((m for m in group if m.reverse == bool(d)), None) for d in range(directions)]
    sizes = [
        (0 if memory is None else memory.size) + sum(wire.size for wire in share)
        for memory, share in zip(memories, shares, strict=True)
    ]
    odd = directions == 2 and sizes[0] == sizes[1] + 1 > 1  # results are cut in two halves, the first the larger one
    wanted = sizes if odd else [max(sizes)] * directions
    given: list[Wire] = []
    for memory, share, size, wide in zip(memories, shares, sizes, wanted, strict=True):
        padded = wide - size
        cell = None if memory is None else memory.cell
        if memory is not None and cell is not None and not share and not padded and _gets(memory, wires):
            made.append(cell)
        else:
            made.append(Stage(wires, cell, None if memory is None else memory.inputs[0], share, padded, like))
        starts.append(None if memory is None else memory.start)
        given += [] if memory is None else [Wire(memory, 0, memory.size)]
        given += share
        if padded:
            given.append(Wire(Node("nothing", (), (), (), padded, ""), 0, padded))
    return given


def _gets(memory: Node, wires: Sequence[Wire]) -> bool:
    """Whether a memory's input is just what the layer below gives, in that order, and enters it through weights."""
    if memory.cell is None or memory.cell.weight_ih is None:
        return False
    node = memory.inputs[0]
    nodes = node.inputs if node.op == "join" else (node,)
    whole = [wire for wire in wires if wire.size == wire.node.size]
    return len(whole) == len(wires) and [id(n) for n in nodes] == [id(wire.node) for wire in wires]


def _is_output(group: Sequence[Node], wanted: Node) -> bool:
    nodes = wanted.inputs if wanted.op == "join" else (wanted,)
    return [id(node) for node in nodes] == [id(node) for node in group]


def _groups(wanted: Node) -> list[list[Node]]:
    """The memories in order; both directions of one layer together."""
    groups: list[list[Node]] = []
    for memory in memories_of(wanted):
        pair = groups[-1] if groups else []
        mate = pair[0] if len(pair) == 1 else None
        if mate is not None and mate.inputs == memory.inputs and not mate.reverse and memory.reverse:
            pair.append(memory)
        else:
            groups.append([memory])
    return groups


def _halves(passed: Sequence[Wire]) -> list[list[Wire]]:
    """Two shares of as many units; the first has one more if they are odd."""
    total = sum(wire.size for wire in passed)
    first: list[Wire] = []
    second: list[Wire] = []
    left = -(-total // 2)
    for wire in passed:
        taken = min(left, wire.size)
        first += [Wire(wire.node, wire.start, taken)] if taken else []
        second += [Wire(wire.node, wire.start + taken, wire.size - taken)] if taken < wire.size else []
        left -= taken
    return [first, second]


def _unique(nodes: Any) -> list[Node]:
    return list({id(node): node for node in nodes}.values())
