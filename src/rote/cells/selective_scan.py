"""The memory of S6 over all steps at once, without keeping it: for training and for gradients of many outputs.

m_t = exp(rate * length_t) * m_(t-1) + (written_t) B_t^T,  y_t = m_t C_t,  rate = -exp(a_log)

The memory has many numbers for each unit, of which only y is wanted. It goes from step to step, of as many rows
together as fit into the processor's cache, and is made again on the way back from what it was every few steps. It lies
as [number, unit], so that products with B and C run along the units. A lane is one row of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float

NUMBERS = 2**16  # of the memory at a step, with which steps are taken
STEPS = 4  # from one memory that is kept for the way back to the next


def selective_scan(
    length: Float[Tensor, "group row time unit"],
    written: Float[Tensor, "group row time unit"],
    b: Float[Tensor, "group row time number"],
    c: Float[Tensor, "group row time number"],
    a_log: Float[Tensor, "group number unit"],
    start: Float[Tensor, "group row number unit"],
) -> tuple[Float[Tensor, "group row time unit"], Float[Tensor, "group row number unit"]]:
    """y at every step, and the memory behind the last one. Rows of a group have the same ``a_log``."""
    lanes = [value.flatten(0, 1) for value in (length, written, b, c, start)]
    y, end, _ = _selective(*lanes[:4], a_log, lanes[4])
    return y.view(length.shape), end.view(start.shape)


class _Selective(torch.autograd.Function):
    @staticmethod
    def forward(
        length: Tensor, written: Tensor, b: Tensor, c: Tensor, a_log: Tensor, start: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        rates, end = -a_log.exp(), start.clone(memory_format=torch.contiguous_format)
        y = torch.empty(length.shape, dtype=length.dtype, device=length.device)
        begun = start.new_empty(-(-length.shape[1] // STEPS), *start.shape)
        for block, groups in _blocks(len(start), a_log):
            rate, memory = rates[groups], end[block]
            kept = torch.empty_like(memory)
            numbers = (_by_step(value[block], -1) for value in (b, c))
            units = (_by_step(value[block], -2) for value in (length, written, y))
            for t, (b_now, c_now, far, new, shown) in enumerate(zip(*numbers, *units, strict=True)):
                if t % STEPS == 0:
                    begun[t // STEPS, block] = memory
                torch.mul(far, rate, out=kept).exp_()
                memory.mul_(kept).addcmul_(b_now, new)
                shown.copy_(torch.bmm(c_now.mT, memory))
        return y, end, begun

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


def _blocks(lanes: int, a_log: Tensor, rows: int = 1) -> list[tuple[slice, Tensor]]:
    """Lanes that are gone through together, with so many gradients, and their groups: of each, or the only one."""
    count = max(1, NUMBERS // (rows * a_log[0].numel()))
    groups = torch.arange(len(a_log), device=a_log.device).repeat_interleave(lanes // len(a_log))
    blocks = [slice(first, first + count) for first in range(0, lanes, count)]
    return [(block, groups[block] if len(a_log) > 1 else groups[:1]) for block in blocks]


def _by_step(values: Tensor, axis: int) -> Sequence[Tensor]:
    """Of [..., time, numbers] what each step has, with an axis of one beside the numbers."""
    return values.unsqueeze(axis).unbind(-3)


def _pulled(of_y: Tensor, of_end: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """Gradients of the six arguments with a first axis for those of y and the end."""
    a_log = rest[4]
    most = max(1, NUMBERS // a_log[0].numel())
    if len(of_y) <= most:
        return _pulled_together(of_y, of_end, *rest)
    parts = [_pulled_together(*some, *rest) for some in zip(of_y.split(most), of_end.split(most), strict=True)]
    return tuple(map(torch.cat, zip(*parts, strict=True)))


def _pulled_together(
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
    rates, rows, time = -a_log.exp(), len(of_y), length.shape[1]
    of_length, of_written = (of_y.new_empty(of_y.shape) for _ in range(2))
    of_b, of_c = (b.new_empty(rows, *b.shape) for _ in range(2))
    of_rates, of_start = rates.new_zeros(rows, *rates.shape), of_end.clone(memory_format=torch.contiguous_format)
    for block, groups in _blocks(len(b), a_log, rows):
        rate, flow = rates[groups], of_start[:, block]  # from here on what flows back
        by_rate, scratch = torch.zeros_like(flow), torch.empty_like(flow)
        kept = flow.new_empty(STEPS, *flow.shape[1:]).unbind()
        memories = flow.new_empty(STEPS + 1, *flow.shape[1:]).unbind()
        numbers = [_by_step(value[block], -1) for value in (b, c)]
        units = [_by_step(value[block], -2) for value in (length, written)]
        wanted, *found = (_by_step(value[:, block], -2) for value in (of_y, of_length, of_written))
        by_b, by_c = (_by_step(value[:, block], -2) for value in (of_b, of_c))
        steps = list(zip(*numbers, *units, wanted, *found, by_b, by_c, strict=True))
        for first in reversed(range(0, time, STEPS)):
            piece = list(zip(steps[first : first + STEPS], kept, memories, memories[1:], strict=False))
            memories[0].copy_(begun[first // STEPS, block])
            for (b_now, _, far, new, *_), left, before, memory in piece:
                torch.mul(far, rate, out=left).exp_()
                torch.mul(left, before, out=memory).addcmul_(b_now, new)
            for (b_now, c_now, far, new, gradient, to_far, to_new, to_b, to_c), left, before, memory in reversed(piece):
                to_c.copy_(torch.matmul(gradient, memory.mT))
                flow.addcmul_(gradient, c_now)
                to_b.copy_(torch.matmul(new, flow.mT))
                to_new.copy_(torch.matmul(b_now.mT, flow))
                torch.mul(flow.mul_(left), before, out=scratch)  # by the logarithm of what is kept
                if with_rates:
                    by_rate.addcmul_(scratch, far)
                torch.sum(scratch.mul_(rate), -2, keepdim=True, out=to_far)
        of_rates.index_add_(1, groups.expand(len(b[block])), by_rate)
    return of_length, of_written, of_b, of_c, of_rates * rates, of_start
