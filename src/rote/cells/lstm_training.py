"""Backpropagation through time for many LSTMs on rows of different lengths, written out.

Rows are sorted, the longest first, and each step computes those that have not ended: of a padded batch of SCAN more
than two thirds would be padding. Steps follow each other in one array, [replica, token, unit] with ``sizes[t]`` tokens
in step t, so that the gradient of a weight is one product over all steps. tanh(x) is computed as 2 sigmoid(2 x) - 1,
for which torch has the faster kernel. The equations are those of ``rote.cells.LSTMCell``; tested against nn.LSTM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def run_lstm(
    table: Float[Tensor, "entry rows"],
    entries: Int[Tensor, "replica token"],
    weight: Float[Tensor, "replica rows unit"],
    hidden: Float[Tensor, "replica row unit"],
    cell: Float[Tensor, "replica row unit"],
    sizes: Sequence[int],
) -> Float[Tensor, "replica token unit"]:
    """All hidden states. ``table``: the inputs' part of the gates, with the bias; ``entries``: which of its rows each
    token reads. Gradients reach the table, the weight and the state at the beginning."""
    states: Tensor = _LSTM.apply(table, entries, weight, hidden, cell, tuple(sizes))  # type: ignore[no-untyped-call]
    return states


def steps(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first token of each step and the one behind its last."""
    first = 0
    for size in sizes:
        yield first, first + size
        first += size


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, entries: Tensor, weight: Tensor, hidden: Tensor, cell: Tensor, sizes: tuple[int, ...]
    ) -> Tensor:
        gates = table.index_select(0, entries.flatten()).view(*entries.shape, -1)
        states, before, memory, bent = (hidden.new_empty(*entries.shape, hidden.shape[-1]) for _ in range(4))
        across, h, c = weight.mT.contiguous(), hidden, cell
        for first, end in steps(sizes):
            now, rows = gates[:, first:end], end - first
            h_before = before[:, first:end].copy_(h[:, :rows])
            now.baddbmm_(h_before, across)
            i, f, g, o = now.chunk(4, dim=-1)
            g.mul_(2)
            now.sigmoid_()
            g.mul_(2).sub_(1)
            c = torch.mul(f, c[:, :rows], out=memory[:, first:end]).addcmul_(i, g)
            squashed = torch.mul(c, 2, out=bent[:, first:end]).sigmoid_().mul_(2).sub_(1)
            h = torch.mul(o, squashed, out=states[:, first:end])
        ctx.save_for_backward(entries, weight, cell)
        ctx.kept, ctx.sizes, ctx.entries = (gates, before, memory, bent), sizes, len(table)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        entries, weight, cell = ctx.saved_tensors
        gates, before, memory, bent = ctx.kept
        replicas, rows, size = cell.shape
        dh, dc = torch.zeros_like(cell), torch.zeros_like(cell)
        changes, slopes, one = cell.new_empty(replicas, rows, 4 * size), torch.empty_like(cell), cell.new_ones(())
        ends = list(steps(ctx.sizes))
        for t in reversed(range(len(ends))):
            first, end = ends[t]
            rows = end - first
            now, flat, slope = gates[:, first:end], bent[:, first:end], slopes[:, :rows]
            dh_now, dc_now, change = dh[:, :rows], dc[:, :rows], changes[:, :rows]
            c_before = memory[:, ends[t - 1][0] : ends[t - 1][0] + rows] if t else cell[:, :rows]
            i, f, g, o = now.chunk(4, dim=-1)
            by_gate = change.view(replicas, rows, 4, size)
            d_i, d_f, d_g, d_o = by_gate.unbind(2)
            dh_now += gradients[0][:, first:end]
            dc_now.addcmul_(dh_now, torch.addcmul(one, flat, flat, value=-1, out=slope).mul_(o))
            torch.addcmul(now, now, now, value=-1, out=change)  # sigmoid' = s (1 - s)
            torch.addcmul(one, g, g, value=-1, out=d_g).mul_(i)  # tanh' = 1 - g g
            d_i.mul_(g)
            d_f.mul_(c_before)
            d_o.mul_(flat).mul_(dh_now)
            by_gate[:, :, :3].mul_(dc_now[:, :, None])
            dc_now.mul_(f)
            now.copy_(change)  # the gates are not needed any more: their place takes their gradients
            torch.bmm(now, weight, out=dh_now)
        d_weight = torch.bmm(gates.mT, before)
        d_table = torch.ops.aten.embedding_dense_backward(
            gates.flatten(0, 1), entries.flatten(), ctx.entries, -1, False
        )
        return d_table, None, d_weight, dh, dc, None
