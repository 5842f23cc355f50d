"""The memory of S6 over all steps at once, without keeping it: for training and for gradients of many outputs.

m_t = exp(rate * length_t) * m_(t-1) + (written_t) B_t^T,  y_t = m_t C_t,  rate = -exp(a_log)

The memory has many numbers for each unit, of which only y is wanted. It is made for as many steps as fit into the
processor's cache, read, and made again on the way back from what it was at the beginning of each such piece. It lies in
memory as [number, unit], so that products with B and C run along the units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float

NUMBERS = 2**19  # of the memory that exist at once
FEWEST = 4  # steps


def selective_scan(
    length: Float[Tensor, "group row time unit"],
    written: Float[Tensor, "group row time unit"],
    b: Float[Tensor, "group row time number"],
    c: Float[Tensor, "group row time number"],
    a_log: Float[Tensor, "group number unit"],
    start: Float[Tensor, "group row number unit"],
) -> tuple[Float[Tensor, "group row time unit"], Float[Tensor, "group row number unit"]]:
    """y at every step, and the memory behind the last one. Rows of a group have the same ``a_log``."""
    y, end, _ = _selective(length, written, b, c, a_log, start)
    return y, end


class _Selective(torch.autograd.Function):
    @staticmethod
    def forward(
        length: Tensor, written: Tensor, b: Tensor, c: Tensor, a_log: Tensor, start: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        rate, y, memory = -a_log.exp()[:, None, None], torch.empty_like(length), start
        pieces = list(_pieces(start, length.shape[-2]))
        begun = start.new_empty(len(pieces), *start.shape)
        room = list(_room(start, pieces[0].stop, 2))
        for piece, first in zip(pieces, begun.unbind(), strict=True):
            first.copy_(memory)
            kept, memories = (place[:, :, : piece.stop - piece.start] for place in room)
            _make(kept, memories, length[..., piece, :], written[..., piece, :], b[..., piece, :], rate, first)
            y[..., piece, :] = torch.matmul(c[..., piece, None, :], memories)[..., 0, :]
            memory = memories[:, :, -1]
        return y, memory.clone(), begun

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(*inputs[:5], output[2])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        found = _back(*gradients[:2], *ctx.saved_tensors, ctx.needs_input_grad[4])
        return tuple(part if wanted else None for part, wanted in zip(found, ctx.needs_input_grad, strict=True))


class _Back(torch.autograd.Function):
    """The way back for one gradient, or with vmap for many at once: they share the memory that is made again."""

    @staticmethod
    def forward(of_y: Tensor, of_end: Tensor, *rest: Any) -> tuple[Tensor, ...]:
        return tuple(part[0] for part in _pulled(of_y[None], of_end[None], *rest))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *given: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        rows = [
            value.expand(info.batch_size, *value.shape) if dim is None else value.movedim(dim, 0)
            for dim, value in zip(in_dims[:2], given[:2], strict=True)
        ]
        found = _pulled(*rows, *given[2:])
        return found, (0,) * len(found)


_selective: Callable[..., tuple[Tensor, Tensor, Tensor]] = _Selective.apply
_back: Callable[..., tuple[Tensor, ...]] = _Back.apply


def _pieces(start: Tensor, time: int, rows: int = 1) -> Iterator[slice]:
    """Steps whose memory fits into the cache, for so many gradients."""
    size = max(FEWEST if rows == 1 else 1, NUMBERS // (rows * start.numel()))
    return (slice(first, min(first + size, time)) for first in range(0, time, size))


def _room(like: Tensor, steps: int, count: int, *lead: int) -> Iterator[Tensor]:
    """So many places for a piece, [*lead, group, row, time, number, unit], to be used again and again: to have new
    ones from the system takes longer than to fill them."""
    return (like.new_empty(*lead, *like.shape[:2], steps, *like.shape[2:]) for _ in range(count))


def _make(
    kept: Tensor, memories: Tensor, length: Tensor, written: Tensor, b: Tensor, rate: Tensor, memory: Tensor
) -> None:
    """What is kept, and the memory, of a piece that follows on ``memory``."""
    torch.mul(length[..., None, :], rate, out=kept).exp_()
    torch.mul(b[..., None], written[..., None, :], out=memories)
    for t in range(memories.shape[2]):
        memory = memories[:, :, t].addcmul_(kept[:, :, t], memory)


def _pulled(
    of_y: Tensor,
    of_end: Tensor,
    length: Tensor,
    written: Tensor,
    b: Tensor,
    c: Tensor,
    a_log: Tensor,
    begun: Tensor,
    with_rates: bool,
) -> tuple[Tensor, ...]:
    """Gradients of the six arguments of ``selective_scan`` with a first axis for those of y and the end."""
    rate, rows, time = -a_log.exp()[:, None, None], len(of_y), length.shape[-2]
    of_length, of_written = (torch.empty_like(of_y) for _ in range(2))
    of_b, of_c = (b.new_empty(rows, *b.shape) for _ in range(2))
    of_rates = a_log.new_zeros(rows, *a_log.shape)
    back = of_end
    pieces = list(_pieces(begun[0], time))
    longest = pieces[0].stop
    shared = list(_room(begun[0], longest, 3))
    within = list(_pieces(begun[0], longest, rows))
    places = list(_room(begun[0], within[0].stop, 2, rows))
    for outer, first in zip(reversed(pieces), reversed(begun.unbind()), strict=True):
        kept, memories, remained = (place[:, :, : outer.stop - outer.start] for place in shared)
        _make(kept, memories, length[..., outer, :], written[..., outer, :], b[..., outer, :], rate, first)
        torch.mul(kept[:, :, :1], first[:, :, None], out=remained[:, :, :1])
        torch.mul(kept[:, :, 1:], memories[:, :, :-1], out=remained[:, :, 1:])
        remained.mul_(rate)
        for inner in reversed(list(_pieces(begun[0], outer.stop - outer.start, rows))):
            at = slice(outer.start + inner.start, outer.start + inner.stop)
            flow, scratch = (place[:, :, :, : inner.stop - inner.start] for place in places)
            torch.mul(of_y[..., at, None, :], c[..., at, :, None], out=flow)
            flow[:, :, :, -1] += back
            for t in reversed(range(flow.shape[3] - 1)):
                flow[:, :, :, t].addcmul_(kept[:, :, inner.start + t + 1], flow[:, :, :, t + 1])
            back = flow[:, :, :, 0] * kept[:, :, inner.start]
            of_c[..., at, :] = torch.mul(of_y[..., at, None, :], memories[:, :, inner], out=scratch).sum(-1)
            of_b[..., at, :] = torch.mul(flow, written[..., at, None, :], out=scratch).sum(-1)
            of_written[..., at, :] = torch.matmul(b[..., at, None, :], flow)[..., 0, :]
            of_length[..., at, :] = flow.mul_(remained[:, :, inner]).sum(-2)
            if with_rates:
                of_rates += flow.mul_(length[..., at, None, :]).sum((2, 3))
    return of_length, of_written, of_b, of_c, of_rates, back
