"""Backpropagation through time for GRUs whose reset gate comes before the product, written out.

Laid out as ``packed_steps`` says. The equations are those of ``rote.cells.GRUCell`` with reset="before":

r, z = sigmoid(p + V h);  n = tanh(p + V (r h));  h' = n + z (h - n)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.cells.packed_steps import (
    added,
    alone,
    before,
    doubled,
    looked_up,
    pieces,
    product,
    table_gradient,
    two_and_minus_one,
)

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def run_gru(
    table: Float[Tensor, "entry rows"],
    entries: Int[Tensor, "replica token"],
    weight: Float[Tensor, "replica rows unit"],
    hidden: Float[Tensor, "replica row unit"],
    sizes: Sequence[int],
) -> Float[Tensor, "replica token unit"]:
    """All hidden states. ``table``: the inputs' part of the gates, with the bias; ``entries``: which of its rows each
    token reads. Gradients reach the table, the weight and the state at the beginning."""
    return _gru(table, entries, weight, hidden, tuple(sizes))


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, entries: Tensor, weight: Tensor, hidden: Tensor, sizes: tuple[int, ...]
    ) -> Tensor:
        units = hidden.shape[-1]
        values = looked_up(doubled(table, -1, 3), entries)
        states, kept = (hidden.new_empty(*entries.shape, units) for _ in range(2))  # kept: r h
        across = doubled(weight, -2, 3).mT
        to_gates, to_candidate = across[..., : 2 * units].contiguous(), across[..., 2 * units :].contiguous()
        _, minus_one = two_and_minus_one(hidden)
        to_gates, to_candidate, h, *parts = alone(to_gates, to_candidate, hidden, *_by_part(values), kept, states)
        for gate, n, r, z, rh, h_now in zip(*(part.split(sizes, -2) for part in parts), strict=True):
            h = h if h.shape == rh.shape else h[..., : rh.shape[-2], :]
            added(gate, h, to_gates).sigmoid_()
            torch.mul(r, h, out=rh)
            added(n, rh, to_candidate).sigmoid_()
            h = torch.lerp(torch.add(minus_one, n, alpha=2, out=n), h, z, out=h_now)
        ctx.save_for_backward(entries, weight, hidden, states)
        ctx.kept, ctx.sizes, ctx.entries = (values, kept), sizes, len(table)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        entries, weight, hidden, states = ctx.saved_tensors
        values, kept = ctx.kept
        units = hidden.shape[-1]
        earlier, dh = before(states, hidden, ctx.sizes), torch.zeros_like(hidden)
        from_gates, from_candidate, change = alone(weight[:, : 2 * units], weight[:, 2 * units :], dh)
        for first, end, sizes in reversed(list(pieces(ctx.sizes, values))):
            changes = values[:, first:end]
            reset, update = _slopes(changes, earlier[:, first:end])
            parts = alone(*_by_part(changes), reset, update, gradients[0][:, first:end])
            steps = list(zip(*(part.split(sizes, -2) for part in parts), strict=True))
            for gate, n, by_reset, by_update, r, z, gradient in reversed(steps):
                now = change if change.shape == n.shape else change[..., : n.shape[-2], :]
                now.add_(gradient)
                n.mul_(now)
                by_update.mul_(now)
                inner = product(n, from_candidate)
                by_reset.mul_(inner)
                added(now.mul_(z).addcmul_(inner, r), gate, from_gates)
        d_weight = torch.cat(
            [torch.bmm(values[..., : 2 * units].mT, earlier), torch.bmm(values[..., 2 * units :].mT, kept)], 1
        )
        return table_gradient(values, entries, ctx.entries), None, d_weight, dh, None


_gru: Callable[[Tensor, Tensor, Tensor, Tensor, tuple[int, ...]], Tensor] = _GRU.apply


def _by_part(values: Tensor) -> tuple[Tensor, ...]:
    """Both gates together, the candidate, and either gate."""
    r, z, n = values.chunk(3, -1)
    return values[..., : 2 * r.shape[-1]], n, r, z


def _slopes(values: Tensor, earlier: Tensor) -> tuple[Tensor, Tensor]:
    """Everything in the derivatives that does not go from step to step, for several steps at once: the values become
    their own derivatives before they are squashed, by r h (reset) and by the new state (update, candidate). Returns
    copies of the reset and the update gates."""
    r, z, n = values.chunk(3, -1)
    reset, update = r.clone(), z.clone()
    r.addcmul_(r, r, value=-1).mul_(earlier)  # sigmoid' = s (1 - s)
    z.addcmul_(z, z, value=-1).mul_(earlier - n)
    torch.addcmul(n.new_ones(()), n, n, value=-1, out=n).mul_(1 - update)  # tanh' = 1 - n n
    return reset, update
