"""Integrated gradients (Sundararajan et al. 2017) from the zero input, refined until they are complete.

Along the straight way from zero the gradients must sum to the change of the output. A saturated network changes in
jumps that evenly spaced steps miss. The output is known at both ends of every interval, so that it is known as well
where the sum is wrong: those intervals are halved until what is missing is a hundredth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.explained import Explained

if TYPE_CHECKING:
    from jaxtyping import Float, Int

FIRST = 8  # intervals
ROUNDS = 40  # of halving, at most
MOST = 4096  # intervals of a round, at most
NODES = (0.5 - 0.5 / 3**0.5, 0.5 + 0.5 / 3**0.5)  # Gauss and Legendre's two


@dataclass(frozen=True)
class _Intervals:
    rows: Int[Tensor, " interval"]
    low: Float[Tensor, " interval"]
    high: Float[Tensor, " interval"]
    before: Float[Tensor, " interval"]  # the output at both ends
    after: Float[Tensor, " interval"]

    def take(self, which: Tensor) -> _Intervals:
        return _Intervals(*(part[which] for part in (self.rows, self.low, self.high, self.before, self.after)))

    def halves(self, explained: Explained) -> _Intervals:
        middle = (self.low + self.high) / 2
        value = _output(explained, self.rows, middle)
        return _Intervals(
            self.rows.repeat(2), torch.cat([self.low, middle]), torch.cat([middle, self.high]),
            torch.cat([self.before, value]), torch.cat([value, self.after]),
        )  # fmt: skip


def integrated(explained: Explained, tolerance: float = 0.01) -> Float[Tensor, "batch time"]:
    """What each input adds on the way from zero to the sequence."""
    rows, ends = explained.every, torch.linspace(0, 1, FIRST + 1).to(explained.vectors)
    every, count = rows.repeat_interleave(FIRST), len(rows)
    known = _output(explained, rows.repeat_interleave(FIRST + 1), ends.repeat(count)).view(count, -1)
    now = _Intervals(
        every, ends[:-1].repeat(count), ends[1:].repeat(count), known[:, :-1].flatten(), known[:, 1:].flatten()
    )
    values = torch.zeros_like(explained.mask, dtype=known.dtype)
    scale = (known.amax(1) - known.amin(1)).clamp(min=1e-9)
    for round_ in range(ROUNDS):
        parts = _parts(explained, now)
        missing = (parts.sum(1) - (now.after - now.before)).abs()
        allowed = tolerance * scale[now.rows] / (FIRST * 2)
        wrong = missing > allowed
        last = round_ == ROUNDS - 1 or int(wrong.sum()) > MOST
        done = torch.ones_like(wrong) if last else ~wrong
        values.index_add_(0, now.rows[done], parts[done])
        if bool(done.all()):
            break
        now = now.take(~done).halves(explained)
    return values


def _parts(explained: Explained, now: _Intervals) -> Float[Tensor, "interval time"]:
    own = explained.vectors[now.rows]
    width = (now.high - now.low)[:, None]
    total = torch.zeros(own.shape[:2], dtype=own.dtype, device=own.device)
    for node in NODES:
        at = now.low + node * (now.high - now.low)
        gradients, _ = explained.gradients(at[:, None, None] * own, now.rows)
        total += (gradients * own).sum(-1) * width / len(NODES)
    return total


@torch.no_grad()
def _output(explained: Explained, rows: Tensor, at: Tensor) -> Tensor:
    return explained.value(at[:, None, None] * explained.vectors[rows], rows)
