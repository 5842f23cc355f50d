"""Backpropagation through time for GRUs whose reset gate comes before the product, written out.

Laid out as ``packed_steps`` says. The equations are those of ``rote.cells.GRUCell`` with reset="before":

r, z = sigmoid(p + V h);  n = tanh(p + V (r h));  h' = n + z (h - n)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.cells.packed_steps import before, doubled, looked_up, one_and_two, pieces, table_gradient

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
        h = hidden
        gates, candidates = values.split((2 * units, units), -1)
        parts = (gates, candidates, kept, states)
        one, two = one_and_two(hidden)
        for gate, n, rh, h_now in zip(*(part.split(sizes, 1) for part in parts), strict=True):
            h = h[:, : gate.shape[1]]
            torch.sigmoid_(gate.baddbmm_(h, to_gates))
            r, z = gate.chunk(2, -1)
            torch.mul(r, h, out=rh)
            n.baddbmm_(rh, to_candidate).sigmoid_().mul_(two).sub_(one)
            h = torch.lerp(n, h, z, out=h_now)
        ctx.save_for_backward(entries, weight, hidden, states)
        ctx.kept, ctx.sizes, ctx.entries = (values, kept), sizes, len(table)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        entries, weight, hidden, states = ctx.saved_tensors
        values, kept = ctx.kept
        units = hidden.shape[-1]
        from_gates, from_candidate = weight[:, : 2 * units], weight[:, 2 * units :]
        earlier, dh = before(states, hidden, ctx.sizes), torch.zeros_like(hidden)
        for first, end, sizes in reversed(list(pieces(ctx.sizes, values))):
            changes = values[:, first:end]
            reset, update = _slopes(changes, earlier[:, first:end])
            gates, candidates = changes.split((2 * units, units), -1)
            parts = (gates, candidates, reset, update, gradients[0][:, first:end])
            steps = list(zip(*(part.split(sizes, 1) for part in parts), strict=True))
            for gate, n, r, z, gradient in reversed(steps):
                now = dh[:, : gate.shape[1]]
                now += gradient
                n.mul_(now)
                by_reset, by_update = gate.chunk(2, -1)
                by_update.mul_(now)
                inner = torch.bmm(n, from_candidate)
                by_reset.mul_(inner)
                now.mul_(z).addcmul_(inner, r)
                now.baddbmm_(gate, from_gates)
        d_weight = torch.cat(
            [torch.bmm(values[..., : 2 * units].mT, earlier), torch.bmm(values[..., 2 * units :].mT, kept)], 1
        )
        return table_gradient(values, entries, ctx.entries), None, d_weight, dh, None


_gru: Callable[[Tensor, Tensor, Tensor, Tensor, tuple[int, ...]], Tensor] = _GRU.apply


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
