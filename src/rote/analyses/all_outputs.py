"""The gradient of every output step with respect to every input step.

One block of gradients, with a row for each output, goes backward through time and down the layers (all of them at one
step before the step before it). At step t only the outputs from t on have begun, so that the work is half of T^2 rows.
With two directions every step of a layer reaches every step of the one below: there the layers are taken one after
the other, for as many outputs at once as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.adjoint import Recording, Term, Value, add_products, write
from rote.cells import Cell, Recurrent, State

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

BLOCK = 2**23  # numbers held between two layers of a bidirectional model: 32 MiB of float32


@dataclass(frozen=True)
class Step:
    """One step of a cell with the record of how it was computed."""

    record: Recording
    projected: Value
    state: tuple[Value, ...]
    new: tuple[Value, ...]

    def pull_back(self, blocks: list[Tensor], before: list[Tensor], weight: Tensor | None) -> list[Term]:
        """From the gradients of the new state: those of the old state, written into ``before``, and the terms of that
        of what ``weight`` has projected."""
        given = zip(self.new, blocks, strict=True)
        projected, *states = self.record.pull_back(given, [self.projected, *self.state])
        for terms, out in zip(states, before, strict=True):
            write(terms, out)
        products: list[Term] = []
        if projected and weight is not None:
            add_products(products, projected, weight)
        return products


def record_step(cell: Cell, projected: Float[Tensor, "batch row"], state: State) -> Step:
    record = Recording()
    now, old = record.leaf(projected), tuple(record.leaf(value) for value in state)
    return Step(record, now, old, cell.step(record, now, old))


@dataclass(frozen=True)
class Layer:
    """One cell over a batch of sequences, every step recorded."""

    cell: Cell
    steps: list[Step]  # by time
    hidden: Float[Tensor, "batch time unit"]  # zero at padding
    reverse: bool


def record_layer(
    cell: Cell,
    inputs: Float[Tensor, "batch time input"],
    state: State,
    mask: Bool[Tensor, "batch time"] | None,
    reverse: bool,
) -> Layer:
    """Rows that have ended, or have not begun (reverse), keep their state."""
    projected, count = cell.project(inputs), inputs.shape[1]
    steps: dict[int, Step] = {}
    hidden = inputs.new_empty(inputs.shape[0], count, cell.output_size)
    for t in reversed(range(count)) if reverse else range(count):
        steps[t] = record_step(cell, projected[:, t], state)
        new = tuple(value.total for value in steps[t].new)
        if mask is not None:
            keep = mask[:, t, None]
            hidden[:, t] = new[0] * keep
            new = tuple(torch.where(keep, fresh, old) for fresh, old in zip(new, state, strict=True))
        else:
            hidden[:, t] = new[0]
        state = new
    return Layer(cell, [steps[t] for t in range(count)], hidden, reverse)


def record_layers(
    recurrent: Recurrent,
    inputs: Float[Tensor, "batch time input"],
    initial: list[State],
    mask: Bool[Tensor, "batch time"] | None,
) -> tuple[list[list[Layer]], Float[Tensor, "batch time output"]]:
    """Every layer, in it every direction; and the top layer's output."""
    layers: list[list[Layer]] = []
    for layer in range(recurrent.layers):
        made = []
        for direction in range(recurrent.directions):
            state = initial[layer * recurrent.directions + direction]
            made.append(record_layer(recurrent.cell(layer, direction), inputs, state, mask, direction == 1))
        layers.append(made)
        inputs = torch.cat([run.hidden for run in made], dim=-1) if len(made) > 1 else made[0].hidden
    return layers, inputs


@dataclass(frozen=True)
class Reading:
    """How the gradient of a bottom layer's projected input becomes that of the model's input, and that one number.

    weights: one matrix [row of weight_ih, coordinate] per direction; coordinates [row, batch, coordinate] are summed
    over the directions and given to ``measure``.
    """

    weights: list[Tensor]
    measure: Callable[[Tensor, int], Tensor]  # (coordinates, input time) -> [row, batch]


def causal_values(
    layers: list[Layer], seeds: Float[Tensor, "output batch unit"], reading: Reading
) -> Float[Tensor, "output batch input"]:
    """One direction. ``seeds``: the gradient of each output with respect to its own step of the top layer."""
    time, batch, _ = seeds.shape
    values = seeds.new_zeros(time, batch, time)
    now, then = (
        [[seeds.new_zeros(time, batch, size) for size in layer.cell.state_sizes] for layer in layers] for _ in range(2)
    )
    weights = [reading.weights[0], *(layer.cell.input_matrix for layer in layers[1:])]
    for t in reversed(range(time)):
        now[-1][0][t] = seeds[t]
        for index in reversed(range(len(layers))):
            step = layers[index].steps.pop()
            blocks, before = ([block[t:] for block in states[index]] for states in (now, then))
            terms = step.pull_back(blocks, before, weights[index])
            if index:
                for term in terms:
                    term.add_to(now[index - 1][0][t:])
            else:
                coordinates = seeds.new_empty(time - t, batch, weights[0].shape[1])
                write(terms, coordinates)
                values[t:, :, t] = reading.measure(coordinates, t)
        now, then = then, now
    return values


def two_way_values(
    layers: list[list[Layer]],
    seeds: Float[Tensor, "output batch unit"],
    mask: Bool[Tensor, "batch time"] | None,
    reading: Reading,
) -> Float[Tensor, "output batch input"]:
    """Both directions. ``seeds`` as above, the two directions of the top layer beside each other."""
    time, batch, size = seeds.shape
    widest = max(size, reading.weights[0].shape[1])
    count = max(1, BLOCK // (2 * time * batch * widest))
    return torch.cat(
        [
            _two_way_rows(layers, seeds, range(first, min(first + count, time)), mask, reading)
            for first in range(0, time, count)
        ]
    )


def _two_way_rows(
    layers: list[list[Layer]], seeds: Tensor, outputs: range, mask: Tensor | None, reading: Reading
) -> Tensor:
    time, batch, size = seeds.shape
    above = seeds.new_zeros(time, len(outputs), batch, size)  # of the steps of the layer above, [time, row, ...]
    above[outputs, range(len(outputs))] = seeds[outputs]
    for index in reversed(range(len(layers))):
        weights = [run.cell.input_matrix for run in layers[index]] if index else reading.weights
        below = seeds.new_zeros(time, len(outputs), batch, weights[0].shape[1])
        for run, weight, block in zip(layers[index], weights, above.chunk(2, dim=-1), strict=True):
            reached = outputs if index == len(layers) - 1 else range(time)  # nothing comes from other steps
            _sweep(run, block, reached, mask, weight, below)
        above = below
    return torch.stack([reading.measure(above[t], t) for t in range(time)], dim=-1)


def _sweep(run: Layer, above: Tensor, reached: range, mask: Tensor | None, weight: Tensor, below: Tensor) -> None:
    """One cell, through all of its time; adds to ``below`` [time, row, batch, input]."""
    now, then = ([above.new_zeros(*above.shape[1:3], size) for size in run.cell.state_sizes] for _ in range(2))
    times = range(reached[0], len(above)) if run.reverse else range(reached[-1], -1, -1)
    for t in times:
        now[0] += above[t]
        if mask is not None:
            for block in now:
                block.mul_(mask[:, t, None])
        for term in run.steps[t].pull_back(now, then, weight):
            term.add_to(below[t])
        now, then = then, now
