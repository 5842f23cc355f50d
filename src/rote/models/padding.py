"""Rows that are padded at their beginning, as tokenizers do it for generation, in the form that Rote takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Int, Shaped


def right_padded(
    tokens: Shaped[Tensor, "batch time *unit"], attention_mask: Tensor
) -> tuple[Shaped[Tensor, "batch time *unit"], Int[Tensor, " batch"]]:
    """Tokens (or vectors) with their padding behind them, and how many count in each row: ``lengths`` of an analysis.

    - attention_mask: which steps count, 1 or True for those that do; the others may stand on either side.

    >>> import torch, rote
    >>> tokens, mask = torch.tensor([[0, 5, 7], [4, 2, 0]]), torch.tensor([[0, 1, 1], [1, 1, 0]])
    >>> tokens, lengths = rote.models.right_padded(tokens, mask)
    >>> tokens.tolist(), lengths.tolist()
    ([[5, 7, 0], [4, 2, 0]], [2, 2])
    """
    if attention_mask.shape != tokens.shape[:2] or not bool(((attention_mask == 0) | (attention_mask == 1)).all()):
        raise UsageError(
            f"'attention_mask' must be 0 or 1 for each of the tokens {tuple(tokens.shape[:2])}. Got "
            f"{tuple(attention_mask.shape)}, from {float(attention_mask.min()):g} to {float(attention_mask.max()):g}."
        )
    mask = attention_mask.bool()
    lengths, first = mask.sum(1), mask.int().argmax(1)
    steps = torch.arange(mask.shape[1], device=mask.device)
    whole = (steps >= first[:, None]) & (steps < (first + lengths)[:, None])
    wrong = ((lengths == 0) | (mask != whole).any(1)).nonzero().flatten().tolist()
    if wrong:
        raise UsageError(
            f"'attention_mask' must have the steps that count one after the other, at least one in each row. Row "
            f"{wrong[0]} has {''.join(str(int(step)) for step in mask[wrong[0]].tolist())}."
        )
    order = ((steps + first[:, None]) % mask.shape[1]).to(tokens.device)
    rows = torch.arange(len(tokens), device=tokens.device)[:, None]
    return tokens[rows, order], lengths
