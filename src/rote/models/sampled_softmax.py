"""Learning from a few words instead of the whole vocabulary (Jean et al. 2015: importance sampling).

In every step words are drawn by their frequency, with replacement, the same for all rows. A row's loss is the cross
entropy among its target and the drawn words; the logit of a drawn word is lowered by the logarithm of how often it was
to be expected among the draws, so that together the draws stand for all words but the target. As their number grows,
loss and gradient become those of the exact softmax.

What it saves is measured by ``benchmarks/autocomplete.py`` and said in docs/autocomplete.md.
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
    generator: torch.Generator | None = None,
) -> Float[Tensor, ""]:
    """``frequencies``: how often each symbol is a target; one that never is, is not drawn. ``generator``: what draws,
    by default torch's own."""
    share = frequencies / frequencies.sum()
    drawn = torch.multinomial(share, samples, replacement=True, generator=generator)
    own = (hidden * embedding(targets, weight)).sum(1) + bias[targets]
    others = torch.addmm(bias[drawn] - (share[drawn] * samples).log(), hidden, embedding(drawn, weight).T)
    others = others.masked_fill(drawn == targets[:, None], -torch.inf)  # the target counts once
    return cross_entropy(torch.cat([own[:, None], others], 1), torch.zeros_like(targets))
