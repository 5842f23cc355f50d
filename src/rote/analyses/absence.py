"""What stands where an input is taken away: nothing, the mean, a vector of one's own, or inputs drawn anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.explained import Explained
from rote.analyses.inputs import check_finite
from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Float

KNOWN = ("zero", "mean", "redrawn")


def absent_vectors(
    explained: Explained, absent: str | Tensor, draws: int, seed: int
) -> Float[Tensor, "draw batch time input"]:
    """One row of vectors for every draw; only "redrawn" has more than one. "mean" and "redrawn" are over the embedding,
    or over the given vectors where there is none."""
    size, like = explained.vectors.shape[-1], explained.vectors
    if isinstance(absent, Tensor):
        if absent.shape != (size,) or not absent.is_floating_point():
            raise UsageError(f"'absent' as a vector must be [{size}], as the inputs. Got {tuple(absent.shape)}.")
        check_finite("'absent'", absent)
        return absent.detach().to(like)[None, None, None]
    if absent not in KNOWN:
        raise UsageError(f"'absent' must be {', '.join(map(repr, KNOWN))} or a vector. Got {absent!r}.")
    if absent == "zero":
        return like.new_zeros(1, 1, 1, size)
    pool = explained.vectors[explained.mask] if explained.table is None else explained.table
    if absent == "mean":
        return pool.mean(0)[None, None, None]
    if draws < 2:
        raise UsageError(f"'draws' must be at least 2, to know the error of what is drawn. Got {draws}.")
    generator = torch.Generator().manual_seed(seed)
    places = torch.randint(len(pool), (draws, *like.shape[:2]), generator=generator)
    return pool[places.to(pool.device)]


def spread_over(draws: Tensor) -> tuple[Tensor, Tensor]:
    """Mean over draws and its standard error; one draw is no sample, its error is zero."""
    mean = draws.mean(0)
    return mean, torch.zeros_like(mean) if len(draws) == 1 else draws.std(0) / len(draws) ** 0.5
