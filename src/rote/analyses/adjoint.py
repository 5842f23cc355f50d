"""Gradients of many outputs at once, in the cells' own arithmetic.

A step is recorded with plain values [batch, n]. Then a block of gradients [row, batch, n], one row per output, is
pulled back through it, whatever the cell. Between two matrix products everything is elementwise: its Jacobian is a
diagonal, the same for every row. So the block is left as it is and the diagonals, which are small, are multiplied with
each other. With many rows they are even multiplied into the next matrix: the gates of an LSTM all come from the
gradient of its cell, and d_c (a W_i + b W_f + c W_g) is one product where [d_i, d_f, d_g] W are three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from rote.cells.arithmetic import Arithmetic, Arrangement, Function, NoTensor, Plain, check_elementwise

MANY = 8  # rows from which on it pays to multiply a diagonal into the matrix


@dataclass(slots=True)
class Term:
    """``block * diagonal`` or ``block @ matrix``: a summand of the gradient of the columns from ``start`` on."""

    start: int
    block: Tensor  # [row, batch, width]
    diagonal: Tensor | None = None  # [batch, width] or [width]
    matrix: Tensor | None = None  # [width, n]
    owned: bool = False  # the matrix was made here: others may be added to it

    @property
    def columns(self) -> slice:
        return slice(self.start, self.start + (self.block if self.matrix is None else self.matrix).shape[-1])

    def times(self, factor: Tensor) -> Term:
        """Through an elementwise function; ``factor`` is its derivative, for all columns."""
        mine = factor[..., self.columns]
        return Term(self.start, self.block, mine if self.diagonal is None else mine * self.diagonal)

    def reaches(self, start: int, end: int) -> bool:
        return self.start < end and start < self.columns.stop

    def between(self, start: int, end: int) -> Term:
        """Those of its columns that lie in this range, counted from there; it has no matrix."""
        first, stop = max(start, self.start), min(end, self.columns.stop)
        mine = slice(first - self.start, stop - self.start)
        diagonal = self.diagonal
        if diagonal is not None and diagonal.shape[-1] > 1:
            diagonal = diagonal[..., mine]
        return Term(first - start, self.block[..., mine], diagonal)

    def write(self, out: Tensor) -> None:
        if self.matrix is not None:
            torch.mm(_flat(self.block), self.matrix, out=_flat(out))
        elif self.diagonal is not None:
            torch.mul(self.block, self.diagonal, out=out)
        else:
            out.copy_(self.block)

    def add_to(self, out: Tensor) -> None:
        if self.matrix is not None:
            _flat(out).addmm_(_flat(self.block), self.matrix)
        elif self.diagonal is not None:
            out.addcmul_(self.block, self.diagonal)
        else:
            out.add_(self.block)


# From x and y = function(x); of any other function torch's autograd finds it.
DERIVATIVES: dict[Function, Callable[[Tensor, Tensor], Tensor]] = {
    torch.sigmoid: lambda x, y: y * (1 - y),
    torch.tanh: lambda x, y: 1 - y * y,
    torch.relu: lambda x, y: (y > 0).to(y.dtype),
    torch.exp: lambda x, y: y,
    torch.square: lambda x, y: 2 * x,
    functional.softplus: lambda x, y: torch.sigmoid(x),
    functional.logsigmoid: lambda x, y: torch.sigmoid(-x),
}

Pull = Callable[[list[Term], list[list[Term]]], None]  # the gradient of a value, to those of what it was made from


@dataclass(slots=True)
class Value(NoTensor):
    """A tensor on the record; ``place`` is None for what depends on no input of the step."""

    total: Tensor
    place: int | None
    record: Recording

    def __add__(self, other: Value) -> Value:
        return self.record.sum(self, other)

    def __sub__(self, other: Value) -> Value:
        return self + -other

    def __neg__(self) -> Value:
        return self._minus(-self.total)

    def __rsub__(self, one: float) -> Value:
        return self._minus(one - self.total)

    def _minus(self, total: Tensor) -> Value:
        return self.record.elementwise(self, total, self.total.new_full((1,), -1.0).expand_as(self.total))


class Recording(Arithmetic[Value]):
    """The arithmetic that remembers how each value was made, for one step of one cell."""

    def __init__(self) -> None:
        self._pulls: list[Pull | None] = []

    def leaf(self, total: Tensor) -> Value:
        """An input of the step: what gradients are pulled back to."""
        return self._made(total, None)

    def linear(self, value: Value, weight: Tensor) -> Value:
        place, total = value.place, value.total @ weight.T
        if place is None:
            return self.constant(total)

        def pull(terms: list[Term], pending: list[list[Term]]) -> None:
            add_products(pending[place], terms, weight)

        return self._made(total, pull)

    def constant(self, bias: Tensor) -> Value:
        return Value(bias, None, self)

    def pieces(self, value: Value, sizes: Sequence[int]) -> tuple[Value, ...]:
        totals = value.total.split(list(sizes), dim=-1)
        if value.place is None:
            return tuple(self.constant(total) for total in totals)
        starts = [sum(sizes[:index]) for index in range(len(sizes))]
        return tuple(self._piece(value.place, total, start) for total, start in zip(totals, starts, strict=True))

    def join(self, values: Sequence[Value]) -> Value:
        total = Plain().join([value.total for value in values])
        sizes = [value.total.shape[-1] for value in values]
        ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
        needed = [
            (value.place, end - size, end)
            for value, size, end in zip(values, sizes, ends, strict=True)
            if value.place is not None
        ]

        def pull(terms: list[Term], pending: list[list[Term]]) -> None:
            for place, start, end in needed:
                pending[place] += [term.between(start, end) for term in terms if term.reaches(start, end)]

        return self._made(total, pull) if needed else self.constant(total)

    def arrange(self, value: Value, how: Arrangement) -> Value:
        place, total = value.place, how.forward(value.total)
        if place is None:
            return self.constant(total)

        def pull(terms: list[Term], pending: list[list[Term]]) -> None:
            rows, batch, _ = terms[0].block.shape
            block = terms[0].block.new_empty(rows, batch, total.shape[-1])
            write(terms, block)
            pending[place].append(Term(0, how.back(block)))

        return self._made(total, pull)

    def scale(self, value: Value, weight: Tensor | float) -> Value:
        each = weight if isinstance(weight, Tensor) else value.total.new_full((1,), weight).expand_as(value.total)
        return self.elementwise(value, value.total * weight, each)

    def apply(self, function: Function, value: Value, *weights: Tensor) -> Value:
        if value.place is None:
            return self.constant(function(value.total, *weights))
        if function in DERIVATIVES:
            y = function(value.total, *weights)
            return self.elementwise(value, y, DERIVATIVES[function](value.total, y))
        return self.elementwise(value, *_with_derivative(function, value.total, weights))

    def product(self, gate: Value, source: Value) -> Value:
        return self._of_two(gate.total * source.total, (gate, source.total), (source, gate.total))

    def maximum(self, first: Value, second: Value) -> Value:
        total = torch.maximum(first.total, second.total)
        larger = torch.sign(first.total - second.total).add(1).div(2)  # one half where both are the same, as in torch
        return self._of_two(total, (first, larger), (second, 1 - larger))

    def _of_two(self, total: Tensor, *sides: tuple[Value, Tensor]) -> Value:
        """What was made unit by unit from two values, each with its derivative."""
        needed = [(value.place, derivative) for value, derivative in sides if value.place is not None]

        def pull(terms: list[Term], pending: list[list[Term]]) -> None:
            for place, derivative in needed:
                pending[place] += [term.times(derivative) for term in terms]

        return self._made(total, pull) if needed else self.constant(total)

    def settle(self, value: Value) -> Value:
        return value

    def readout_gate(self, value: Value) -> Value:
        return value

    def whole(self, value: Value) -> Value:
        return value

    def gate(self, name: str, value: Value) -> Value:
        return value

    def sum(self, first: Value, second: Value) -> Value:
        needed = [value.place for value in (first, second) if value.place is not None]

        def pull(terms: list[Term], pending: list[list[Term]]) -> None:
            if len(needed) > 1 and not _many(terms):  # both sides get the same numbers: form them once
                terms = joined(terms)
            for place in needed:
                pending[place] += terms

        total = first.total + second.total
        return self._made(total, pull) if needed else self.constant(total)

    def elementwise(self, value: Value, total: Tensor, derivative: Tensor) -> Value:
        place = value.place
        if place is None:
            return self.constant(total)

        def pull(terms: list[Term], pending: list[list[Term]]) -> None:
            pending[place] += [term.times(derivative) for term in terms]

        return self._made(total, pull)

    def pull_back(self, given: Iterable[tuple[Value, Tensor]], leaves: Sequence[Value]) -> list[list[Term]]:
        """The gradients of ``leaves`` from those of some values, [row, batch, n] each."""
        pending: list[list[Term]] = [[] for _ in self._pulls]
        for value, block in given:
            if value.place is not None:
                pending[value.place].append(Term(0, block))
        for place in reversed(range(len(pending))):
            pull = self._pulls[place]
            if pull is not None and pending[place]:
                terms, pending[place] = [_formed(same) for same in by_columns(pending[place])], []
                pull(terms, pending)
        return [pending[leaf.place] if leaf.place is not None else [] for leaf in leaves]

    def _made(self, total: Tensor, pull: Pull | None) -> Value:
        self._pulls.append(pull)
        return Value(total, len(self._pulls) - 1, self)

    def _piece(self, place: int, total: Tensor, start: int) -> Value:
        def pull(terms: list[Term], pending: list[list[Term]]) -> None:
            pending[place] += [replace(term, start=term.start + start) for term in terms]

        return self._made(total, pull)


@torch.inference_mode(False)
@torch.enable_grad()
def _with_derivative(function: Function, value: Tensor, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """What a function of each number by itself gives, and its derivative."""
    x = value.detach().clone().requires_grad_()
    y = check_elementwise(function, x, function(x, *(weight.detach().clone() for weight in weights)))
    (slope,) = torch.autograd.grad(y.sum(), x)
    return y.detach(), slope


def write(terms: list[Term], out: Tensor) -> None:
    """The gradient of all columns, into ``out`` [row, batch, n], which is contiguous."""
    groups = by_columns(terms)
    if sum(same[0].columns.stop - same[0].start for same in groups) < out.shape[-1]:
        out.zero_()
    for same in groups:
        _write_sum(same, out[..., same[0].columns])


def add_products(products: list[Term], terms: list[Term], weight: Tensor) -> None:
    """Add to ``products`` the terms of ``terms @ weight``, one for each block that they are made of."""
    if any(term.matrix is not None for term in terms):
        terms = [_formed(same) for same in by_columns(terms)]
    if not _many(terms):
        products += [Term(0, term.block, matrix=weight[term.columns]) for term in joined(terms)]
        return
    for term in terms:
        rows = weight[term.columns]
        factor = None if term.diagonal is None else term.diagonal.reshape(-1, 1)
        for earlier in products:
            if earlier.owned and earlier.block is term.block and earlier.matrix is not None:
                earlier.matrix.add_(rows) if factor is None else earlier.matrix.addcmul_(rows, factor)
                break
        else:
            matrix = rows if factor is None else rows * factor
            products.append(Term(0, term.block, matrix=matrix, owned=factor is not None))


def by_columns(terms: list[Term]) -> list[list[Term]]:
    """The summands of each set of columns; those of one block and one kind are added up."""
    groups: list[list[Term]] = []
    for term in sorted(terms, key=lambda term: term.start):
        if groups and groups[-1][0].columns == term.columns:
            _include(groups[-1], term)
        elif groups and term.start < groups[-1][0].columns.stop:
            return [[_laid_over(terms)]]
        else:
            groups.append([term])
    return groups


def joined(terms: list[Term]) -> list[Term]:
    """The same gradient with its numbers formed, those of neighboring columns in one block."""
    runs: list[list[Term]] = []
    for term in terms:
        last = runs[-1][-1] if runs else None
        if last is None or last.diagonal is None or term.diagonal is None or last.columns.stop != term.start:
            runs.append([term])
        else:
            runs[-1].append(term)
    return [run[0] if run[0].diagonal is None else _in_one_block(run) for run in runs]


def _many(terms: list[Term]) -> bool:
    """Whether diagonals go into the matrices. In a batch every sequence has its own."""
    rows, batch, _ = terms[0].block.shape
    return batch == 1 and rows >= MANY


def _include(group: list[Term], term: Term) -> None:
    for index, other in enumerate(group):
        if other.block is term.block and other.matrix is None and term.matrix is None:
            one = term.block.new_ones(1)
            first, second = (one if part.diagonal is None else part.diagonal for part in (other, term))
            group[index] = Term(term.start, term.block, (first + second).expand(term.block.shape[1:]))
            return
    group.append(term)


def _formed(same: list[Term]) -> Term:
    """A sum as one term without a matrix."""
    if len(same) == 1 and same[0].matrix is None:
        return same[0]
    rows, batch, _ = same[0].block.shape
    start, stop = same[0].columns.start, same[0].columns.stop
    block = same[0].block.new_empty(rows, batch, stop - start)
    _write_sum(same, block)
    return Term(start, block)


def _write_sum(same: list[Term], out: Tensor) -> None:
    first, *others = sorted(same, key=lambda term: term.matrix is None)
    first.write(out)
    for term in others:
        term.add_to(out)


def _laid_over(terms: list[Term]) -> Term:
    """A value was used as a whole and in pieces."""
    formed = [_formed([term]) for term in terms]
    rows, batch, _ = formed[0].block.shape
    total = formed[0].block.new_zeros(rows, batch, max(term.columns.stop for term in formed))
    for term in formed:
        term.add_to(total[..., term.columns])
    return Term(0, total)


def _in_one_block(run: list[Term]) -> Term:
    rows, batch, _ = run[0].block.shape
    start = run[0].start
    block = run[0].block.new_empty(rows, batch, run[-1].columns.stop - start)
    for term in run:
        term.write(block[..., term.start - start : term.columns.stop - start])
    return Term(start, block)


def _flat(block: Tensor) -> Tensor:
    return block.view(-1, block.shape[-1])
