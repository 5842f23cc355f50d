"""Which spans still have the same relevant part, step by step.

The relevant part at step t depends on a span's positions up to t only. Spans that agree so far are one branch and are
computed once; a span that has no position yet has no relevant part and belongs to no branch. All contiguous spans of T
steps then need (t + 1)(t + 2) / 2 states at step t, where separate passes would need T (T + 1) / 2 at every step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Branches:
    """The branches at one step: first those that begin here, then those that go on from one of the step before."""

    fresh: int
    parents: Tensor | None  # of the branches that go on; None when these are all of the step before, in their order
    inside: Tensor | None  # [batch or 1, branch, 1], 1 where the step belongs to the span; None when nowhere
    bias: Tensor | None  # [batch or 1, branch, 1], 1 where products of biases count; None when nowhere
    of_span: Tensor | None  # the branch of each span; None when every span has its own branch, in order
    idle: bool  # some spans are in no branch: then 0 in ``of_span`` stands for none, and the branches count from 1

    def grow(self, parts: Tensor) -> Tensor:
        """The states [batch, branch, unit] of these branches before the step, from those after the step before."""
        if self.parents is None and not self.fresh:
            return parts
        going_on = parts.shape[1] if self.parents is None else len(self.parents)
        grown = parts.new_empty(len(parts), self.fresh + going_on, parts.shape[2])
        grown[:, : self.fresh] = 0
        if going_on:
            kept = grown[:, self.fresh :]
            if self.parents is None:
                kept.copy_(parts)
            else:
                torch.index_select(parts, 1, self.parents, out=kept)
        return grown

    def write(self, parts: Tensor, result: Tensor) -> None:
        """Put the branches' values into ``result`` [batch, span, unit]; zero for spans that are in no branch."""
        if self.idle:
            parts = torch.cat([parts.new_zeros(len(parts), 1, parts.shape[2]), parts], dim=1)
        result.copy_(parts if self.of_span is None else parts.index_select(1, self.of_span))


def branch(inside: Tensor, bias: Tensor, times: Iterable[int], dtype: torch.dtype, marked: bool) -> dict[int, Branches]:
    """For masks [batch or 1, span, time], walked through in the order of ``times``.

    marked: the state before the first step is relevant, so that even a span without positions is in a branch.
    """
    masks = inside.cpu().numpy(), bias.cpu().numpy()
    branch_of = np.full(inside.shape[1], 0 if marked else -1)  # of each span; -1 for none
    made: dict[int, Branches] = {}
    count = int(marked)
    for t in times:
        event = _events(np.concatenate([mask[:, :, t] for mask in masks]))
        # A span without positions so far has the key below zero; a fresh branch goes on from no. -1.
        events = int(event.max(initial=0)) + 1
        keys, first, new = np.unique(branch_of * events + event, return_index=True, return_inverse=True)
        parents = branch_of[first]
        idle = int(not marked and len(keys) > 0 and keys[0] == -events)
        branch_of = new - idle
        now = [mask[:, first[idle:], t] for mask in masks]
        made[t] = _branches(parents[idle:], branch_of, count, now, inside.device, dtype)
        count = len(keys) - idle
    return made


def separate(
    inside: Tensor, bias: Tensor, times: Iterable[int], dtype: torch.dtype, marked: bool
) -> dict[int, Branches]:
    """Every span for itself, from the first step on."""
    masks, each = (inside.cpu().numpy(), bias.cpu().numpy()), np.arange(inside.shape[1])
    parents, count = np.full_like(each, 0 if marked else -1), int(marked)
    made: dict[int, Branches] = {}
    for t in times:
        made[t] = _branches(parents, each, count, [mask[:, :, t] for mask in masks], inside.device, dtype)
        parents, count = each, len(each)
    return made


def _branches(
    parents: Numbers, branch_of: Numbers, count: int, now: list[Mask], device: torch.device, dtype: torch.dtype
) -> Branches:
    """count: the branches of the step before; now: both masks [batch or 1, branch] at this step."""
    fresh = int((parents < 0).sum())
    going_on = parents[fresh:]
    idle = bool((branch_of < 0).any())
    inside, bias = (torch.from_numpy(mask).to(device, dtype)[..., None] if mask.any() else None for mask in now)
    return Branches(
        fresh,
        None if _counts_up(going_on, count) else torch.from_numpy(going_on).to(device),
        inside,
        bias,
        None if _counts_up(branch_of, len(parents)) else torch.from_numpy(branch_of + idle).to(device),
        idle,
    )


def _events(columns: Mask) -> Numbers:
    """A number for each different column; 0 for one that is false throughout."""
    if len(columns) == 2:  # masks that all sequences share
        shared: Numbers = columns[0] + 2 * columns[1].astype(np.int64)
        return shared
    packed = np.ascontiguousarray(np.packbits(columns, axis=0).T)
    nothing = np.zeros((1, packed.shape[1]), packed.dtype)
    rows = np.concatenate([nothing, packed])
    _, number = np.unique(rows.view(f"V{rows.shape[1]}").ravel(), return_inverse=True)
    events: Numbers = np.where(number[1:] == number[0], 0, number[1:] + 1)
    return events


def _counts_up(numbers: Numbers, count: int) -> bool:
    return len(numbers) == count and bool((numbers == np.arange(count)).all())
