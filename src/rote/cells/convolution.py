"""The states of a causal convolution (``Arithmetic.convolve``): its earlier inputs."""

from __future__ import annotations

from collections.abc import Sequence

from rote.cells.arithmetic import V


def past_names(width: int) -> tuple[str, ...]:
    """The states that a convolution of this width needs, the newest first."""
    return tuple(f"past_{ago}" for ago in range(1, width))


def pushed(newest: V, past: Sequence[V]) -> tuple[V, ...]:
    """The states after a step."""
    return (newest, *past)[: len(past)]
