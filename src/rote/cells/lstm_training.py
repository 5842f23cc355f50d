"""Backpropagation through time for many LSTMs on rows of different lengths, written out.

Laid out as ``packed_steps`` says. The equations are those of ``rote.cells.LSTMCell``; tested against nn.LSTM. SCAN's
translator, the conduits' language models and the autocomplete models all train by this one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.cells.packed_steps import (
    add_product,
    beginning_with,
    begun,
    bend,
    doubled,
    looked_up,
    one_and_two,
    pieces,
    table_gradient,
)

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def run_lstm(
    table: Float[Tensor, "entry rows"],
    entries: Int[Tensor, "replica token"],
    weight: Float[Tensor, "replica rows unit"],
    hidden: Float[Tensor, "replica row unit"],
    cell: Float[Tensor, "replica row unit"],
    sizes: Sequence[int],
) -> tuple[Float[Tensor, "replica token unit"], Float[Tensor, "replica last unit"]]:
    """All hidden states, and the cell after the last step, of the rows that it has. ``table``: the inputs' part of the
    gates, with the bias; ``entries``: which of its rows each token reads. Gradients reach the table, the weight and the
    state at the beginning, from the hidden states: the cell at the end is a constant."""
    return _lstm(table, entries, weight, hidden, cell, tuple(sizes))


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, entries: Tensor, weight: Tensor, hidden: Tensor, cell: Tensor, sizes: tuple[int, ...]
    ) -> tuple[Tensor, Tensor]:
        gates = looked_up(doubled(table, -1), entries)
        bent = hidden.new_empty(*entries.shape, hidden.shape[-1])
        rooms = [beginning_with(first, entries.shape[1]) for first in (hidden, cell)]
        states, memory = (room[:, hidden.shape[1] :] for room in rooms)
        across, h, c = doubled(weight, -2).mT.contiguous(), hidden, cell
        numbers = one_and_two(hidden)
        for now, (i, f, g, o), h_now, c_now, bent_now in zip(
            gates.split(sizes, 1),
            zip(*(part.split(sizes, 1) for part in gates.chunk(4, -1)), strict=True),
            *(values.split(sizes, 1) for values in (states, memory, bent)),
            strict=True,
        ):
            rows = now.shape[1]
            add_product(now, h[:, :rows], across).sigmoid_()
            c = torch.mul(f, c[:, :rows], out=c_now).addcmul_(i, g, value=2).sub_(i)  # f c + i (2 g - 1)
            h = torch.mul(o, bend(c, bent_now, *numbers), out=h_now)
        ctx.save_for_backward(entries, weight)
        ctx.kept, ctx.sizes, ctx.entries = (gates, *rooms, bent), sizes, len(table)
        end = c.clone()
        ctx.mark_non_differentiable(end)
        return states, end

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        entries, weight = ctx.saved_tensors
        gates, states, memory, bent = ctx.kept
        earlier, rows = begun(memory, ctx.sizes), memory.shape[1] - gates.shape[1]
        dh, dc = (memory.new_zeros(len(memory), rows, memory.shape[2]) for _ in range(2))
        for first, end, sizes in reversed(list(pieces(ctx.sizes, gates))):
            changes = gates[:, first:end]
            slope_by_cell, forget = slopes(changes, earlier[:, first:end], bent[:, first:end])
            by_gate = changes.unflatten(-1, (4, -1))
            values = (changes, gradients[0][:, first:end], slope_by_cell, forget, by_gate[:, :, :3], by_gate[:, :, 3])
            parts = [value.split(sizes, 1) for value in values]
            for change, gradient, slope, f, by_cell, by_hidden in reversed(list(zip(*parts, strict=True))):
                dh_now, dc_now = dh[:, : change.shape[1]], dc[:, : change.shape[1]]
                dh_now += gradient
                dc_now.addcmul_(dh_now, slope)
                by_cell.mul_(dc_now[:, :, None])
                by_hidden.mul_(dh_now)
                dc_now.mul_(f)
                torch.bmm(change, weight, out=dh_now)
        d_weight = torch.bmm(gates.mT, begun(states, ctx.sizes))
        return table_gradient(gates, entries, ctx.entries), None, d_weight, dh, dc, None


_lstm: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, tuple[int, ...]], tuple[Tensor, Tensor]] = _LSTM.apply


def slopes(gates: Tensor, memory: Tensor, bent: Tensor) -> tuple[Tensor, Tensor]:
    """Everything in the derivatives that does not go from step to step, for several steps at once. Gates become their
    own derivatives before they are squashed, by the cell (input, forget, candidate) and by the hidden state (output).
    Returns those of the hidden state and of the cell by the cell."""
    i, f, g, o = gates.chunk(4, -1)
    g.mul_(2).sub_(1)  # the candidate itself
    one, entering, forget = gates.new_ones(()), i.clone(), f.clone()
    by_cell = torch.addcmul(one, bent, bent, value=-1).mul_(o)
    i.addcmul_(i, i, value=-1).mul_(g)  # sigmoid' = s (1 - s)
    f.addcmul_(f, f, value=-1).mul_(memory)
    torch.addcmul(one, g, g, value=-1, out=g).mul_(entering)  # tanh' = 1 - g g
    o.addcmul_(o, o, value=-1).mul_(bent)
    return by_cell, forget
