"""Gradients of many outputs at once, in the cells' own arithmetic.

A step is recorded with plain values [batch, n]. Then a block of gradients [row, batch, n], one row per output, is
pulled back through it, whatever the cell. Between two matrix products everything is elementwise: its Jacobian is a
diagonal, the same for every row. So the block is left as it is and the diagonals, which are small, are multiplied with
each other until a product or a sum needs the numbers. That is what one would write by hand for an LSTM or a GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(slots=True)
class Part:
    """``block * diagonal`` is the gradient of the columns from ``start`` on; columns without a part have none."""

    start: int
    block: Tensor  # [row, batch, width]
    diagonal: Tensor | None = None  # [batch, width] or [width]
    owned: bool = False  # the block was made here and is read nowhere else: sums may be formed in it

    @property
    def columns(self) -> slice:
        return slice(self.start, self.start + self.block.shape[-1])

    def times(self, factor: Tensor) -> Part:
        """Through an elementwise function; ``factor`` is its derivative, for all columns."""
        mine = factor[..., self.columns]
        return Part(self.start, self.block, mine if self.diagonal is None else mine * self.diagonal)

    def numbers(self) -> Tensor:
        return self.block if self.diagonal is None else self.block * self.diagonal

    def write(self, out: Tensor) -> None:
        if self.diagonal is None:
            out.copy_(self.block)
        else:
            torch.mul(self.block, self.diagonal, out=out)


Pull = Callable[[list[Part], list[list[Part]]], None]  # the gradient of a value, to those of what it was made from


@dataclass(slots=True)
class Value:
    """A tensor on the record; ``place`` is None for what depends on no input of the step."""

    total: Tensor
    place: int | None
    record: Recording

    def __add__(self, other: Value) -> Value:
        return self.record.sum(self, other)

    def __rsub__(self, one: float) -> Value:
        return self.record.elementwise(self, one - self.total, self.total.new_full((1,), -1.0).expand_as(self.total))


class Recording:
    """The arithmetic that remembers how each value was made, for one step of one cell."""

    def __init__(self) -> None:
        self._pulls: list[Pull | None] = []

    def leaf(self, total: Tensor) -> Value:
        """An input of the step: what gradients are pulled back to."""
        return self._made(total, None)

    def linear(self, value: Value, weight: Tensor) -> Value:
        place, total = value.place, value.total @ weight.T
        if place is None:
            return Value(total, None, self)

        def pull(parts: list[Part], pending: list[list[Part]]) -> None:
            for part in joined(parts):
                _add_product(pending[place], part, weight)

        return self._made(total, pull)

    def constant(self, bias: Tensor) -> Value:
        return Value(bias, None, self)

    def pieces(self, value: Value, sizes: Sequence[int]) -> tuple[Value, ...]:
        totals = value.total.split(list(sizes), dim=-1)
        if value.place is None:
            return tuple(Value(total, None, self) for total in totals)
        starts = [sum(sizes[:index]) for index in range(len(sizes))]
        return tuple(self._piece(value.place, total, start) for total, start in zip(totals, starts, strict=True))

    def sigmoid(self, value: Value) -> Value:
        y = torch.sigmoid(value.total)
        return self.elementwise(value, y, y * (1 - y))

    def tanh(self, value: Value) -> Value:
        y = torch.tanh(value.total)
        return self.elementwise(value, y, 1 - y * y)

    def relu(self, value: Value) -> Value:
        y = torch.relu(value.total)
        return self.elementwise(value, y, (y > 0).to(y.dtype))

    def product(self, gate: Value, source: Value) -> Value:
        sides = [(gate.place, source.total), (source.place, gate.total)]
        needed = [(place, other) for place, other in sides if place is not None]

        def pull(parts: list[Part], pending: list[list[Part]]) -> None:
            for place, other in needed:
                pending[place] += [part.times(other) for part in parts]

        return self._made(gate.total * source.total, pull) if needed else self.constant(gate.total * source.total)

    def settle(self, value: Value) -> Value:
        return value

    def readout_gate(self, value: Value) -> Value:
        return value

    def gate(self, name: str, value: Value) -> Value:
        return value

    def sum(self, first: Value, second: Value) -> Value:
        needed = [value.place for value in (first, second) if value.place is not None]

        def pull(parts: list[Part], pending: list[list[Part]]) -> None:
            if len(needed) > 1:  # both sides get the same numbers: form them once
                parts = [replace(part, owned=False) for part in joined(parts)]
            for place in needed:
                pending[place] += parts

        total = first.total + second.total
        return self._made(total, pull) if needed else self.constant(total)

    def elementwise(self, value: Value, total: Tensor, derivative: Tensor) -> Value:
        place = value.place
        if place is None:
            return self.constant(total)

        def pull(parts: list[Part], pending: list[list[Part]]) -> None:
            pending[place] += [part.times(derivative) for part in parts]

        return self._made(total, pull)

    def pull_back(self, given: Sequence[tuple[Value, Tensor]], leaves: Sequence[Value]) -> list[list[Part]]:
        """The gradients of ``leaves`` from those of some values, [row, batch, n] each."""
        pending: list[list[Part]] = [[] for _ in self._pulls]
        for value, block in given:
            if value.place is not None:
                pending[value.place].append(Part(0, block))
        for place in reversed(range(len(pending))):
            pull = self._pulls[place]
            if pull is not None and pending[place]:
                parts, pending[place] = merged(pending[place]), []
                pull(parts, pending)
        return [merged(pending[leaf.place]) if leaf.place is not None else [] for leaf in leaves]

    def _made(self, total: Tensor, pull: Pull | None) -> Value:
        self._pulls.append(pull)
        return Value(total, len(self._pulls) - 1, self)

    def _piece(self, place: int, total: Tensor, start: int) -> Value:
        def pull(parts: list[Part], pending: list[list[Part]]) -> None:
            pending[place] += [replace(part, start=part.start + start) for part in parts]

        return self._made(total, pull)


def merged(parts: list[Part]) -> list[Part]:
    """One part for each set of columns, by column."""
    found: list[Part] = []
    for part in sorted(parts, key=lambda part: part.start):
        last = found[-1] if found else None
        if last is not None and last.columns == part.columns:
            found[-1] = _sum(last, part)
        elif last is not None and part.start < last.columns.stop:
            return [_laid_over(parts)]
        else:
            found.append(part)
    return found


def joined(parts: list[Part]) -> list[Part]:
    """The same gradient with its numbers formed, those of neighboring columns in one block."""
    runs: list[list[Part]] = []
    for part in parts:
        last = runs[-1][-1] if runs else None
        if last is not None and last.diagonal is not None and part.diagonal is not None and _meet(last, part):
            runs[-1].append(part)
        else:
            runs.append([part])
    return [run[0] if run[0].diagonal is None else _in_one_block(run) for run in runs]


def write(parts: list[Part], out: Tensor) -> None:
    """The gradient of all columns, into ``out`` [row, batch, n]."""
    if sum(part.block.shape[-1] for part in parts) < out.shape[-1]:
        out.zero_()
    for part in parts:
        part.write(out[..., part.columns])


def add_product(out: Tensor, part: Part, weight: Tensor) -> None:
    """``out += part @ weight[its columns]``, in place; ``out`` [row, batch, n] is contiguous."""
    rows = part.numbers()
    out.view(-1, out.shape[-1]).addmm_(rows.reshape(-1, rows.shape[-1]), weight[part.columns])


def _add_product(parts: list[Part], part: Part, weight: Tensor) -> None:
    for earlier in parts:
        if earlier.owned and earlier.diagonal is None and earlier.block.shape[-1] == weight.shape[1]:
            add_product(earlier.block, part, weight)
            return
    parts.append(Part(0, part.numbers() @ weight[part.columns], owned=True))


def _sum(first: Part, second: Part) -> Part:
    if first.block is second.block:
        one = first.block.new_ones(1)
        diagonals = [one if part.diagonal is None else part.diagonal for part in (first, second)]
        return Part(first.start, first.block, (diagonals[0] + diagonals[1]).expand(first.block.shape[1:]))
    if second.owned and second.diagonal is None:
        first, second = second, first
    if first.diagonal is not None:
        first = Part(first.start, first.numbers(), owned=True)
    if second.diagonal is None:
        total = first.block.add_(second.block) if first.owned else first.block + second.block
    elif first.owned:
        total = first.block.addcmul_(second.block, second.diagonal)
    else:
        total = torch.addcmul(first.block, second.block, second.diagonal)
    return Part(first.start, total, owned=True)


def _laid_over(parts: list[Part]) -> Part:
    """A value was used as a whole and in pieces."""
    stop = max(part.columns.stop for part in parts)
    rows, batch, _ = parts[0].block.shape
    total = parts[0].block.new_zeros(rows, batch, stop)
    for part in parts:
        total[..., part.columns] += part.numbers()
    return Part(0, total, owned=True)


def _in_one_block(run: list[Part]) -> Part:
    rows, batch, _ = run[0].block.shape
    width = run[-1].columns.stop - run[0].start
    block = run[0].block.new_empty(rows, batch, width)
    for part in run:
        part.write(block[..., part.start - run[0].start : part.columns.stop - run[0].start])
    return Part(run[0].start, block, owned=True)


def _meet(left: Part, right: Part) -> bool:
    return bool(left.columns.stop == right.start)
