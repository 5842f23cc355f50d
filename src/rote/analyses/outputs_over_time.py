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

from rote.cells import Recurrent, State
from rote.cells.recurrent import read_over_time

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

NUMBERS = 2**20  # of a block of gradients, at the widest place between two layers
FEWEST = 8  # outputs in a block: each block needs a forward pass of its own


def top_over_time(
    recurrent: Recurrent,
    vectors: Float[Tensor, "batch time input"],
    initial: list[State],
    mask: Bool[Tensor, "batch time"] | None,
) -> Float[Tensor, "batch time output"] | None:
    """What the top layer gives, in a graph of torch's if asked for; None if some cell has to go step by step."""
    for layer in range(recurrent.layers):
        outputs = []
        for direction in range(recurrent.directions):
            state = initial[layer * recurrent.directions + direction]
            found = read_over_time(recurrent.cell(layer, direction), vectors, state, mask, direction == 1)
            if found is None:
                return None
            outputs.append(found[0])
        vectors = torch.cat(outputs, dim=-1) if len(outputs) > 1 else outputs[0]
    return vectors


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
    count = max(FEWEST, NUMBERS // (batch * time * widest))
    values = seeds.new_zeros(batch, time, time)
    for first in range(0, time, count):
        end = min(first + count, time)
        seen = end if recurrent.directions == 1 else time
        given = vectors[:, :seen].detach().requires_grad_()
        with torch.enable_grad():
            top = top_over_time(recurrent, given, initial, mask)
        assert top is not None
        block = seeds.new_zeros(end - first, batch, seen, seeds.shape[-1])
        block[torch.arange(end - first), :, torch.arange(first, end)] = seeds[first:end]
        values[:, first:end, :seen] = measure(_pulled(top, given, block)).transpose(0, 1)
    return values


def _pulled(top: Tensor, given: Tensor, block: Tensor) -> Tensor:
    """Gradients of ``given`` from those of ``top``, [row, *shape] each."""

    def one(row: Tensor) -> Tensor:
        (gradient,) = torch.autograd.grad(top, given, row)
        return gradient

    with warnings.catch_warnings():  # an operation that torch does row by row, as cummax, is slow, not wrong
        warnings.filterwarnings("ignore", "There is a performance drop")
        found: Tensor = torch.func.vmap(one)(block)
    return found
