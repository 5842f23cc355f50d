"""A memory of matrices whose rows fade and are replaced each at its own rate, over all steps at once: for training.

S_t = w_t * S_(t-1) - g_t (n_t S_(t-1))^T + k_t v_t^T, with a number for each row in w, and n, g, k as long as a column.
With P_t the product of all w since a chunk began, what is written at s is at t still there by P_t / P_s. So the x_t =
n_t S_(t-1) of a chunk solve a triangular system of equations, as by the delta rule (``matrix_memory``). P_t / P_s is
taken as a product of two, since it differs from row to row: no row may fade further than exp(-FURTHEST) within a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.cells import matrix_memory
from rote.cells.arithmetic import Matrices
from rote.cells.matrix_memory import by_chunk

if TYPE_CHECKING:
    from jaxtyping import Float

FURTHEST = 40.0


@dataclass(frozen=True)
class Replaced:
    """What was taken away and written at every step, and the matrix with which each chunk begins."""

    rows: Float[Tensor, "*lead head chunk twice row"]  # g, then k, over P of their step
    columns: Float[Tensor, "*lead head chunk twice column"]  # -x, then v
    fading: Float[Tensor, "*lead head chunk step row"]  # P
    begin: Float[Tensor, "*lead head chunk row column"]
    time: int

    def read(self, queries: Float[Tensor, "*lead time unit"]) -> Float[Tensor, "*lead time column"]:
        """What each step's query finds behind the step."""
        size = self.fading.shape[-2]
        q = by_chunk(queries, self.rows.shape[-4], size) * self.fading
        until = torch.ones(size, size, dtype=torch.bool, device=q.device).tril().repeat(1, 2)
        found = (q @ self.rows.mT * until) @ self.columns + q @ self.begin
        return found.flatten(-3, -2)[..., : self.time, :].transpose(-3, -2).flatten(-2)

    def at_end(self, lengths: Tensor | None) -> Float[Tensor, "*lead number"]:
        """The matrices behind the last step, or behind as many as ``lengths`` [*lead] says, at least one."""
        size = self.fading.shape[-2]
        last = torch.as_tensor(self.time, device=self.rows.device) if lengths is None else lengths[..., None]
        place = (last - 1).expand(self.rows.shape[:-3])  # the same for every head
        chunk, step = (place // size)[..., None, None, None], (place % size)[..., None, None]
        rows, columns, fading, begin = (
            value.gather(-3, chunk.expand(*place.shape, 1, *value.shape[-2:])).squeeze(-3)
            for value in (self.rows, self.columns, self.fading, self.begin)
        )
        inside = torch.arange(size, device=rows.device).repeat(2)[:, None] <= step
        now = fading.gather(-2, step.expand(*place.shape, 1, fading.shape[-1]))
        return (now.mT * (begin + (rows * inside).mT @ columns)).flatten(-3)


def replace_over_time(
    kept: Float[Tensor, "*lead time row"],
    place: Float[Tensor, "*lead time row"],
    share: Float[Tensor, "*lead time row"],
    rows: Float[Tensor, "*lead time row"],
    columns: Float[Tensor, "*lead time column"],
    start: Float[Tensor, "*lead number"],
    shape: Matrices,
) -> Replaced | None:
    """``kept``: w; ``place``: n; ``share``: g; ``rows``: k; ``columns``: v. None where a row fades too fast."""
    time = rows.shape[-2]
    size = min(matrix_memory.STEPS, time)
    tiny = torch.finfo(kept.dtype).tiny
    w, n, g, k, v = (
        by_chunk(value, shape.heads, size) for value in (kept.clamp(min=tiny).log(), place, share, rows, columns)
    )
    logs = w.cumsum(-2)
    if float(logs.detach().min()) < -FURTHEST:
        return None
    fading = logs.exp()
    over = (-logs).exp()
    asked, written = n * (logs - w).exp(), torch.cat([g * over, k * over], -2)
    found = asked @ written.mT  # what is asked for of what was taken away, and of what was written
    before = torch.ones(size, size, dtype=torch.bool, device=k.device).tril(-1)
    system, of_values = (part * before for part in found.chunk(2, -1))
    known = torch.cat([of_values @ v, asked], -1)
    solved = torch.linalg.solve_triangular(system, known, upper=False, unitriangular=True)
    answers, questions = solved.split([shape.columns, shape.rows], -1)
    ahead = (written * fading[..., -1:, :]).mT  # what is left of it at the end of its chunk
    rest = fading[..., -1, :, None]
    matrix = start.unflatten(-1, (shape.heads, shape.rows, shape.columns))
    begin, read = [], []
    parts = (answers, questions, v, rest, ahead)
    for answer, question, value, left, keys in zip(*(part.unbind(-3) for part in parts), strict=True):
        begin.append(matrix)
        read.append(torch.cat([-(answer + question @ matrix), value], -2))
        matrix = left * matrix + keys @ read[-1]
    return Replaced(written, torch.stack(read, -3), fading, torch.stack(begin, -3), time)
