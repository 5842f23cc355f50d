"""Backpropagation through time with its terms kept apart: what each step adds to the gradient of a weight.

One pass backward through time. Each step is computed again from the state before it, with autograd over that step
alone; so only one step's gradients of the weights exist at a time.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from rote.analyses.all_outputs import Layer
from rote.cells import Cell, Plain


@dataclass(frozen=True)
class Backward:
    """One cell, by the names of its states and weights."""

    states: dict[str, Tensor]  # norm of d loss / d state_s, [batch, time]
    norms: dict[str, Tensor]  # of each step's term of dL/dW, [time]
    sums: dict[str, Tensor]  # dL/dW
    terms: dict[str, Tensor] | None  # [time, *shape]


def back_through_time(
    layers: list[list[Layer]], vectors: Tensor, above: Tensor, mask: Tensor | None, keep_terms: bool
) -> list[Backward]:
    """For every layer and in it every direction. ``above``: d loss / d the top layer's output, [batch, time, unit]."""
    found: list[Backward] = []
    for index in reversed(range(len(layers))):
        runs = layers[index - 1] if index else []
        inputs = torch.cat([run.hidden for run in runs], dim=-1) if runs else vectors
        below = torch.zeros_like(inputs)
        parts = above.chunk(len(layers[index]), dim=-1)
        swept = [
            _sweep(run, inputs, part, mask, below, keep_terms)
            for run, part in zip(layers[index], parts, strict=True)
        ]  # fmt: skip
        found, above = [*swept, *found], below
    return found


def _sweep(run: Layer, inputs: Tensor, above: Tensor, mask: Tensor | None, below: Tensor, keep_terms: bool) -> Backward:
    """Adds d loss / d the layer's input to ``below`` [batch, time, input]."""
    batch, time, _ = above.shape
    cell, weights = with_leaves(run.cell)
    states = {name: above.new_zeros(batch, time) for name in cell.state_names}
    norms = {name: above.new_zeros(time) for name in weights}
    sums = {name: torch.zeros_like(weight, requires_grad=False) for name, weight in weights.items()}
    terms = {name: weight.new_zeros(time, *weight.shape) for name, weight in weights.items()} if keep_terms else None
    blocks = [above.new_zeros(batch, size) for size in cell.state_sizes]
    for t in range(time) if run.reverse else reversed(range(time)):
        blocks[0] = blocks[0] + above[:, t]
        if mask is not None:
            blocks = [block * mask[:, t, None] for block in blocks]
        for norm, block in zip(states.values(), blocks, strict=True):
            norm[:, t] = block.norm(dim=1)
        if not any(bool(block.any()) for block in blocks):
            continue
        old = [value.total for value in run.steps[t].state]
        vector, *rest = _step_gradients(cell, inputs[:, t], old, list(weights.values()), blocks)
        below[:, t] += vector
        blocks, gradients = rest[: len(old)], rest[len(old) :]
        for name, gradient in zip(weights, gradients, strict=True):
            norms[name][t] = gradient.norm()
            sums[name] += gradient
            if terms is not None:
                terms[name][t] = gradient
    return Backward(states, norms, sums, terms)


def _step_gradients(
    cell: Cell, vector: Tensor, old: list[Tensor], weights: list[Tensor], blocks: list[Tensor]
) -> tuple[Tensor, ...]:
    """Of the input, the old states and the weights, from those of the new states."""
    with torch.enable_grad():
        leaves = [value.detach().requires_grad_() for value in (vector, *old)]
        new = cell.step(Plain(), cell.project(leaves[0]), tuple(leaves[1:]))
        used = [(value, block) for value, block in zip(new, blocks, strict=True) if value.requires_grad]
        values, given = zip(*used, strict=True)
        found: tuple[Tensor, ...] = torch.autograd.grad(
            values, [*leaves, *weights], given, allow_unused=True, materialize_grads=True
        )
        return found


def with_leaves(cell: Cell) -> tuple[Cell, dict[str, Tensor]]:
    """The same cell over the same numbers as tensors of their own, also where the user has frozen the weights."""
    twin = copy.copy(cell)
    weights = {
        name: getattr(cell, name).detach().requires_grad_() for name in cell.shapes() if getattr(cell, name) is not None
    }
    twin.__dict__.update(weights)  # found before the registered parameters, which stay with the cell
    return twin, weights
