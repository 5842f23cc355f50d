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

STEPS = 3  # for each unit of a cut, from which on its matrices cost less than the outputs they are for
NUMBERS = 2**25  # of such a matrix at all steps, at most

# By place: derivatives [time, batch, unit, number] of what was made there; gradients [time, batch, row, number] of all
# steps, or [row, batch, number] of each row's own step.
ByPlace = dict[int, Tensor]


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


@dataclass
class Block:
    """Gradients of some outputs on their way back: of all steps [time, batch, row, number] by place, and of one step
    for each row [row, batch, number], by place and how many steps it is before the row's output."""

    rows: range
    all: ByPlace = field(default_factory=dict)
    own: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    def add(self, place: int, found: Tensor) -> None:
        self.all[place] = self.all[place].add_(found) if place in self.all else found

    def add_own(self, place: int, ago: int, values: Tensor, matrices: Tensor | None = None) -> None:
        """Of a step that is earlier by ``ago``, where there is one."""
        values = values[max(0, ago - self.rows.start) :]
        if matrices is not None:
            values = _times(values[:, :, None], matrices[self._steps(ago)])[:, :, 0]
        values = functional.pad(values, (0, 0, 0, 0, len(self.rows) - len(values), 0))
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
    """An operation, and the matrices from what it gives back at each step to gradients of earlier places."""

    way: Carried | Readings
    matrices: ByPlace
    queries: ByPlace  # of what a memory is asked by

    def back(self, place: int, block: Block) -> None:
        """Gradients of ``place``, what was found, become those of what it was made from."""
        if isinstance(self.way, Earlier):
            for ago, values in block.taken_own(place).items():
                for target, matrices in self.matrices.items():
                    block.add_own(target, ago + 1, values, matrices)
            if place not in block.all:
                return
        if isinstance(self.way, Carried):
            given = self.way.back(block.whole(place))
        else:
            given, asked = _of_read(self.way, block.taken_own(place)[0], block.rows)
            for target, matrices in self.queries.items():
                block.add_own(target, 0, asked, matrices)
        for target, matrices in self.matrices.items():
            block.add(target, _times(given, matrices[: len(given)]))


@dataclass(frozen=True)
class CutLayer:
    """A layer with the links between what goes from step to step in it, the latest first."""

    links: dict[int, Link]  # by place
    top: ByPlace  # matrices from its outputs; for the last layer gradients of every output at its own step

    def back(self, above: Tensor | None, rows: range) -> Float[Tensor, "time batch row input"]:
        """Gradients of what the layer was given, by those of what it gave; None for the last layer."""
        block = Block(rows)
        for place, values in self.top.items():
            if above is None:
                block.add_own(place, 0, values[rows.start : rows.stop])
            else:
                block.add(place, _times(above, values[: len(above)]))
        for place, link in self.links.items():
            link.back(place, block)
        return block.whole(0)


def _times(values: Float[Tensor, "*lead row unit"], matrices: Tensor) -> Float[Tensor, "*lead row number"]:
    """By matrices, or by their diagonals [*lead, 1, unit]."""
    return values * matrices if matrices.shape[-2] == 1 != values.shape[-1] else values @ matrices


def cut_layer(marked: Marked, top: Tensor, seeds: Float[Tensor, "time batch unit"] | None) -> CutLayer | None:
    """``seeds``: of every output at its own step, in the last layer. None where something is not known, or where
    matrices would cost more than they save."""
    places = marked.places
    if marked.unmarked or not top.requires_grad or not _worthwhile(marked, top):
        return None
    if seeds is None:
        from_top = _matrices([top], [_ones(top)], places)
    else:
        found = torch.autograd.grad(top, places, seeds.transpose(0, 1), retain_graph=True, allow_unused=True)
        from_top = {place: part.transpose(0, 1) for place, part in enumerate(found) if part is not None}
    asked, links = set(from_top), dict[int, Link]()
    for place in reversed(range(1, len(places))):
        if place not in asked:
            continue
        way = marked.ways[place - 1]
        if not isinstance(way, Carried) and (seeds is None or any(place in link.matrices for link in links.values())):
            return None  # what was read is known for the step of each output only
        links[place] = _link(way, places)
        asked |= links[place].matrices.keys() | links[place].queries.keys()
    return CutLayer(links, from_top) if 0 in asked else None


def _worthwhile(marked: Marked, top: Tensor) -> bool:
    units = [_units(way) for way in marked.ways]
    batch, time, size = top.shape
    most = max([size, *units])
    return STEPS * most <= time and batch * time * most * max(value.shape[-1] for value in marked.places) <= NUMBERS


def _units(way: Carried | Readings) -> int:
    return way.given[-1].shape[-1] if isinstance(way, Carried) else sum(value.shape[-1] for value in _given(way))


def _link(way: Carried | Readings, places: Sequence[Tensor]) -> Link:
    if isinstance(way, Carried):
        made_from = way.given
        shared = way.shared(_ones(made_from[-1]))
        asked = [number for number, value in enumerate(made_from) if value.requires_grad]
        values, rows = ([some[number] for number in asked] for some in (made_from, shared))
        return Link(way, _matrices(values, rows, places), {})
    given = _given(way)
    ones = _ones(torch.cat([value.detach() for value in given], -1)).split([value.shape[-1] for value in given], -1)
    queries = _matrices([way.queries], [_ones(way.queries)], places) if way.queries.requires_grad else {}
    return Link(way, _matrices(given, ones, places), queries)


def _given(way: Readings) -> list[Tensor]:
    return [value for value in way.given if value is not None and value.requires_grad]


def _ones(like: Float[Tensor, "batch time unit"]) -> Float[Tensor, "unit batch time unit"]:
    """For each unit a gradient of itself alone, at every step."""
    units = like.shape[-1]
    return torch.eye(units, dtype=like.dtype, device=like.device)[:, None, None].expand(units, *like.shape)


def _matrices(values: Sequence[Tensor], rows: Sequence[Tensor], places: Sequence[Tensor]) -> ByPlace:
    """Derivatives of places at each step, from gradients [unit, batch, time, number] of values."""
    ones = [torch.ones_like(value) for value in values]
    found = torch.autograd.grad(values, places, ones, retain_graph=True, allow_unused=True)
    reached = [place for place, part in enumerate(found) if part is not None]
    asked = [places[place] for place in reached]
    made = pulled(values, rows, asked)
    return {place: _simplest(part.permute(2, 1, 0, 3)) for place, part in zip(reached, made, strict=True)}


def _simplest(matrices: Float[Tensor, "time batch unit number"]) -> Tensor:
    """Their diagonals if there is nothing else in them."""
    diagonals = matrices.diagonal(dim1=-2, dim2=-1)
    square = matrices.shape[-2] == matrices.shape[-1]
    if square and int(matrices.count_nonzero()) == int(diagonals.count_nonzero()):
        return diagonals[..., None, :].contiguous()
    return matrices.contiguous()


def pulled(values: Sequence[Tensor], rows: Sequence[Tensor], places: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Gradients of places from those of what depends on them, [row, *shape] each."""

    def one(*rows: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(values, places, rows, retain_graph=True)

    with warnings.catch_warnings():  # an operation that torch does row by row, as cummax, is slow, not wrong
        warnings.filterwarnings("ignore", "There is a performance drop")
        return torch.func.vmap(one)(*rows)  # type: ignore[no-any-return]


def _of_read(way: Readings, own: Tensor, rows: range) -> tuple[Tensor, Tensor]:
    """Gradients of what a memory was made from, side by side, and of what each row asks it by."""
    seen = {field.name: getattr(way, field.name) for field in fields(way)}  # type: ignore[arg-type]
    cut = {name: value[:, : rows.stop] for name, value in seen.items() if isinstance(value, Tensor)}
    parts, asked = replace(way, **cut).gradients(own, rows.start)  # type: ignore[type-var]
    kept = [part for part, value in zip(parts, way.given, strict=True) if value is not None and value.requires_grad]
    return torch.cat(kept, -1).permute(2, 1, 0, 3), asked
