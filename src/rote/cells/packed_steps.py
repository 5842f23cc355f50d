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


def one_and_two(like: Tensor) -> tuple[Tensor, Tensor]:
    """These as tensors: with a plain number, torch makes one at every use, which takes longer than the use itself."""
    return like.new_ones(()), like.new_full((), 2)


def bend(values: Tensor, out: Tensor, one: Tensor, two: Tensor) -> Tensor:
    """tanh, by the same equation."""
    return torch.mul(values, two, out=out).sigmoid_().mul_(two).sub_(one)


def add_product(sums: Tensor, values: Tensor, weights: Tensor) -> Tensor:
    """``sums``, with the product of every replica's values and weights added to it."""
    if weights.shape[1] > UNITS or values.shape[1] < ROWS:
        return sums.baddbmm_(values, weights)
    return sums.add_(torch.bmm(values, weights))


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
