"""The loss of a readout over many symbols: logits, softmax and gradient in one array.

torch's own functions make four arrays of that size, and where they do not fit the processor's cache most of the time
goes into memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def readout_losses(
    hidden: Float[Tensor, "replica row unit"],
    weight: Float[Tensor, "replica symbol unit"],
    bias: Float[Tensor, "replica symbol"],
    targets: Int[Tensor, "replica row"],
) -> Float[Tensor, " replica"]:
    """``cross_entropy(linear(hidden, weight, bias), targets)`` of every replica: the same numbers and gradients."""
    return _readout_losses(hidden, weight, bias, targets)


class _ReadoutLosses(torch.autograd.Function):
    """The exponentials are taken once. log sum exp comes from the most probable symbol, which never underflows."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        scores = torch.baddbmm(bias[:, None], hidden, weight.mT)
        wanted, highest = scores.gather(2, targets[:, :, None]).squeeze(2), scores.amax(2)
        probabilities = torch.softmax(scores, -1, out=scores)
        ctx.save_for_backward(hidden, weight, targets)
        ctx.probabilities = probabilities
        return (highest - probabilities.amax(2).log() - wanted).mean(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, Tensor, None]:
        hidden, weight, targets = ctx.saved_tensors
        scale = gradients[0][:, None, None] / targets.shape[1]
        change = ctx.probabilities
        change.scatter_add_(2, targets[:, :, None], change.new_full((), -1).expand(*targets.shape, 1))
        by_hidden, by_weight = torch.bmm(change, weight).mul_(scale), torch.bmm(change.mT, hidden).mul_(scale)
        return by_hidden, by_weight, change.sum(1).mul_(scale[:, 0]), None


_readout_losses: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = _ReadoutLosses.apply
