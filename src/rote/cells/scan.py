"""A linear recurrence over all steps at once: h_t = a_t * h_(t-1) + x_t, each unit by itself.

Time is cut into pieces of about its square root. All pieces are gone through together, each from zero, with the product
of the factors so far beside it; then the ends of the pieces are carried from one to the next, and each step gets its
product times what its piece began with. Nothing is divided, so that factors of zero do no harm. The way back is the
same recurrence from the end, for many gradients at once (``torch.func.vmap``) with one set of products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import pad

if TYPE_CHECKING:
    from jaxtyping import Inexact


def scan(
    factors: Inexact[Tensor, "*lead time unit"], values: Inexact[Tensor, "*lead time unit"], start: Tensor
) -> Inexact[Tensor, "*lead time unit"]:
    """All h, from ``start`` [*lead, unit]; real or complex. Gradients reach all three."""
    return _scan(factors, values, start)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(factors: Tensor, values: Tensor, start: Tensor) -> Tensor:
        return _run(factors, values, start)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        factors, _, start = inputs
        ctx.save_for_backward(factors, start, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, Tensor]:
        factors, start, states = ctx.saved_tensors
        factors = factors.conj()
        later = torch.cat([factors[..., 1:, :], torch.zeros_like(factors[..., :1, :])], -2)  # of the step that follows
        back = _scan(later.flip(-2), gradients[0].flip(-2), torch.zeros_like(start)).flip(-2)
        before = torch.cat([start[..., None, :], states[..., :-1, :]], -2)
        return back * before.conj(), back, back[..., 0, :] * factors[..., 0, :]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *given: Tensor) -> tuple[Tensor, int]:
        """Rows of values over one set of factors: the products of these are made once."""
        first = [
            value if dim is None else value.movedim(dim, 0) for dim, value in zip(in_dims, given, strict=True)
        ]  # fmt: skip
        factors, values, start = first
        if in_dims[1] is None:
            values = values.expand(info.batch_size, *values.shape)
        return _scan(factors, values, start.expand(*values.shape[:-2], start.shape[-1])), 0


_scan: Callable[[Tensor, Tensor, Tensor], Tensor] = _Scan.apply


def _run(factors: Tensor, values: Tensor, start: Tensor) -> Tensor:
    """``factors`` may lack leading axes of ``values``."""
    time = values.shape[-2]
    size = math.isqrt(time - 1) + 1
    pieces = -(-time // size)
    lacking = pieces * size - time
    products, states = (
        pad(part, (0, 0, 0, lacking)).view(*part.shape[:-2], pieces, size, part.shape[-1]) for part in (factors, values)
    )
    if not lacking:  # nothing was copied
        products, states = products.clone(), states.clone()
    for place in range(1, size):
        states[..., place, :].addcmul_(products[..., place, :], states[..., place - 1, :])
        products[..., place, :].mul_(products[..., place - 1, :])
    begin = [start]
    for piece in range(pieces - 1):
        begin.append(torch.addcmul(states[..., piece, -1, :], products[..., piece, -1, :], begin[-1]))
    states.addcmul_(products, torch.stack(begin, -2)[..., None, :])
    return states.view(*values.shape[:-2], -1, values.shape[-1])[..., :time, :]
