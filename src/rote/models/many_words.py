"""A readout over many words and many rows: loss, gradient and ranks, a piece of the rows at a time.

The gradient is made in the forward pass, while the logits of a piece are at hand: however many rows there are, the
logits of one piece are in memory (12,800 rows of 16,386 words would be 840 MB), and no product is made twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int

PIECE = 2**23  # numbers of logits that are in memory at once


def words_loss(
    hidden: Float[Tensor, "row unit"],
    weight: Float[Tensor, "word unit"],
    bias: Float[Tensor, " word"],
    targets: Int[Tensor, " row"],
) -> Float[Tensor, ""]:
    """``cross_entropy(linear(hidden, weight, bias), targets)``: the same number, the same gradients."""
    return _words_loss(hidden, weight, bias, targets, torch.is_grad_enabled())


def losses_and_ranks(
    hidden: Float[Tensor, "row unit"],
    weight: Float[Tensor, "word unit"],
    bias: Float[Tensor, " word"],
    targets: Int[Tensor, " row"],
) -> tuple[Float[Tensor, " row"], Int[Tensor, " row"]]:
    """Cross entropy of every row, and how many words are more probable than its target."""
    losses, ranks = [], []
    size = max(1, PIECE // len(bias))
    for rows, wanted in zip(hidden.split(size), targets.split(size), strict=True):
        logits = torch.addmm(bias, rows, weight.T)
        own = logits.gather(1, wanted[:, None])
        losses.append(torch.logsumexp(logits, 1) - own[:, 0])
        ranks.append((logits > own).sum(1))
    return torch.cat(losses), torch.cat(ranks)


class _WordsLoss(torch.autograd.Function):
    """The exponentials are taken once. log sum exp comes from the most probable word, which never underflows."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, training: bool) -> Tensor:
        total = hidden.new_zeros(())
        changes = [torch.zeros_like(value) for value in (hidden, weight, bias)] if training else []
        size = max(1, PIECE // len(bias))
        for first in range(0, len(targets), size):
            rows, wanted = hidden[first : first + size], targets[first : first + size]
            scores = torch.addmm(bias, rows, weight.T)
            own, highest = scores.gather(1, wanted[:, None]).squeeze(1), scores.amax(1)
            probabilities = torch.softmax(scores, -1, out=scores)
            total += (highest - probabilities.amax(1).log() - own).sum()
            if training:
                change = probabilities
                change[torch.arange(len(wanted), device=wanted.device), wanted] -= 1
                torch.mm(change, weight, out=changes[0][first : first + size])
                changes[1].addmm_(change.T, rows)
                changes[2].add_(change.sum(0))
        ctx.save_for_backward(*changes)
        ctx.rows = len(targets)
        return total / len(targets)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        scale = gradients[0] / ctx.rows
        return *(change * scale for change in ctx.saved_tensors), None, None


_words_loss: Callable[[Tensor, Tensor, Tensor, Tensor, bool], Tensor] = _WordsLoss.apply
