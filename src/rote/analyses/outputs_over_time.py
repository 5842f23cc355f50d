"""The gradient of every output with respect to every input, where layers are run over all of time at once.

If all cells are linear in their states (``rote.cells.over_time``), a layer is some products over all steps and a scan.
Where all that goes from step to step is known, the layers are cut there (``carried_gradients``). Else the backward pass
is run for many outputs at a time: torch's vmap turns every operation of it into one on a block with a row for each
output, and the products of factors that the scan needs are the same for all rows. No output depends on later inputs,
so that a block of outputs goes back from its last one only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.carried_gradients import CutLayer, Marked, cut_layer, pulled
from rote.cells import Cell, Plain, Recurrent, State
from rote.cells.arithmetic import Readings
from rote.cells.recurrent import read_over_time

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

NUMBERS = 2**20  # of a block of gradients, at the widest place between two layers
THROUGH_MEMORY = 2 * NUMBERS  # the same where a memory needs fewer
FEWEST = 8  # outputs in a block: each block needs a forward pass of its own
LANES = 50  # outputs of all sequences in a block, where layers are cut: a step of these fits into the cache


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
    layers = _cut_layers(recurrent, vectors, initial, seeds)
    if layers is not None:
        return _through_layers(layers, seeds, measure)
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


def _cut_layers(
    recurrent: Recurrent,
    vectors: Float[Tensor, "batch time input"],
    initial: list[State],
    seeds: Float[Tensor, "time batch unit"],
) -> list[CutLayer] | None:
    """Every layer, if all of them are known to do each step by itself but for what is carried."""
    if recurrent.directions > 1:
        return None
    layers = []
    for layer in range(recurrent.layers):
        marked = Marked(vectors.detach().requires_grad_())
        with torch.enable_grad():
            top = top_over_time(recurrent, marked.places[0], initial, None, range(layer, layer + 1), marked)
            made = None if top is None else cut_layer(marked, top, seeds if layer == recurrent.layers - 1 else None)
        if top is None or made is None:
            return None
        layers.append(made)
        vectors = top
    return layers


def _through_layers(
    layers: list[CutLayer], seeds: Float[Tensor, "time batch unit"], measure: Callable[[Tensor], Tensor]
) -> Float[Tensor, "batch time time"]:
    time, batch, size = seeds.shape
    count = max(2 * FEWEST, min(LANES, 2 * NUMBERS // (time * size)) // batch)
    values = seeds.new_zeros(batch, time, time)
    for first in range(0, time, count):
        rows, found = range(first, min(first + count, time)), None
        for layer in reversed(layers):
            found = layer.back(found, rows)
        assert found is not None
        values[:, first : rows.stop, : rows.stop] = measure(found.permute(2, 1, 0, 3)).transpose(0, 1)
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
    return pulled([value for value, _ in reached], [rows for _, rows in reached], [given])[0]
