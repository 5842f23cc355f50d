"""Which positions a span covers, and at which of them products of biases count as its own."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.analyses.splitting import Bias
from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Bool


def contiguous_spans(time: int) -> list[tuple[int, int]]:
    return [(start, end) for start in range(time) for end in range(start, time)]


def span_masks(spans: Any, batch: int, time: int, device: torch.device) -> Bool[Tensor, "batch span time"]:
    """[1, span, time] for pairs (start, end), which are the same for each sequence; a mask is checked and taken as it
    is. Anything else is refused."""
    if isinstance(spans, Tensor):
        if spans.dtype != torch.bool or spans.dim() != 3 or spans.shape[0] != batch or spans.shape[2] != time:
            raise UsageError(
                f"'spans' as a tensor must be bool [batch={batch}, span, time={time}]. "
                f"Got {spans.dtype} {tuple(spans.shape)}."
            )
        return spans.to(device, copy=True)  # a result does not change with the caller's tensor
    try:
        spans = list(spans)
    except TypeError:
        raise UsageError(f"'spans' must be a list of pairs (start, end) or a bool tensor. Got {spans!r}.") from None
    checked = [_bounds(span, time) for span in spans]
    start, end = torch.tensor(checked, dtype=torch.long, device=device).view(-1, 2).T[:, None, :, None]
    steps = torch.arange(time, device=device)
    mask: Tensor = (steps >= start) & (steps <= end)
    return mask


def _bounds(span: Any, time: int) -> tuple[int, int]:
    try:
        start, end = (operator.index(bound) for bound in span)
    except (TypeError, ValueError):
        raise UsageError(f"Each of 'spans' is a pair (start, end), both inclusive. Got {span!r}.") from None
    if start > end:
        raise UsageError(f"A span's start must not lie behind its end. Got {(start, end)}.")
    if start < 0 or end >= time:
        raise UsageError(f"Each of 'spans' must lie inside the sequence of {time} steps. Got {(start, end)}.")
    return start, end


def bias_positions(inside: Tensor, rule: Bias) -> Bool[Tensor, "batch span time"]:
    """ "exclusive_end" leaves out the last position of a span, also of one with gaps."""
    if rule in ("never", "reference"):
        return torch.zeros_like(inside)
    if rule == "in_span":
        return inside
    later = inside.flip(-1).cumsum(-1).flip(-1) > 1  # there is another position of the span behind this one
    return inside & later
