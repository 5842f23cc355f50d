"""A causal convolution over the last steps, one kernel for each unit, whose earlier inputs are states of the cell."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V


def past_names(width: int) -> tuple[str, ...]:
    """The states that a convolution of this width needs, the newest first."""
    return tuple(f"past_{ago}" for ago in range(1, width))


def convolved(a: Arithmetic[V], newest: V, past: Sequence[V], weight: Tensor, bias: Tensor | None = None) -> V:
    """``weight`` [unit, width] has its newest input last."""
    total = a.scale(newest, weight[..., -1])
    for ago, earlier in enumerate(past, start=2):
        total = total + a.scale(earlier, weight[..., -ago])
    return total if bias is None else total + a.constant(bias)


def pushed(newest: V, past: Sequence[V]) -> tuple[V, ...]:
    """The states after a step."""
    return (newest, *past)[: len(past)]
