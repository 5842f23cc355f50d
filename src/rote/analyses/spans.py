"""Which positions a span covers, and at which of them products of biases count as its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Bool

BiasRule = Literal["in_span", "exclusive_end", "never"]


def contiguous_spans(time: int) -> list[tuple[int, int]]:
    return [(start, end) for start in range(time) for end in range(start, time)]


def span_masks(
    spans: Sequence[tuple[int, int]] | Tensor, batch: int, time: int, device: torch.device
) -> Bool[Tensor, "batch span time"]:
    """[1, span, time] for pairs, which are the same for each sequence; a mask is checked and taken as it is."""
    if isinstance(spans, Tensor):
        if spans.dtype != torch.bool or spans.dim() != 3 or spans.shape[0] != batch or spans.shape[2] != time:
            raise UsageError(
                f"'spans' as a tensor must be bool [batch={batch}, span, time={time}]. "
                f"Got {spans.dtype} {tuple(spans.shape)}."
            )
        return spans.to(device)
    mask = torch.zeros(1, len(spans), time, dtype=torch.bool)
    for index, span in enumerate(spans):
        try:
            start, end = (int(bound) for bound in span)
        except (TypeError, ValueError):
            raise UsageError(f"Each of 'spans' is a pair (start, end), both inclusive. Got {span!r}.") from None
        if start > end:
            raise UsageError(f"A span's start must not lie behind its end. Got {(start, end)}.")
        if start < 0 or end >= time:
            raise UsageError(f"Each of 'spans' must lie inside the sequence of {time} steps. Got {(start, end)}.")
        mask[0, index, start : end + 1] = True
    return mask.to(device)


def bias_positions(inside: Tensor, rule: BiasRule) -> Bool[Tensor, "batch span time"]:
    if rule == "never":
        return torch.zeros_like(inside)
    if rule == "in_span":
        return inside
    later = inside.flip(-1).cumsum(-1).flip(-1) > 1  # there is another position of the span behind this one
    return inside & later
