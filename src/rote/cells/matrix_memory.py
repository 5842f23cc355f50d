"""A memory of matrices over all steps at once, in chunks of time: for training.

S_t = a_t S_(t-1) + k_t u_t^T, with a number a_t for each head. Within a chunk, what was written at s and is read by q
at t is (q k_s) a_(s+1) ... a_t u_s: one product of matrices, steps by steps, for all chunks together. Only the matrices
with which chunks begin go from one to the next. By the delta rule u_t = b_t (v_t - k_t a_t S_(t-1)) depends on all that
was written before, linearly: the u of a chunk solve a triangular system of equations (Yang et al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from rote.cells.arithmetic import Matrices

if TYPE_CHECKING:
    from jaxtyping import Float

STEPS = 16  # of a chunk


@dataclass(frozen=True)
class Chunks:
    """What was written at every step, and the matrix with which each chunk begins."""

    rows: Float[Tensor, "*lead head chunk step row"]
    columns: Float[Tensor, "*lead head chunk step column"]
    logs: Float[Tensor, "*lead head chunk step"]  # logarithm of what is left of the chunk's first matrix
    begin: Float[Tensor, "*lead head chunk row column"]
    time: int

    def read(self, queries: Float[Tensor, "*lead time unit"]) -> Float[Tensor, "*lead time column"]:
        """What each step's query finds behind the step."""
        q = by_chunk(queries, self.rows.shape[-4], self.rows.shape[-2])
        found = (q @ self.rows.mT * _left(self.logs)) @ self.columns + (q * self.logs.exp()[..., None]) @ self.begin
        return found.flatten(-3, -2)[..., : self.time, :].transpose(-3, -2).flatten(-2)

    def at_end(self, lengths: Tensor | None) -> Float[Tensor, "*lead number"]:
        """The matrices behind the last step, or behind as many as ``lengths`` [*lead] says, at least one."""
        size, last = self.rows.shape[-2], self.time - 1
        step: Tensor | int = last % size
        chunks = [self.rows, self.columns, self.begin, self.logs[..., None]]
        if lengths is None:
            rows, columns, begin, logs = (value[..., -1, :, :] for value in chunks)
        else:
            place = (lengths[..., None] - 1).expand(self.rows.shape[:-3])  # the same for every head
            chunk, step = (place // size)[..., None, None, None], (place % size)[..., None, None]
            rows, columns, begin, logs = (
                value.gather(-3, chunk.expand(*place.shape, 1, *value.shape[-2:])).squeeze(-3) for value in chunks
            )
        inside = torch.arange(size, device=rows.device)[:, None] <= step
        now = logs.gather(-2, torch.as_tensor(step, device=rows.device).expand(*logs.shape[:-2], 1, 1))
        left = torch.where(inside, now - logs, -torch.inf).exp()
        found = (rows * left).mT @ columns + now.exp() * begin
        return found.flatten(-3)


def write_over_time(
    kept: Float[Tensor, "*lead time head"] | None,
    rows: Float[Tensor, "*lead time row"],
    columns: Float[Tensor, "*lead time column"],
    share: Float[Tensor, "*lead time head"] | None,
    start: Float[Tensor, "*lead number"],
    shape: Matrices,
) -> Chunks:
    """``kept``: a, 1 where it is None; ``share``: b of the delta rule, for which ``columns`` are v; else they are u."""
    time = rows.shape[-2]
    size = min(STEPS, time)
    k, v = (by_chunk(value, shape.heads, size) for value in (rows, columns))
    logs = torch.zeros_like(k[..., 0])
    if kept is not None:
        tiny = torch.finfo(kept.dtype).tiny
        logs = by_chunk(kept.clamp(min=tiny).log(), shape.heads, size)[..., 0].cumsum(-1)
    ahead = k * (logs[..., -1:] - logs).exp()[..., None]  # what is left of each key at the end of its chunk
    rest = logs[..., -1].exp()[..., None, None]
    answers = torch.zeros_like(k)
    if share is not None:
        b = by_chunk(share, shape.heads, size)
        system = (b * (k @ k.mT) * _left(logs)).tril(-1)
        known = torch.cat([b * v, b * logs.exp()[..., None] * k], -1)
        solved = torch.linalg.solve_triangular(system, known, upper=False, unitriangular=True)
        v, answers = solved.split([shape.columns, shape.rows], -1)
    matrix = start.unflatten(-1, (shape.heads, shape.rows, shape.columns))
    begin, written = [], []
    # Taken apart once: each chunk taken by itself would give a gradient as large as all.
    for now, answer, left, keys in zip(*(part.unbind(-3) for part in (v, answers, rest, ahead.mT)), strict=True):
        begin.append(matrix)
        written.append(now if share is None else now - answer @ matrix)
        matrix = left * matrix + keys @ written[-1]
    return Chunks(k, v if share is None else torch.stack(written, -3), logs, torch.stack(begin, -3), time)


def by_chunk(values: Tensor, heads: int, size: int) -> Tensor:
    """[*lead, time, unit] as [*lead, head, chunk, step, unit of the head]; the last chunk is filled up with zeros."""
    lacking = -values.shape[-2] % size
    whole = pad(values, (0, 0, 0, lacking))
    chunks, units = whole.shape[-2] // size, whole.shape[-1] // heads
    return whole.reshape(*whole.shape[:-2], chunks, size, heads, units).movedim(-2, -4)


def _left(logs: Tensor) -> Tensor:
    """What is left at each step of what was written at each step before it or at it, else 0."""
    steps = torch.arange(logs.shape[-1], device=logs.device)
    return torch.where(steps[:, None] >= steps, logs[..., :, None] - logs[..., None, :], -torch.inf).exp()
