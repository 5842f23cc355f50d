"""Norms of the step Jacobians of a layer and of their products: how a gradient shrinks or grows on its way back.

The Jacobian is that of the full recurrent state (an LSTM's hidden state and cell together), with the layer's input held
fixed: only its products are derivatives over a longer distance. For a unit with several states the block
d hidden / d hidden of the same Jacobian is measured as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.all_outputs import Layer, Step, record_layer
from rote.cells import Cell, State

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

NUMBERS = 2**21  # of the Jacobians that exist at once
EXACT = 128  # up to this size all singular values are computed, beyond it only the largest
ITERATIONS = 120
AT_ONCE = 8  # matrices of a step: identity, product, Jacobian, before and after, side by side, scaled


@torch.no_grad()
def chain_norms(
    cell: Cell,
    inputs: Float[Tensor, "batch time input"],
    initial: State,
    mask: Bool[Tensor, "batch time"] | None,
    reverse: bool,
    at: int,
) -> tuple[dict[str, Tensor], Float[Tensor, "batch time"]]:
    """Norms of d state_s / d (state before s) by kind, [batch, time]; the spectral norm of d state_at / d state_s."""
    count = _sequences(cell)
    made: list[tuple[dict[str, Tensor], Tensor]] = []
    for first in range(0, len(inputs), count):
        rows = slice(first, first + count)
        start, padded = tuple(value[rows] for value in initial), None if mask is None else mask[rows]
        made.append(_chain(record_layer(cell, inputs[rows], start, padded, reverse), at))
    inside = 1 if mask is None else mask
    steps = {name: torch.cat([part[name] for part, _ in made]) * inside for name in made[0][0]}
    return steps, torch.cat([product for _, product in made]) * inside


@torch.no_grad()
def product_norm(
    cell: Cell, inputs: Float[Tensor, "batch time input"], initial: State, at: int
) -> Float[Tensor, " batch"]:
    """The spectral norm of d state_at / d state_0: of all that ``chain_norms`` gives this one number, at a fraction of
    its cost, most of which is norms."""
    count, made = _sequences(cell), []
    for first in range(0, len(inputs), count):
        rows = slice(first, first + count)
        run = record_layer(cell, inputs[rows], tuple(value[rows] for value in initial), None, False)
        blocks = _identity(run.hidden, run.cell.state_sizes)
        for t in range(at, 0, -1):
            blocks = _pulled(run.steps[t], blocks)
        made.append(norms_of(_matrices(blocks))[0])
    return torch.cat(made)


def jacobian_numbers(cell: Cell, batch: int) -> int:
    """How many numbers ``chain_norms`` holds at once."""
    return AT_ONCE * min(batch, _sequences(cell)) * sum(cell.state_sizes) ** 2


def _sequences(cell: Cell) -> int:
    """Whose Jacobians exist at once."""
    return max(1, NUMBERS // sum(cell.state_sizes) ** 2)


def _chain(run: Layer, at: int) -> tuple[dict[str, Tensor], Tensor]:
    batch, time, size = run.hidden.shape
    states = len(run.cell.state_names)
    kinds = ["spectral", "frobenius", *(["hidden spectral", "hidden frobenius"] if states > 1 else [])]
    steps = {kind: run.hidden.new_zeros(batch, time) for kind in kinds}
    product = run.hidden.new_zeros(batch, time)
    one = _identity(run.hidden, run.cell.state_sizes)
    so_far: list[Tensor] | None = None
    for t in range(time) if run.reverse else reversed(range(time)):
        whole = _matrices(_pulled(run.steps[t], one))
        for kind, matrices in (("", whole), ("hidden ", whole[:, :size, :size]))[:states]:
            steps[f"{kind}spectral"][:, t], steps[f"{kind}frobenius"][:, t] = norms_of(matrices)
        so_far = one if t == at else so_far
        if so_far is not None:
            product[:, t] = norms_of(_matrices(so_far))[0]
            so_far = _pulled(run.steps[t], so_far)
    return steps, product


def _identity(like: Tensor, sizes: Sequence[int]) -> list[Tensor]:
    """The Jacobian of a state with respect to itself, [row, batch, unit] for each of its parts."""
    eye = torch.eye(sum(sizes), dtype=like.dtype, device=like.device)
    return [part[:, None].expand(-1, len(like), -1).contiguous() for part in eye.split(list(sizes), dim=1)]


def _pulled(step: Step, blocks: list[Tensor]) -> list[Tensor]:
    before = [torch.empty_like(block) for block in blocks]
    step.pull_back(blocks, before, None)
    return before


def _matrices(blocks: list[Tensor]) -> Tensor:
    return torch.cat(blocks, dim=-1).transpose(0, 1)


def norms_of(matrices: Float[Tensor, "batch row column"]) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """Spectral and Frobenius norm of each, in float32 at least."""
    matrices = matrices.to(torch.promote_types(matrices.dtype, torch.float32))
    scale = matrices.abs().amax((1, 2)).clamp(min=torch.finfo(matrices.dtype).tiny)  # squares may underflow
    scaled = matrices / scale[:, None, None]
    return _spectral(scaled) * scale, scaled.norm(dim=(1, 2)) * scale


def _spectral(matrices: Tensor) -> Tensor:
    if matrices.shape[-1] <= EXACT:
        exact: Tensor = torch.linalg.matrix_norm(matrices, 2)
        return exact
    return torch.stack([_largest(matrix) for matrix in matrices])


def _largest(matrix: Tensor) -> Tensor:
    """Golub, Kahan and Lanczos: the largest singular value of a small bidiagonal matrix that grows until it settles."""
    before = matrix.new_zeros(())
    for number, small in enumerate(_bidiagonal(matrix)):
        if number % 4 == 3:
            largest: Tensor = torch.linalg.svdvals(small)[0]
            if largest - before <= 4 * torch.finfo(matrix.dtype).eps * largest:
                return largest
            before = largest
    found: Tensor = torch.linalg.matrix_norm(matrix, 2)
    return found


def _bidiagonal(matrix: Tensor) -> Iterator[Tensor]:
    count = min(ITERATIONS, *matrix.shape)
    left, right = matrix.new_zeros(count, matrix.shape[0]), matrix.new_zeros(count + 1, matrix.shape[1])
    small = matrix.new_zeros(count, count + 1)
    start = torch.randn(matrix.shape[1], generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(matrix)
    right[0] = start / start.norm()
    for k in range(count):
        u = matrix @ right[k]
        u = u - left[:k].T @ (left[:k] @ u)  # against all before, not only the last: rounding would bring them back
        small[k, k] = u.norm()
        left[k] = u / small[k, k].clamp(min=torch.finfo(u.dtype).tiny)
        v = matrix.T @ left[k]
        v = v - right[: k + 1].T @ (right[: k + 1] @ v)
        small[k, k + 1] = v.norm()
        right[k + 1] = v / small[k, k + 1].clamp(min=torch.finfo(v.dtype).tiny)
        yield small[: k + 1, : k + 2]
