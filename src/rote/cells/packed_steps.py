"""What the passes that are written out share (``lstm_training``, ``gru_training``, ``nested_lstm_training``).

Rows are sorted, the longest first, and each step computes those that have not ended: of a padded batch of SCAN more
than two thirds would be padding. Steps follow each other in one array, [replica, token, unit] with ``sizes[t]`` tokens
in step t, so that the gradient of a weight is one product over all steps. tanh(x) is computed as 2 sigmoid(2 x) - 1,
for which torch has the faster kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int

CACHED = 2**18  # numbers that stay in the processor's cache
UNITS, ROWS = 64, 4  # up to and from which a product is made by itself and added: faster, and the same bits


def looked_up(
    table: Float[Tensor, "entry rows"], entries: Int[Tensor, "replica token"]
) -> Float[Tensor, "replica token rows"]:
    return table.index_select(0, entries.flatten()).view(*entries.shape, -1)


def table_gradient(
    gradients: Float[Tensor, "replica token rows"], entries: Int[Tensor, "replica token"], count: int
) -> Float[Tensor, "entry rows"]:
    """Of a table of ``count`` entries, from those of what was ``looked_up`` in it."""
    found: Tensor = torch.ops.aten.embedding_dense_backward(
        gradients.flatten(0, 1), entries.flatten(), count, -1, False
    )
    return found


def doubled(values: Tensor, axis: int, parts: int = 4) -> Tensor:
    """With twice the candidate's part, the third of ``parts``, for tanh(x) = 2 sigmoid(2 x) - 1."""
    made = values.clone(memory_format=torch.contiguous_format)
    made.chunk(parts, axis)[2].mul_(2)
    return made


def alone(*values: Tensor) -> tuple[Tensor, ...]:
    """Values of one replica without its axis: torch's products over an axis of one cost several calls more each."""
    return tuple(value[0] for value in values) if len(values[0]) == 1 else values


def two_and_minus_one(like: Tensor) -> tuple[Tensor, Tensor]:
    """These as tensors: with a plain number, torch makes one at every use, which takes longer than the use itself."""
    return like.new_full((), 2), like.new_full((), -1)


def bend(values: Tensor, out: Tensor, two: Tensor, minus_one: Tensor) -> Tensor:
    """tanh, by the same equation."""
    bent = torch.mul(values, two, out=out).sigmoid_()
    return torch.add(minus_one, bent, alpha=2, out=bent)


def add_product(sums: Tensor, values: Tensor, weights: Tensor) -> Tensor:
    """``sums``, with the product of every replica's values and weights added to it."""
    if sums.dim() == 2 or weights.shape[1] > UNITS or values.shape[1] < ROWS:
        return added(sums, values, weights)
    return sums.add_(torch.bmm(values, weights))


def added(sums: Tensor, values: Tensor, weights: Tensor) -> Tensor:
    """The same, always in one call."""
    return sums.addmm_(values, weights) if sums.dim() == 2 else sums.baddbmm_(values, weights)


def product(values: Tensor, weights: Tensor, out: Tensor | None = None) -> Tensor:
    """Of every replica's values and weights."""
    return torch.mm(values, weights, out=out) if values.dim() == 2 else torch.bmm(values, weights, out=out)


def beginning_with(first: Tensor, tokens: int) -> Tensor:
    """Room for the values of so many tokens behind those with which the first step begins."""
    room = first.new_empty(first.shape[0], first.shape[1] + tokens, first.shape[2])
    room[:, : first.shape[1]] = first
    return room


def begun(room: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """What ``before`` gives, of values in a room ``beginning_with`` others: where no row ends early, no copy."""
    rows = room.shape[1] - sum(sizes)
    if rows == sizes[0] == sizes[-1]:
        return room[:, :-rows]
    return before(room[:, rows:], room[:, :rows], sizes)


def before(values: Tensor, first: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The values with which each step began, packed alike."""
    earlier = [first, *values.split(sizes, 1)[:-1]]
    return torch.cat([value[:, :size] for value, size in zip(earlier, sizes, strict=True)], 1)


def pieces(sizes: tuple[int, ...], gates: Tensor) -> Iterator[tuple[int, int, list[int]]]:
    """Steps as often together as fit into the processor's cache: first token, end, sizes."""
    most = CACHED // (len(gates) * gates.shape[-1])
    first, piece = 0, list[int]()
    for size in sizes:
        if piece and sum(piece) + size > most:
            yield first, first + sum(piece), piece
            first, piece = first + sum(piece), []
        piece.append(size)
    yield first, first + sum(piece), piece
