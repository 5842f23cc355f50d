"""The loss of a readout over many symbols: logits, softmax and gradient in one array.

torch's own functions make four arrays of that size, and where they do not fit the processor's cache most of the time
goes into memory. Below ``WORTHWHILE`` numbers torch's own functions are as fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int

WORTHWHILE = 2**18


def readout_loss(
    hidden: Float[Tensor, "row unit"],
    weight: Float[Tensor, "symbol unit"],
    bias: Float[Tensor, " symbol"],
    targets: Int[Tensor, " row"],
) -> Float[Tensor, ""]:
    """``cross_entropy(linear(hidden, weight, bias), targets)``: the same number, the same gradients."""
    loss: Tensor = _ReadoutLoss.apply(hidden, weight, bias, targets)  # type: ignore[no-untyped-call]
    return loss


class _ReadoutLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        scores = torch.addmm(bias, hidden, weight.T)
        torch.log_softmax(scores, -1, out=scores)
        ctx.save_for_backward(hidden, weight, targets)
        ctx.scores = scores
        return -scores.gather(1, targets[:, None]).mean()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, Tensor, None]:
        hidden, weight, targets = ctx.saved_tensors
        change = ctx.scores.exp_()
        change[torch.arange(len(targets), device=targets.device), targets] -= 1
        change.mul_(gradients[0] / len(targets))
        return change @ weight, change.T @ hidden, change.sum(0), None
