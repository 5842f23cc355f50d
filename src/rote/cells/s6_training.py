"""S6 over all steps at once: the equations of ``s6`` with its memory as one ``selective_scan``.

The same numbers as step by step (tested), for training and for gradients of many outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import silu, softplus

from rote.cells.arithmetic import Plain
from rote.cells.convolution import convolved
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
    begin = torch.stack(start[:1:-1], -2) if cell.width > 1 else x[..., :0, :]  # the last inputs, oldest first
    u = silu(convolved(begin, x, cell.weight_conv).flatten(-3, -2) + a.constant(cell.bias_conv))
    s, b, c = a.linear(u, cell.weight_select).split([cell.rank, cell.state_size, cell.state_size], -1)
    length = softplus(a.linear(s, cell.weight_step) + a.constant(cell.bias_step))
    if mask is not None:  # nothing is kept less and nothing written where a row has ended
        length = length * mask.flatten(-2)[..., None]
    a_log, memory = cell.a_log.mT, start[1].unflatten(-1, (cell.inner, cell.state_size)).mT
    series = [value.reshape(groups, -1, time, value.shape[-1]) for value in (length, length * u, b, c)]
    once = [value.reshape(groups, *axes, *value.shape[-2:]) for value, axes in ((a_log, ()), (memory, (-1,)))]
    y, end = selective_scan(*series, *once)
    shown = silu(z.flatten(-3, -2)) * torch.addcmul(y.reshape_as(u), a.constant(cell.skip), u)
    hidden = a.linear(shown, cell.weight_out).unflatten(-2, (lead[-1], time))
    ends = end.reshape_as(memory).mT.flatten(-2)
    past = cell.width - 1
    if mask is None:
        newest = torch.cat([begin, x[..., max(0, time - past) :, :]], -2)
        return hidden, (hidden[..., -1, :], ends, *(newest[..., -ago, :] for ago in range(1, cell.width)))
    read = torch.cat([begin, x], -2)
    lengths = mask.sum(-1)[..., None]
    pasts = [_at(read, lengths + place) for place in reversed(range(past))]
    last = torch.where(lengths > 0, _at(hidden, (lengths - 1).clamp(min=0)), start[0])
    return hidden * mask[..., None], (last, ends, *pasts)


def _at(values: Tensor, steps: Tensor) -> Tensor:
    """The values of one step for each row, whose number is in ``steps`` [*lead, 1]."""
    return values.gather(-2, steps[..., None].expand(*steps.shape, values.shape[-1]))[..., 0, :]
