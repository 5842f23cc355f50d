"""S6 over all steps at once: the equations of ``s6`` with its memory as one ``selective_scan``.

The same numbers as step by step (tested), for training and for gradients of many outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import silu, softplus

from rote.cells.arithmetic import Plain
from rote.cells.selective_scan import selective_scan

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from rote.cells.s6 import S6Cell


def run_s6(
    cell: S6Cell,
    a: Plain,
    projected: Float[Tensor, "*lead time rows"],
    start: tuple[Tensor, ...],
    mask: Bool[Tensor, "*lead time"] | None,
) -> tuple[Float[Tensor, "*lead time unit"], tuple[Tensor, ...]]:
    """What the layer gives at every step, zero where a row has ended, and its states where each row ends."""
    *lead, time, _ = projected.shape  # [*replica, batch]
    groups = lead[0] if len(lead) > 1 else 1
    x, z = projected.split(cell.inner, -1)
    read = torch.cat([value[..., None, :] for value in reversed(start[2:])] + [x], -2)  # the last inputs, then all
    u = silu(_convolved(cell, a, read, time))
    s, b, c = a.linear(u, cell.weight_select).split([cell.rank, cell.state_size, cell.state_size], -1)
    length = softplus(a.linear(s, cell.weight_step) + a.constant(cell.bias_step))
    if mask is not None:  # nothing is kept less and nothing written where a row has ended
        length = length * mask.flatten(-2)[..., None]
    a_log, memory = cell.a_log.mT, start[1].unflatten(-1, (cell.inner, cell.state_size)).mT
    series = [value.reshape(groups, -1, time, value.shape[-1]) for value in (length, length * u, b, c)]
    once = [value.reshape(groups, *axes, *value.shape[-2:]) for value, axes in ((a_log, ()), (memory, (-1,)))]
    y, end = selective_scan(*series, *once)
    shown = silu(z.flatten(-3, -2)) * (y.reshape_as(u) + a.constant(cell.skip) * u)
    hidden = a.linear(shown, cell.weight_out).unflatten(-2, (lead[-1], time))
    ends = end.reshape_as(memory).mT.flatten(-2)
    if mask is None:
        pasts = [read[..., time + place, :] for place in reversed(range(cell.width - 1))]
        return hidden, (hidden[..., -1, :], ends, *pasts)
    lengths = mask.sum(-1)[..., None]
    pasts = [_at(read, lengths + place) for place in reversed(range(cell.width - 1))]
    last = torch.where(lengths > 0, _at(hidden, (lengths - 1).clamp(min=0)), start[0])
    return hidden * mask[..., None], (last, ends, *pasts)


def _convolved(cell: S6Cell, a: Plain, read: Tensor, time: int) -> Tensor:
    """[*replica, batch * time, unit]."""
    total = a.constant(cell.bias_conv)
    for place in range(cell.width):
        total = total + a.scale(read[..., place : place + time, :].flatten(-3, -2), cell.weight_conv[..., place])
    return total


def _at(values: Tensor, steps: Tensor) -> Tensor:
    """The values of one step for each row, whose number is in ``steps`` [*lead, 1]."""
    return values.gather(-2, steps[..., None].expand(*steps.shape, values.shape[-1]))[..., 0, :]
