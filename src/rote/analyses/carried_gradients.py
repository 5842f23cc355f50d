"""Gradients of many outputs through layers whose steps do all by themselves but for a few known operations.

Where a layer is run over all of time at once, it says what goes from step to step (``rote.cells.carried``) and what is
read of a memory (``rote.cells.readings``). There the graph is cut. What lies between two cuts is, at each step, a
matrix of derivatives that is the same for all outputs: it is made once, from one forward pass, by as many backward
passes at once as the later cut has units. A block of outputs then goes back by these matrices and by the operations'
own ways, from its last output only.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from rote.cells import Plain
from rote.cells.arithmetic import Readings
from rote.cells.carried import Carried, Earlier, paired, real

if TYPE_CHECKING:
    from jaxtyping import Float

STEPS = 2  # for each unit of a cut, from which on its matrices cost less than they save
NUMBERS = 2**25  # of such a matrix at all steps, at most

ByPlace = dict[int, Tensor]  # gradients: of all steps [time, batch, row, number], or of each output at its own step


class Marked(Plain):
    """Ends the graph at all that comes from other steps. Places are where it begins, the layer's inputs first."""

    def __init__(self, inputs: Float[Tensor, "batch time input"]) -> None:
        super().__init__()
        self.places, self.ways = [inputs], list[Carried | Readings]()

    def reading(self, value: Tensor, readings: Readings) -> Tensor:
        return self._cut(value, readings) if value.requires_grad else value

    def carried(self, value: Tensor, carried: Carried) -> Tensor:
        if not value.requires_grad:
            return value
        return paired(self._cut(real(value), carried)) if value.is_complex() else self._cut(value, carried)

    def _cut(self, value: Tensor, way: Any) -> Tensor:
        self.places.append(value.detach().requires_grad_())
        self.ways.append(way)
        return self.places[-1]


@dataclass(frozen=True)
class Matrices:
    """Derivatives of so many numbers at each step, of those from ``first`` on; the others are zero."""

    values: Float[Tensor, "time batch unit number"] | Float[Tensor, "time batch 1 number"]
    diagonal: bool  # the values are diagonals
    first: int
    size: int

    @classmethod
    def of(cls, found: Float[Tensor, "unit batch time number"]) -> Matrices:
        """Without columns, and numbers beside the diagonal, that are zero at the last step and at all others."""
        size, last = found.shape[-1], found[:, 0, -1]
        there = last.any(0).nonzero()
        first, end = (int(there[0]), int(there[-1]) + 1) if len(there) else (0, size)
        square, shown = last[:, first:end], found[..., first:end]
        diagonal = len(square) == end - first and torch.equal(square, square.diagonal().diag())
        values = (shown.diagonal(dim1=0, dim2=-1)[None] if diagonal else shown).permute(2, 1, 0, 3).contiguous()
        if (diagonal or end - first < size) and int(values.count_nonzero()) < int(found.count_nonzero()):
            return cls(found.permute(2, 1, 0, 3).contiguous(), False, 0, size)
        return cls(values, diagonal, first, size)

    def times(self, gradients: Tensor, steps: slice | Tensor) -> Float[Tensor, "*lead row number"]:
        """The gradients [*lead, row, unit] of these steps, through their matrices."""
        values = self.values[steps]
        return gradients * values if self.diagonal else gradients @ values

    def padded(self, found: Tensor) -> Tensor:
        """With the zeros of the other numbers."""
        lacking = self.size - self.first - found.shape[-1]
        return functional.pad(found, (self.first, lacking)) if self.first or lacking else found


@dataclass
class Block:
    """Gradients of some outputs on their way back: of all steps [time, batch, row, number] by place, and of one step
    for each row [row, batch, number], by place and how many steps it is before the row's output."""

    rows: range
    all: ByPlace = field(default_factory=dict)
    own: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    def add(self, place: int, given: Tensor, matrices: Matrices) -> None:
        """Of all steps, from gradients of what depends on the place."""
        found = matrices.times(given, slice(len(given)))
        if place in self.all:
            self.all[place][..., matrices.first : matrices.first + found.shape[-1]] += found
        else:
            self.all[place] = matrices.padded(found)

    def add_own(self, place: int, values: Tensor) -> None:
        """Of the step of each output."""
        self._add_ago(place, 0, values)

    def add_of_own(self, place: int, ago: int, values: Tensor, matrices: Matrices) -> None:
        """Of a step that is earlier by ``ago``, where there is one, from gradients of what depends on the place."""
        there = values[max(0, ago - self.rows.start) :, :, None]
        found = matrices.padded(matrices.times(there, self._steps(ago))[:, :, 0])
        self._add_ago(place, ago, functional.pad(found, (0, 0, 0, 0, len(self.rows) - len(found), 0)))

    def _add_ago(self, place: int, ago: int, values: Tensor) -> None:
        self.own[place, ago] = self.own[place, ago] + values if (place, ago) in self.own else values

    def taken_own(self, place: int) -> dict[int, Tensor]:
        """By how many steps ago; they are not of that place any more."""
        return {ago: self.own.pop((one, ago)) for one, ago in list(self.own) if one == place}

    def whole(self, place: int) -> Float[Tensor, "time batch row number"]:
        """Of all steps, with those of one step each among them."""
        own, found = self.taken_own(place), self.all.pop(place, None)
        for ago, values in own.items():
            if found is None:
                found = values.new_zeros(self.rows.stop, values.shape[1], len(self.rows), values.shape[2])
            steps = self._steps(ago)
            start = len(self.rows) - len(steps)
            found[steps, :, torch.arange(start, len(self.rows))] += values[start:]
        assert found is not None
        return found

    def _steps(self, ago: int) -> Tensor:
        return torch.arange(max(0, self.rows.start - ago), max(0, self.rows.stop - ago))


@dataclass(frozen=True)
class Link:
    """An operation, and by place the matrices from each part of what it gives back."""

    way: Carried | Readings
    parts: list[dict[int, Matrices]]
    queries: dict[int, Matrices]  # from what a memory is asked by

    @property
    def places(self) -> set[int]:
        """To which gradients of all steps go."""
        return {place for part in self.parts for place in part}

    def back(self, place: int, block: Block) -> None:
        """Gradients of ``place``, what was found, become those of what it was made from."""
        if isinstance(self.way, Earlier):
            for ago, values in block.taken_own(place).items():
                for target, matrices in self.parts[0].items():
                    block.add_of_own(target, ago + 1, values, matrices)
            if place not in block.all:
                return
        if isinstance(self.way, Carried):
            found = [self.way.back(block.whole(place))]
        else:
            found, asked = _of_read(self.way, block.taken_own(place)[0], block.rows)
            for target, matrices in self.queries.items():
                block.add_of_own(target, 0, asked, matrices)
        for given, part in zip(found, self.parts, strict=True):
            for target, matrices in part.items():
                block.add(target, given, matrices)


@dataclass(frozen=True)
class CutLayer:
    """A layer with the links between what goes from step to step in it, the latest first."""

    links: dict[int, Link]  # by place
    top: dict[int, Matrices]  # from its outputs
    own: ByPlace  # for the last layer instead: gradients of every output at its own step

    def back(self, above: Tensor | None, rows: range) -> Float[Tensor, "time batch row input"]:
        """Gradients of what the layer was given, by those of what it gave; None for the last layer."""
        block = Block(rows)
        for place, values in self.own.items():
            block.add_own(place, values[rows.start : rows.stop])
        for place, matrices in self.top.items():
            assert above is not None
            block.add(place, above, matrices)
        for place, link in self.links.items():
            link.back(place, block)
        return block.whole(0)


def cut_layer(marked: Marked, top: Tensor, seeds: Float[Tensor, "time batch unit"] | None) -> CutLayer | None:
    """``seeds``: of every output at its own step, in the last layer. None where something is not known, or where
    matrices would cost more than they save."""
    places = marked.places
    if marked.unmarked or not top.requires_grad or not _worthwhile(marked, top):
        return None
    top_matrices, own = dict[int, Matrices](), ByPlace()
    if seeds is None:
        top_matrices = _matrices([top], [_ones(top)], places)
    else:
        found = torch.autograd.grad(top, places, seeds.transpose(0, 1), retain_graph=True, allow_unused=True)
        own = {place: part.transpose(0, 1) for place, part in enumerate(found) if part is not None}
    asked, links = top_matrices.keys() | own.keys(), dict[int, Link]()
    for place in reversed(range(1, len(places))):
        if place not in asked:
            continue
        way = marked.ways[place - 1]
        if not isinstance(way, Carried) and (seeds is None or any(place in link.places for link in links.values())):
            return None  # what was read is known for the step of each output only
        links[place] = _link(way, places)
        asked |= links[place].places | links[place].queries.keys()
    return CutLayer(links, top_matrices, own) if 0 in asked else None


def _worthwhile(marked: Marked, top: Tensor) -> bool:
    batch, time, size = top.shape
    units = [size, *(_units(way) for way in marked.ways)]
    numbers = batch * time * max(units) * max(value.shape[-1] for value in marked.places)
    return max(units) * STEPS <= time and numbers <= NUMBERS


def _units(way: Carried | Readings) -> float:
    """Of what is carried; the parts of a memory are simpler, and half as many count."""
    if isinstance(way, Carried):
        return way.given[-1].shape[-1]
    return sum(value.shape[-1] for value in _given(way)) / 2


def _link(way: Carried | Readings, places: Sequence[Tensor]) -> Link:
    if isinstance(way, Carried):
        made_from = way.given
        shared = way.shared(_ones(made_from[-1]))
        asked = [number for number, value in enumerate(made_from) if value.requires_grad]
        values, rows = ([some[number] for number in asked] for some in (made_from, shared))
        return Link(way, [_matrices(values, rows, places)], {})
    parts = [_matrices([value], [_ones(value)], places) for value in _given(way)]
    queries = _matrices([way.queries], [_ones(way.queries)], places) if way.queries.requires_grad else {}
    return Link(way, parts, queries)


def _given(way: Readings) -> list[Tensor]:
    return [value for value in way.given if value is not None and value.requires_grad]


def _ones(like: Float[Tensor, "batch time unit"]) -> Float[Tensor, "unit batch time unit"]:
    """For each unit a gradient of itself alone, at every step."""
    units = like.shape[-1]
    return torch.eye(units, dtype=like.dtype, device=like.device)[:, None, None].expand(units, *like.shape)


def _matrices(values: Sequence[Tensor], rows: Sequence[Tensor], places: Sequence[Tensor]) -> dict[int, Matrices]:
    """Derivatives of places at each step, from gradients [unit, batch, time, number] of values."""
    ones = [torch.ones_like(value) for value in values]
    found = torch.autograd.grad(values, places, ones, retain_graph=True, allow_unused=True)
    reached = [place for place, part in enumerate(found) if part is not None]
    asked = [places[place] for place in reached]
    made = pulled(values, rows, asked)
    return {place: Matrices.of(part) for place, part in zip(reached, made, strict=True)}


def pulled(values: Sequence[Tensor], rows: Sequence[Tensor], places: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Gradients of places from those of what depends on them, [row, *shape] each."""

    def one(*rows: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(values, places, rows, retain_graph=True)

    with warnings.catch_warnings():  # an operation that torch does row by row, as cummax, is slow, not wrong
        warnings.filterwarnings("ignore", "There is a performance drop")
        return torch.func.vmap(one)(*rows)  # type: ignore[no-any-return]


def _of_read(way: Readings, own: Tensor, rows: range) -> tuple[list[Tensor], Tensor]:
    """Gradients of what a memory was made from, and of what each row asks it by."""
    seen = {field.name: getattr(way, field.name) for field in fields(way)}  # type: ignore[arg-type]
    cut = {name: value[:, : rows.stop] for name, value in seen.items() if isinstance(value, Tensor)}
    parts, asked = replace(way, **cut).gradients(own, rows.start)  # type: ignore[type-var]
    kept = [part for part, value in zip(parts, way.given, strict=True) if value is not None and value.requires_grad]
    return [part.permute(2, 1, 0, 3) for part in kept], asked
