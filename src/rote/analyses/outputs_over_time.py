"""The gradient of every output with respect to every input, where layers are run over all of time at once.

If all cells are linear in their states (``rote.cells.over_time``), a layer is some products over all steps and a scan.
Its backward pass is then run for many outputs at a time: torch's vmap turns every operation of it into one on a block
with a row for each output, and the products of factors that the scan needs are the same for all rows. No output
depends on later inputs, so that a block of outputs goes back from its last one only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.cells import Cell, Plain, Recurrent, State
from rote.cells.arithmetic import Readings
from rote.cells.recurrent import read_over_time

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

NUMBERS = 2**20  # of a block of gradients, at the widest place between two layers
THROUGH_MEMORY = 2 * NUMBERS  # the same where a memory needs fewer
FEWEST = 8  # outputs in a block: each block needs a forward pass of its own


Pair = tuple[Tensor | None, Tensor]  # a value, and its gradients with a row for each output


class Cut(Plain):
    """Ends the graph at what the steps of a layer read of earlier ones: its gradients are known otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.cuts: list[tuple[Tensor, Readings]] = []

    def reading(self, value: Tensor, readings: Readings) -> Tensor:
        self.cuts.append((value.detach().requires_grad_(), readings))
        return self.cuts[-1][0]


def top_over_time(
    recurrent: Recurrent,
    vectors: Float[Tensor, "batch time input"],
    initial: list[State],
    mask: Bool[Tensor, "batch time"] | None,
    layers: range | None = None,
    a: Plain | None = None,
) -> Float[Tensor, "batch time output"] | None:
    """What the top layer, or the last of ``layers``, gives, in a graph of torch's if asked for; None if some cell has
    to go step by step."""
    for layer in range(recurrent.layers) if layers is None else layers:
        outputs = []
        for direction in range(recurrent.directions):
            state = initial[layer * recurrent.directions + direction]
            found = read_over_time(_frozen(recurrent.cell(layer, direction)), vectors, state, mask, direction == 1, a)
            if found is None:
                return None
            outputs.append(found[0])
        vectors = torch.cat(outputs, dim=-1) if len(outputs) > 1 else outputs[0]
    return vectors


def _frozen(cell: Cell) -> Cell:
    """The cell with weights that have no gradients: a way back that is not torch's own would find these as well."""
    frozen = object.__new__(type(cell))
    weights = {name: weight.detach() for name in cell.shapes() if (weight := getattr(cell, name)) is not None}
    frozen.__dict__ = {**cell.__dict__, **weights}
    return frozen


def values_over_time(
    recurrent: Recurrent,
    vectors: Float[Tensor, "batch time input"],
    initial: list[State],
    mask: Bool[Tensor, "batch time"] | None,
    seeds: Float[Tensor, "time batch unit"],
    measure: Callable[[Tensor], Tensor],
) -> Float[Tensor, "batch time time"]:
    """``seeds``: the gradient of each output with respect to its own step of the top layer; ``measure``: one number
    [output, batch, time] for each gradient [output, batch, time, input] of the first steps."""
    time, batch, _ = seeds.shape
    widest = max(recurrent.output_size, *(len(cell.input_matrix) for cell in recurrent.all_cells()))
    numbers = NUMBERS if recurrent.cell(recurrent.layers - 1).direct_steps is None else THROUGH_MEMORY
    count = max(FEWEST, numbers // (batch * time * widest))
    values = seeds.new_zeros(batch, time, time)
    for first in range(0, time, count):
        end = min(first + count, time)
        seen = end if recurrent.directions == 1 else time
        given = vectors[:, :seen].detach().requires_grad_()
        found = _through_memory(recurrent, given, initial, seeds[first:end], first)
        if found is None:
            with torch.enable_grad():
                top = top_over_time(recurrent, given, initial, mask)
            assert top is not None
            block = seeds.new_zeros(end - first, batch, seen, seeds.shape[-1])
            block[torch.arange(end - first), :, torch.arange(first, end)] = seeds[first:end]
            found = _pulled([(top, block)], given)
        values[:, first:end, :seen] = measure(found).transpose(0, 1)
    return values


def _at_steps(own: Tensor, first: int, time: int, place: int, near: int) -> Float[Tensor, "batch time unit"]:
    """The gradients [row, batch, unit] of every ``near``-th step from ``place`` on; rows are of ``first`` and on."""
    block = own.new_zeros(own.shape[1], time, own.shape[2])
    block[:, first + place : first + len(own) : near] = own[place::near].transpose(0, 1)
    return block


def _through_memory(
    recurrent: Recurrent, given: Tensor, initial: list[State], seeds: Tensor, first: int
) -> Float[Tensor, "output batch time input"] | None:
    """Gradients of ``given`` by what each step of the top layer reads of a memory, and by the few last steps that it
    depends on otherwise; None where it is not known to depend on nothing else (``Cell.direct_steps``)."""
    top_layer = recurrent.layers - 1
    near, cut = recurrent.cell(top_layer).direct_steps, Cut()
    if near is None or recurrent.directions > 1:
        return None
    with torch.enable_grad():
        entered = top_over_time(recurrent, given, initial, None, range(top_layer))
        assert entered is not None
        inside = given if top_layer == 0 else entered.detach().requires_grad_()
        top = top_over_time(recurrent, inside, initial, None, range(top_layer, top_layer + 1), cut)
    if top is None or len(cut.cuts) != 1:
        return None
    (leaf, readings), count = cut.cuts[0], len(seeds)
    # Outputs so far apart that they depend directly on no step together share a row.
    shared = torch.stack([_at_steps(seeds, first, given.shape[1], place, near) for place in range(near)])
    (own,) = torch.autograd.grad(top, leaf, shared.sum(0), retain_graph=True)
    of_given, of_queries = readings.gradients(own[:, first:].transpose(0, 1), first)
    queries = torch.stack([_at_steps(of_queries, first, given.shape[1], place, near) for place in range(near)])
    direct = _pulled([(top, shared), (readings.queries, queries)], inside)
    found = _pulled(list(zip(readings.given, of_given, strict=True)), inside)
    for ago in range(min(near, first + count)):
        rows = torch.arange(max(0, ago - first), count, device=given.device)
        found[rows, :, rows + first - ago] += direct[rows % near, :, rows + first - ago]
    return found if top_layer == 0 else _pulled([(entered, found)], given)


def _pulled(pairs: list[Pair], given: Tensor) -> Tensor:
    """Gradients of ``given`` from those of what depends on it, [row, *shape] each."""
    reached = [(value, rows) for value, rows in pairs if value is not None and value.requires_grad]
    values = [value for value, _ in reached]

    def one(*rows: Tensor) -> Tensor:
        (gradient,) = torch.autograd.grad(values, given, rows, retain_graph=True)
        return gradient

    with warnings.catch_warnings():  # an operation that torch does row by row, as cummax, is slow, not wrong
        warnings.filterwarnings("ignore", "There is a performance drop")
        found: Tensor = torch.func.vmap(one)(*(rows for _, rows in reached))
    return found
