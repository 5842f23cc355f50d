"""A cell's step run over all steps at once, where the new state is linear in the old one: for training.

The step is run as it is written, with values that hold every step: known, or linear in states that are not known yet
(``Series``). A state that is its old value times something known, plus something known, is a linear recurrence, which
``scan`` solves; one that is made from inputs alone (the last inputs of a convolution) is known one step later. Two
states that turn into each other (the real and the imaginary part of one number) are solved together; a memory of
matrices is never formed at every step (``matrix_memory``). What remains is
known when the step is run again with these. A step that multiplies a state by a matrix or bends it comes to no end this
way: it goes step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Arrangement, Function, Matrices, Plain, Readings, check_elementwise
from rote.cells.carried import Convolved, Earlier, Largest, Scanned, Turned, delayed
from rote.cells.cell import Cell
from rote.cells.convolution import convolved
from rote.cells.matrix_memory import write_over_time
from rote.cells.readings import Lanes, OfCorrected, OfReplaced, OfWritten
from rote.cells.replaced_memory import replace_over_time
from rote.cells.scan import scan
from rote.cells.series import LOST, Highest, Memory, Number, Series, Written, absent, multiplied, old_state, tensor

Made = tuple[Tensor, Series]  # what an operation was given, and what it gave
PRECISE = (torch.float32, torch.float64)


class OverTime(Arithmetic[Series]):
    """The arithmetic of ``Series``, with the products of ``plain``; values are [*lead, batch * time, unit]."""

    def __init__(self, plain: Plain, starts: Sequence[Tensor], time: int, made: dict[int, Made] | None = None) -> None:
        self.plain, self.starts, self.time = plain, starts, time
        self.solved: dict[int, Tensor] = {}
        self.registers: list[tuple[list[int], Series]] = []  # states that hold the last inputs of a convolution
        self._made: dict[int, Made] = {} if made is None else made
        self._place = 0

    def linear(self, value: Series, weight: Tensor) -> Series:
        if not value.known:
            self._place += 1
            return LOST
        return self._once(tensor(value), lambda given: self.plain.linear(given, weight))

    def _once(self, given: Tensor, make: Callable[[Tensor], Tensor]) -> Series:
        """What an earlier run of the step has made at this place, if it was given the same."""
        self._place += 1
        if self._place not in self._made or self._made[self._place][0] is not given:
            self._made[self._place] = (given, Series(make(given)))
        return self._made[self._place][1]

    def constant(self, bias: Tensor) -> Series:
        return Series(self.plain.constant(bias))

    def scale(self, value: Series, weight: Tensor | float) -> Series:
        return value.times(self.plain.constant(weight) if isinstance(weight, Tensor) else weight)

    def pieces(self, value: Series, sizes: Sequence[int]) -> tuple[Series, ...]:
        return tuple(map(Series, self.plain.pieces(tensor(value), sizes))) if value.known else (LOST,) * len(sizes)

    def join(self, values: Sequence[Series]) -> Series:
        return Series(self.plain.join(list(map(tensor, values)))) if all(value.known for value in values) else LOST

    def arrange(self, value: Series, how: Arrangement) -> Series:
        return Series(how.forward(tensor(value))) if value.known else LOST

    def apply(self, function: Function, value: Series, *weights: Tensor) -> Series:
        if not value.known:
            return LOST
        given = tensor(value)
        return Series(check_elementwise(function, given, self.plain.apply(function, given, *weights)))

    def convolve(self, newest: Series, past: Sequence[Series], weight: Tensor) -> Series:
        chain = [value.old for value in past if value.old is not None]
        if not newest.known or not past or len(chain) < len(past):
            self._place += 1
            return super().convolve(newest, past, weight)
        self.registers.append((chain, newest))
        return self._once(tensor(newest), lambda given: self._convolved(given, chain, weight))

    def _convolved(self, given: Tensor, chain: Sequence[int], weight: Tensor) -> Tensor:
        begin = torch.stack([self.starts[state] for state in reversed(chain)], -2)
        series = self.apart(given, begin[..., 0, :])
        return self._flat(self.plain.carried(convolved(begin, series, weight), Convolved(series, weight)))

    def product(self, gate: Series, source: Series) -> Series:
        known, other = (gate, source) if gate.known else (source, gate)
        return other.times(known.offset) if known.known and not other.lost else LOST

    def maximum(self, first: Series, second: Series) -> Series:
        if first.known and second.known:
            return Series(torch.maximum(tensor(first), tensor(second)))
        state = old_state(first)
        if state is None or not second.known:
            return LOST
        return Highest(0.0, lost=True, state=state, added=first.offset, other=tensor(second))

    def write(
        self,
        memory: Series,
        kept: Series | None,
        rows: Series,
        columns: Series,
        shape: Matrices,
        *,
        share: Series | None = None,
    ) -> Series:
        state, known = old_state(memory), all(value is None or value.known for value in (kept, rows, columns, share))
        if state is None or not known or not absent(memory.offset):
            return super().write(memory, kept, rows, columns, shape, share=share)
        start = self.starts[state]
        k, v = (self.apart(tensor(value), start) for value in (rows, columns))
        a, b = (None if value is None else self.apart(tensor(value), start) for value in (kept, share))
        chunks, lanes = write_over_time(a, k, v, b, start, shape), Lanes(shape, start)

        def readings(q: Tensor) -> Readings:
            return OfWritten(a, k, v, q, lanes) if b is None else OfCorrected(a, k, v, b, q, lanes)

        return Memory(0.0, lost=True, state=state, chunks=chunks, readings=readings)

    def replace(
        self,
        memory: Series,
        kept: Series,
        place: Series,
        share: Series,
        rows: Series,
        columns: Series,
        shape: Matrices,
    ) -> Series:
        state, values = old_state(memory), (kept, place, share, rows, columns)
        if state is not None and absent(memory.offset) and all(value.known for value in values):
            start = self.starts[state]
            w, n, g, k, v = (self.apart(tensor(value), start) for value in values)
            chunks = replace_over_time(w, n, g, k, v, start, shape)
            if chunks is not None:
                lanes = Lanes(shape, start)
                return Memory(
                    0.0, lost=True, state=state, chunks=chunks, readings=lambda q: OfReplaced(w, n, g, k, v, q, lanes)
                )
        return super().replace(memory, kept, place, share, rows, columns, shape)

    def read(self, rows: Series, memory: Series, shape: Matrices) -> Series:
        if not isinstance(memory, Memory) or not rows.known or memory.chunks is None or memory.readings is None:
            return super().read(rows, memory, shape)
        queries = self.apart(tensor(rows), self.starts[memory.state])
        return Series(self._flat(self.plain.reading(memory.chunks.read(queries), memory.readings(queries))))

    def settle(self, value: Series) -> Series:
        if value.lost or len(value.slopes) != 1:
            return value
        ((state, slope),) = value.slopes.items()
        solved = self.solve(state, slope, value.offset)
        if solved is None:
            return LOST
        self.solved[state] = solved
        return Series(solved)

    def readout_gate(self, value: Series) -> Series:
        return value

    def whole(self, value: Series) -> Series:
        return value

    def gate(self, name: str, value: Series) -> Series:
        return value

    def solve(self, state: int, slope: Number, offset: Number) -> Tensor | None:
        """All values of a state that goes on from itself; None if it is of another size."""
        start = self.starts[state]
        if any(isinstance(part, Tensor) and part.shape[-1] != start.shape[-1] for part in (slope, offset)):
            return None
        factors, values = self.by_time(slope, start), self.by_time(offset, start)
        found = scan(factors, values, start)
        return self._flat(self.plain.carried(found, Scanned(factors, values, start, found)))

    def solve_highest(self, value: Highest) -> Tensor:
        """m' = max(m + added, other), as the largest of all sums so far."""
        start = self.starts[value.state]
        assert value.other is not None
        added, other = self.by_time(value.added, start), self.by_time(value.other, start)
        total = added.cumsum(-2)
        sums = other - total
        largest = sums.gather(-2, sums.detach().cummax(-2).indices)  # cummax itself has no gradients of many rows
        found = total + torch.maximum(start[..., None, :], largest)
        return self._flat(self.plain.carried(found, Largest(added, other, start, found)))

    def solve_turning(
        self, states: tuple[int, int], slope: Tensor, turn: Tensor, offsets: tuple[Number, Number]
    ) -> list[Tensor]:
        """re' = slope * re - turn * im + ...,  im' = turn * re + slope * im + ...: one complex number."""
        like = self.starts[states[0]]
        factors, values = (
            torch.complex(*(self.by_time(part, like) for part in pair)) for pair in ((slope, turn), offsets)
        )
        start = torch.complex(*(self.starts[state] for state in states))
        found = scan(factors, values, start)
        found = self.plain.carried(found, Turned(factors, values, start, found))
        return [self._flat(found.real), self._flat(found.imag)]

    def earlier(self, state: int, series: Tensor) -> Tensor:
        """The values with which each step began."""
        start = self.starts[state]
        values = self.by_time(series, start)
        return self._flat(self.plain.carried(delayed(start, values), Earlier(values)))

    def by_time(self, number: Number, like: Tensor) -> Tensor:
        """[*lead, batch, time, unit]."""
        rows = (*like.shape[:-2], like.shape[-2] * self.time, like.shape[-1])
        whole = number.expand(rows) if isinstance(number, Tensor) else like.new_full((1,), number).expand(rows)
        return whole.reshape(*like.shape[:-1], self.time, like.shape[-1])

    def apart(self, value: Tensor, start: Tensor) -> Tensor:
        """[*lead, batch, time, unit], of any number of units."""
        shape = (*start.shape[:-1], self.time, value.shape[-1])
        return value.expand(*start.shape[:-2], shape[-3] * self.time, shape[-1]).reshape(shape)

    def _flat(self, series: Tensor) -> Tensor:
        return series.flatten(-3, -2)


def run_over_time(cell: Cell, a: Plain, projected: Tensor, start: Sequence[Tensor]) -> list[Tensor | Written] | None:
    """Every state at every step, [*lead, batch, time, unit], from the projected inputs [*lead, batch, time, row]; None
    if this cell has to go step by step."""
    if cell.recurrent_matrix or not projected.shape[-2] or projected.dtype not in PRECISE:
        return None
    given, found, made = Series(projected.flatten(-3, -2)), dict[int, Tensor](), dict[int, Made]()
    while True:
        run = OverTime(a, start, projected.shape[-2], made)
        olds = [
            Series(run.earlier(k, found[k]), old=k) if k in found else Series(0.0, {k: 1.0}, old=k)
            for k in range(len(start))
        ]
        new = cell.step(run, given, tuple(olds))
        if any(new[k].offset is not series for k, series in run.solved.items()) or not _pushed_on(run, new):
            return None  # a state is not what it was taken for
        known = _known(run, new, found)
        matrices = {k: value.chunks for k, value in enumerate(new) if isinstance(value, Memory) and value.state == k}
        if len(known.keys() | matrices.keys()) == len(new):
            return [matrices.get(k) or run.by_time(known[k], start[k]) for k in range(len(start))]
        if len(known) == len(found):
            return None
        found = known


def dry_step(cell: Cell) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """The start and the states after one step, computed in the operations of the arithmetic only: with plain tensors
    others would go unseen."""
    start = cell.zero_state(1)
    given = Series(cell.project(start[0].new_zeros(1, cell.input_size)))
    new = cell.step(OverTime(Plain(), start, 1), given, tuple(map(Series, start)))
    return start, [tensor(value) for value in new]


def hidden_over_time(
    cell: Cell, a: Plain, projected: Tensor, start: tuple[Tensor, ...], mask: Tensor | None
) -> tuple[Tensor, tuple[Tensor, ...]] | None:
    """What a cell gives at every step, zero where a row has ended, and its states where each row ends; None if it has
    to go step by step."""
    if projected.shape[-2] and projected.dtype in PRECISE:
        found = cell.over_time(a, projected, start, mask)
        if found is not None:
            a.unmarked |= not cell.alone
            return found
    series = run_over_time(cell, a, projected, start)
    return None if series is None else ended(series, mask, start)


def ended(
    series: Sequence[Tensor | Written], mask: Tensor | None, start: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The first state at every step, zero where a row has ended; and all of them where each row ends."""
    hidden = series[0]
    assert isinstance(hidden, Tensor)
    if mask is None:
        return hidden, tuple(_behind(values, None) for values in series)
    lengths = mask.sum(-1)
    ends = [
        torch.where(lengths[..., None] > 0, _behind(values, lengths.clamp(min=1)), old)
        for values, old in zip(series, start, strict=True)
    ]
    return hidden * mask[..., None], tuple(ends)


def _behind(values: Tensor | Written, lengths: Tensor | None) -> Tensor:
    """A state behind the last step, or behind as many as each row has."""
    if not isinstance(values, Tensor):
        return values.at_end(lengths)
    if lengths is None:
        return values[..., -1, :]
    place = (lengths - 1)[..., None, None].expand(*values.shape[:-2], 1, values.shape[-1])
    return values.gather(-2, place)[..., 0, :]


def turned(values: Tensor, mask: Tensor | None) -> Tensor:
    """[batch, time, unit] with every row read from its end; done twice, nothing has changed."""
    if mask is None:
        return values.flip(-2)
    time = torch.arange(values.shape[-2], device=values.device)
    order = torch.where(mask, mask.sum(-1, keepdim=True) - 1 - time, time)
    return values.gather(-2, order[..., None].expand_as(values))


def _known(run: OverTime, new: Sequence[Series], found: dict[int, Tensor]) -> dict[int, Tensor]:
    """The states that are known by now, with those that follow from others that are."""
    known = {k: tensor(value) for k, value in enumerate(new) if value.known} | found
    for k, value in enumerate(new):
        if k not in known and isinstance(value, Highest) and value.state == k:
            known[k] = run.solve_highest(value)
        elif k not in known and not value.lost and set(value.slopes) == {k}:  # it was not settled
            solved = run.solve(k, value.slopes[k], value.offset)
            known |= {} if solved is None else {k: solved}
    waiting = {k: value for k, value in enumerate(new) if k not in known and not value.lost}
    while ready := [k for k, value in waiting.items() if set(value.slopes) <= set(known)]:
        for k in ready:
            value = waiting.pop(k)
            total = Series(value.offset)
            for state, slope in value.slopes.items():
                total = total + Series(multiplied(run.earlier(state, known[state]), slope))
            known[k] = tensor(total)
    for re, im in zip(waiting, list(waiting)[1:], strict=False):
        turning = _turning(waiting[re].slopes, waiting[im].slopes, re, im)
        if turning is not None:
            offsets = (waiting[re].offset, waiting[im].offset)
            return known | dict(zip((re, im), run.solve_turning((re, im), *turning, offsets), strict=True))
    return known


def _turning(first: dict[int, Number], second: dict[int, Number], re: int, im: int) -> tuple[Tensor, Tensor] | None:
    """slope and turn, if two states turn into each other as the parts of one complex number do."""
    if set(first) == set(second) == {re, im}:
        match first[re], first[im], second[re], second[im]:
            case Tensor() as slope, Tensor() as minus, Tensor() as turn, Tensor() as again:
                return (slope, turn) if torch.equal(slope, again) and torch.equal(minus, -turn) else None
    return None


def _pushed_on(run: OverTime, new: Sequence[Series]) -> bool:
    """Whether the states of every convolution are its inputs, each taking over from the one before it."""
    for chain, newest in run.registers:
        behind = [new[state].old for state in chain[1:]]
        if new[chain[0]].offset is not newest.offset or behind != chain[:-1]:
            return False
    return True
