"""Backpropagation through time for many LSTMs of one layer, written out: several times as fast as autograd's steps.

Only for training (``StackedLanguageModel``); the equations are those of ``rote.cells.LSTMCell``, and tested against it.
Arrays are [time, replica, batch, unit], so that a step is one piece of memory. The inputs' part of the gates is looked
up in a table with a row for each symbol: a vocabulary is often shorter than a batch of text.
tanh(x) is computed as 2 sigmoid(2 x) - 1, for which torch has the faster kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def run_lstm(
    table: Float[Tensor, "entry rows"],
    entries: Int[Tensor, "time replica batch"],
    weight: Float[Tensor, "replica rows unit"],
    hidden: Float[Tensor, "replica batch unit"],
    cell: Float[Tensor, "replica batch unit"],
) -> tuple[Float[Tensor, "time replica batch unit"], Float[Tensor, "replica batch unit"]]:
    """All hidden states and the last cell. ``table``: inputs' part of the gates, with both biases; ``entries``: which
    of its rows is read. The states at the ends are constants: no gradient reaches beyond this piece of a corpus."""
    states, end = _LSTM.apply(table, entries, weight, hidden, cell)  # type: ignore[no-untyped-call]
    return states, end


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, entries: Tensor, weight: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        gates = table.index_select(0, entries.flatten()).view(*entries.shape, -1)
        states, memory, bent = (table.new_empty(*entries.shape, hidden.shape[-1]) for _ in range(3))
        across, h, c = weight.mT.contiguous(), hidden, cell
        for now, h_now, c_now, bent_now in zip(gates, states, memory, bent, strict=True):
            now.baddbmm_(h, across)
            i, f, g, o = now.chunk(4, dim=-1)
            g.mul_(2)
            now.sigmoid_()
            g.mul_(2).sub_(1)
            c = torch.mul(f, c, out=c_now).addcmul_(i, g)
            torch.mul(c, 2, out=bent_now).sigmoid_().mul_(2).sub_(1)
            h = torch.mul(o, bent_now, out=h_now)
        ctx.save_for_backward(entries, weight, hidden, cell, states)
        ctx.entries, ctx.kept = len(table), (gates, memory, bent)
        end = c.clone()
        ctx.mark_non_differentiable(end)
        return states, end

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None, Tensor, None, None]:
        entries, weight, hidden, cell, states = ctx.saved_tensors
        gates, memory, bent = ctx.kept
        change, slope = torch.empty_like(gates[0]), torch.empty_like(hidden)
        by_gate = change.view(*hidden.shape[:2], 4, -1)
        d_i, d_f, d_g, d_o = by_gate.unbind(2)
        dh, dc, d_weight = (torch.zeros_like(value) for value in (hidden, cell, weight))
        one = weight.new_ones(())
        for t in reversed(range(len(gates))):
            now, (i, f, g, o) = gates[t], gates[t].chunk(4, dim=-1)
            dh += gradients[0][t]
            dc.addcmul_(dh, torch.addcmul(one, bent[t], bent[t], value=-1, out=slope).mul_(o))
            torch.addcmul(now, now, now, value=-1, out=change)  # sigmoid' = s (1 - s)
            torch.addcmul(one, g, g, value=-1, out=d_g).mul_(i)  # tanh' = 1 - g g
            d_i.mul_(g)
            d_f.mul_(memory[t - 1] if t else cell)
            d_o.mul_(bent[t]).mul_(dh)
            by_gate[:, :, :3].mul_(dc[:, :, None])
            dc.mul_(f)
            now.copy_(change)  # the gates are not needed any more: their place takes their gradients
            d_weight.baddbmm_(now.mT, states[t - 1] if t else hidden)
            dh = torch.bmm(now, weight, out=dh)
        d_table = weight.new_zeros(ctx.entries, gates.shape[-1])
        d_table.index_add_(0, entries.flatten(), gates.flatten(0, 2))
        return d_table, None, d_weight, None, None
