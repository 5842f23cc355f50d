"""Gradients of what single steps read of a memory of matrices, for many outputs at once.

S_s = A_s S_(s-1) + k_s v_s^T. A gradient g of what q reads at t is, at the memory behind an earlier step s, a matrix of
rank 1, x g^T: columns of a memory go through time each by itself, so that only x changes on the way back, from x_t =
q_t by x_(s-1) = A_s^T x_s. Of the memory itself nothing is needed but h_s = S_(s-1) g, which goes forward by h_(s+1) =
A_s h_s + k_s (v_s g). So an output costs two vectors for each step, where its gradient of the memory is a matrix.
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


@dataclass(frozen=True)
class Lanes:
    """Values as [time, lane, ...], a lane for each sequence and head; gradients with a row for each output."""

    shape: Matrices
    start: Float[Tensor, "*lead number"]

    def of(self, value: Float[Tensor, "batch time unit"]) -> Float[Tensor, "time lane number"]:
        found: Tensor = value.unflatten(-1, (self.shape.heads, -1)).movedim(1, 0).flatten(1, 2)
        return found

    def rows(self, own: Float[Tensor, "row batch unit"]) -> Float[Tensor, "lane row column"]:
        found: Tensor = own.unflatten(-1, (self.shape.heads, -1)).movedim(0, -2).flatten(0, 1)
        return found

    def back(self, found: Float[Tensor, "time lane row number"]) -> Float[Tensor, "row batch time unit"]:
        units: Tensor = found.unflatten(1, (-1, self.shape.heads)).permute(3, 1, 0, 2, 4).flatten(-2)
        return units

    def single(self, found: Float[Tensor, "lane row number"]) -> Float[Tensor, "row batch unit"]:
        units: Tensor = found.unflatten(0, (-1, self.shape.heads)).movedim(2, 0).flatten(-2)
        return units

    @property
    def start_matrix(self) -> Float[Tensor, "lane number column"]:
        found: Tensor = self.start.unflatten(-1, (self.shape.heads, self.shape.rows, self.shape.columns)).flatten(0, 1)
        return found

    def both_ways(
        self,
        moved: Float[Tensor, "time lane number number"],
        queries: Float[Tensor, "time lane number"],
        added: Float[Tensor, "time lane row number"],
        own: Float[Tensor, "lane row column"],
        first: int,
    ) -> tuple[Float[Tensor, "time lane row number"], Float[Tensor, "time lane row number"], Tensor]:
        """x and h of every row and step, and the gradient of each row's query; rows are outputs at ``first`` and on."""
        time = len(moved)
        x, h = torch.zeros_like(added), torch.empty_like(added)
        for t in reversed(range(time)):
            if t + 1 < time:
                torch.bmm(x[t + 1], moved[t + 1], out=x[t])
            if t >= first:
                x[t, :, t - first] = queries[t]
        of_queries = torch.empty_like(own[..., :1].expand(*own.shape[:-1], x.shape[-1]))
        now = own @ self.start_matrix.mT
        for t in range(time):
            h[t] = now
            now = torch.baddbmm(added[t], now, moved[t].mT)
            if t >= first:
                of_queries[:, t - first] = now[:, t - first]
        return x, h, self.single(of_queries)


@dataclass(frozen=True)
class OfWritten:
    """Of a memory that is kept by a and written at k (``Arithmetic.write``): x_s = left_s q_t, with what is left at t
    of step s, so that every pair of steps has a few numbers and no vectors of its own."""

    kept: Tensor | None
    keys: Tensor
    values: Tensor
    queries: Tensor
    lanes: Lanes

    @property
    def given(self) -> list[Tensor | None]:
        return [self.kept, self.keys, self.values]

    def gradients(self, own: Float[Tensor, "row batch unit"], first: int) -> tuple[list[Tensor], Tensor]:
        """Of all that was given [row, batch, time, unit], and of each row's query [row, batch, unit], from those of
        what was read by outputs at ``first`` and the steps that follow."""
        k, v, q = (self.lanes.of(value).movedim(0, 1) for value in (self.keys, self.values, self.queries))
        g, time = self.lanes.rows(own), k.shape[1]
        asking, rows = q[:, first : first + g.shape[1]], torch.arange(first, first + g.shape[1], device=g.device)
        logs = torch.zeros_like(k[..., 0], dtype=torch.float64)
        if self.kept is not None:
            a = self.lanes.of(self.kept)[..., 0].T.clamp(min=torch.finfo(k.dtype).tiny)
            logs = a.double().log().cumsum(-1)
        inside = torch.arange(time, device=g.device) <= rows[:, None]
        left = torch.where(inside, logs[:, rows, None] - logs[:, None], -torch.inf).exp().to(g.dtype)
        at, asked = left * (asking @ k.mT), g @ v.mT  # x k and v g, [lane, row, time]
        begin, since = self.lanes.start_matrix, logs[:, rows, None].exp().to(g.dtype)
        found = g @ begin.mT * since
        of_queries = (left * asked) @ k + found
        of_keys, of_values = (
            (part[..., None] * whole[:, :, None]) for part, whole in ((left * asked, asking), (at, g))
        )
        parts = [of_keys[..., :1], of_keys, of_values]
        if self.kept is not None:  # of its logarithm: all that was read of earlier steps
            earlier = pad(at * asked, (1, -1)).cumsum(-1) + (asking * found).sum(-1, keepdim=True)
            parts[0] = (torch.where(inside, earlier, 0) / a[:, None])[..., None]
        return [self.lanes.back(value.movedim(2, 0)) for value in parts], self.lanes.single(of_queries)


@dataclass(frozen=True)
class OfCorrected:
    """Of a memory that is written by the delta rule, as far as b says (``Arithmetic.write``)."""

    kept: Tensor | None
    keys: Tensor
    values: Tensor
    share: Tensor
    queries: Tensor
    lanes: Lanes

    @property
    def given(self) -> list[Tensor | None]:
        return [self.kept, self.keys, self.values, self.share]

    def gradients(self, own: Float[Tensor, "row batch unit"], first: int) -> tuple[list[Tensor], Tensor]:
        """As those of ``OfWritten``."""
        k, v, b, q = (self.lanes.of(value) for value in (self.keys, self.values, self.share, self.queries))
        a = torch.ones_like(b) if self.kept is None else self.lanes.of(self.kept)
        g = self.lanes.rows(own)
        asked = (g @ v.movedim(0, -1)).movedim(-1, 0)[..., None]  # v g
        correction = (b * k)[..., None] * k[..., None, :]
        moved = a[..., None] * (torch.eye(k.shape[-1], dtype=k.dtype, device=k.device) - correction)
        x, h, of_queries = self.lanes.both_ways(moved, q, asked * (b * k)[..., None, :], g, first)
        at, there, a, b = x @ k[..., None], h @ k[..., None], a[..., None], b[..., None]  # x k and h k
        lacking = asked - a * there
        of_kept, of_keys = (x * h).sum(-1, keepdim=True) - b * at * there, b * (x * lacking - a * at * h)
        found = (of_kept, of_keys, b * at * g, at * lacking)
        return [self.lanes.back(value) for value in found], of_queries


@dataclass(frozen=True)
class OfReplaced:
    """Of a memory whose rows fade by w, with g taken away at n and v written at k (``Arithmetic.replace``)."""

    kept: Tensor
    place: Tensor
    share: Tensor
    keys: Tensor
    values: Tensor
    queries: Tensor
    lanes: Lanes

    @property
    def given(self) -> list[Tensor | None]:
        return [self.kept, self.place, self.share, self.keys, self.values]

    def gradients(self, own: Float[Tensor, "row batch unit"], first: int) -> tuple[list[Tensor], Tensor]:
        """As those of ``OfWritten``."""
        given = (self.kept, self.place, self.share, self.keys, self.values, self.queries)
        w, n, s, k, v, q = map(self.lanes.of, given)
        g = self.lanes.rows(own)
        asked = (g @ v.movedim(0, -1)).movedim(-1, 0)[..., None]
        moved = torch.diag_embed(w) - s[..., None] * n[..., None, :]
        x, h, of_queries = self.lanes.both_ways(moved, q, asked * k[..., None, :], g, first)
        there, taken = h @ n[..., None], x @ s[..., None]
        found = (x * h, -taken * h, -there * x, asked * x, (x @ k[..., None]) * g)
        return [self.lanes.back(value) for value in found], of_queries
