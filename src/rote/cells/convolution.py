"""A causal convolution (``Arithmetic.convolve``): its states, which are its earlier inputs, and all steps at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

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
        of_total, time = gradients[0], series.shape[-2]
        of_begin, of_series = of_total.new_empty(begin.shape), of_total.new_empty(series.shape)
        of_weight = []
        for kernels, *row in _rows(weight, begin, series, of_total, of_begin, of_series):
            back, early, late = row[2:]
            of_read = pad(back * kernels[0], (0, 0, 0, len(kernels) - 1))
            for place, kernel in enumerate(kernels[1:], start=1):
                of_read[place : place + time] += back * kernel  # addcmul_ has no rule for many gradients
            early.copy_(of_read[: len(early)])
            late.copy_(of_read[len(early) :])
            if ctx.needs_input_grad[2]:
                read = torch.cat(row[:2])
                seen = [(read[place : place + time] * back).sum(0) for place in range(len(kernels))]
                of_weight.append(torch.stack(seen, -1))
        if not of_weight:
            return of_begin, of_series, None
        return of_begin, of_series, torch.stack(of_weight).view(*series.shape[:-2], *of_weight[0].shape).sum(-3)


_convolved: Callable[[Tensor, Tensor, Tensor], Tensor] = _Convolved.apply


def _rows(weight: Tensor, *values: Tensor) -> Iterator[tuple[Any, ...]]:
    """For each row of the batch the kernels by place, oldest first, and what it has of ``values``."""
    for place in product(*map(range, values[0].shape[:-2])):
        yield weight[place[:-1]].unbind(-1), *(value[place] for value in values)
