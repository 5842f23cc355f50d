"""Learning from a few words instead of the whole vocabulary (Jean et al. 2015, TensorFlow's sampled_softmax_loss).

In every step words are drawn by their frequency, with replacement, the same for all rows. A row's loss is the cross
entropy among its target and the drawn words, where each logit is lowered by the logarithm of how often its word was to
be expected among the draws. As the number of draws grows, the gradient becomes that of the exact softmax.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, embedding

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def sampled_loss(
    hidden: Float[Tensor, "row unit"],
    weight: Float[Tensor, "symbol unit"],
    bias: Float[Tensor, " symbol"],
    targets: Int[Tensor, " row"],
    frequencies: Float[Tensor, " symbol"],
    samples: int,
) -> Float[Tensor, ""]:
    """``frequencies``: how often each symbol is a target; one that never is, is not drawn."""
    share = frequencies / frequencies.sum()
    drawn = torch.multinomial(share, samples, replacement=True)
    expected = (share * samples).log()
    own = (hidden * embedding(targets, weight)).sum(1) + (bias - expected)[targets]
    others = torch.addmm((bias - expected)[drawn], hidden, embedding(drawn, weight).T)
    others = others.masked_fill(drawn == targets[:, None], -torch.inf)  # the target counts once
    return cross_entropy(torch.cat([own[:, None], others], 1), torch.zeros_like(targets))
