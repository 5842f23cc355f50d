"""A causal convolution (``Arithmetic.convolve``): its states, which are its earlier inputs, and all steps at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor

from rote.cells.arithmetic import V


def past_names(width: int) -> tuple[str, ...]:
    """The states that a convolution of this width needs, the newest first."""
    return tuple(f"past_{ago}" for ago in range(1, width))


def pushed(newest: V, past: Sequence[V]) -> tuple[V, ...]:
    """The states after a step."""
    return (newest, *past)[: len(past)]


def convolved(begin: Tensor, series: Tensor, weight: Tensor) -> Tensor:
    """A causal convolution of every step at once: ``series`` [*lead, batch, time, unit] follows on ``begin``, the
    inputs before the first step, oldest first; ``weight`` [*lead, unit, width] has its newest input last. Sums of
    shifted series, row by row of the batch, since a row fits into the processor's cache: torch's own convolution would
    turn units and time around, there and back."""
    return _convolved(begin, series, weight)


class _Convolved(torch.autograd.Function):
    @staticmethod
    def forward(begin: Tensor, series: Tensor, weight: Tensor) -> Tensor:
        total = torch.empty(series.shape, dtype=series.dtype, device=series.device)
        time = series.shape[-2]
        for kernels, *row in _rows(weight, begin, series, total):
            read, sums = torch.cat(row[:2]), row[2]
            torch.mul(read[:time], kernels[0], out=sums)
            for place, kernel in enumerate(kernels[1:], start=1):
                sums.addcmul_(read[place : place + time], kernel)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, Tensor | None]:
        begin, series, weight = ctx.saved_tensors
        of_begin, of_series = _back(gradients[0], weight)
        if not ctx.needs_input_grad[2]:
            return of_begin, of_series, None
        time, of_weight = series.shape[-2], []
        for _, *row, back in _rows(weight, begin, series, gradients[0]):
            read = torch.cat(row)
            seen = [(read[place : place + time] * back).sum(0) for place in range(weight.shape[-1])]
            of_weight.append(torch.stack(seen, -1))
        return of_begin, of_series, torch.stack(of_weight).view(*series.shape[:-2], *of_weight[0].shape).sum(-3)


class _Back(torch.autograd.Function):
    """The gradients of what was read, for one gradient of the sums, or with vmap for many."""

    @staticmethod
    def forward(of_total: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        (*lead, time, units), early = of_total.shape, weight.shape[-1] - 1
        of_read = of_total.new_empty(*lead, early + time, units)
        for kernels, back, read in _rows(weight, of_total, of_read):
            torch.mul(back, kernels[0], out=read[:time])
            read[time:] = 0
            for place, kernel in enumerate(kernels[1:], start=1):
                read[place : place + time].addcmul_(back, kernel)
        return of_read[..., :early, :], of_read[..., early:, :]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], of_total: Tensor, weight: Tensor) -> tuple[Any, Any]:
        rows = of_total.movedim(in_dims[0] or 0, 0)
        return _back(rows, weight.expand(len(rows), *weight.shape)), (0, 0)


_convolved: Callable[[Tensor, Tensor, Tensor], Tensor] = _Convolved.apply
_back: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = _Back.apply


def _rows(weight: Tensor, *values: Tensor) -> Iterator[tuple[Any, ...]]:
    """For each row of the batch the kernels by place, oldest first, and what it has of ``values``."""
    for place in product(*map(range, values[0].shape[:-2])):
        yield weight[place[:-1]].unbind(-1), *(value[place] for value in values)
