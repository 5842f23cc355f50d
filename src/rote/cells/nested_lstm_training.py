"""Backpropagation through time for Nested LSTMs of two levels, written out.

Laid out as ``packed_steps`` says. The equations are those of ``rote.cells.NestedLSTMCell`` with depth 2:

i, f, o = sigmoid(p + V h), g = p + V h, not squashed;  x = i g,  y = f c
i1, f1, o1 = sigmoid(W [x, y] + b), g1 = tanh(the same);  d' = f1 d + i1 g1;  c' = o1 tanh(d');  h' = o tanh(c')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.cells.lstm_training import slopes
from rote.cells.packed_steps import before, bend, doubled, looked_up, one_and_two, pieces, table_gradient

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def run_nested_lstm(
    table: Float[Tensor, "entry rows"],
    entries: Int[Tensor, "replica token"],
    weight: Float[Tensor, "replica rows unit"],
    inner: Float[Tensor, "replica rows both"],
    bias: Float[Tensor, "replica rows"],
    start: Float[Tensor, "replica row unit"],
    sizes: Sequence[int],
) -> Float[Tensor, "replica token unit"]:
    """All hidden states. ``table``: the inputs' part of the outer gates, with the bias; ``entries``: which of its rows
    each token reads; ``inner`` and ``bias``: weights of the inner level on [x, y]; ``start``: every part of the state
    at the beginning. Gradients reach all of them."""
    return _nested_lstm(table, entries, weight, inner, bias, start, tuple(sizes))


class _NestedLSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        entries: Tensor,
        weight: Tensor,
        inner: Tensor,
        bias: Tensor,
        start: Tensor,
        sizes: tuple[int, ...],
    ) -> Tensor:
        units = start.shape[-1]
        outer_gates = looked_up(table, entries)
        inner_gates = doubled(bias, -1)[:, None].expand_as(outer_gates).contiguous()
        both = start.new_empty(*entries.shape, 2 * units)
        states, outer, deep, bent, deep_bent = (start.new_empty(*entries.shape, units) for _ in range(5))
        across, inward = weight.mT.contiguous(), doubled(inner, -2).mT.contiguous()
        parts = (outer_gates, inner_gates, both, states, outer, deep, bent, deep_bent)
        h, c, d = start, start, start
        numbers = one_and_two(start)
        for a, b, xy, h_now, c_now, d_now, bent_c, bent_d in zip(*(x.split(sizes, 1) for x in parts), strict=True):
            rows = a.shape[1]
            a.baddbmm_(h[:, :rows], across)
            i, f, g, o = a.chunk(4, -1)
            a[..., : 2 * units].sigmoid_()
            o.sigmoid_()
            torch.mul(i, g, out=xy[..., :units])
            torch.mul(f, c[:, :rows], out=xy[..., units:])
            b.baddbmm_(xy, inward)
            i, f, g, inner_o = b.sigmoid_().chunk(4, -1)
            d = torch.mul(f, d[:, :rows], out=d_now).addcmul_(i, g, value=2).sub_(i)  # f d + i (2 g - 1)
            c = torch.mul(inner_o, bend(d, bent_d, *numbers), out=c_now)
            h = torch.mul(o, bend(c, bent_c, *numbers), out=h_now)
        ctx.save_for_backward(entries, weight, inner, start, states)
        ctx.kept = (outer_gates, inner_gates, both, outer, deep, bent, deep_bent)
        ctx.sizes, ctx.entries = sizes, len(table)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        entries, weight, inner, start, states = ctx.saved_tensors
        outer_gates, inner_gates, both, outer, deep, bent, deep_bent = ctx.kept
        memories = (before(outer, start, ctx.sizes), before(deep, start, ctx.sizes))
        dh, dc, dd = (torch.zeros_like(start) for _ in range(3))
        for first, end, sizes in reversed(list(pieces(ctx.sizes, outer_gates))):
            now = slice(first, end)
            a, b = outer_gates[:, now], inner_gates[:, now]
            outer_slope, forget = _outer_slopes(a, memories[0][:, now], bent[:, now])
            deep_slope, deep_forget = slopes(b, memories[1][:, now], deep_bent[:, now])
            parts = (a, b, gradients[0][:, now], outer_slope, forget, deep_slope, deep_forget)
            for a_now, b_now, gradient, slope, f, slope_1, f_1 in reversed(
                list(zip(*(part.split(sizes, 1) for part in parts), strict=True))
            ):
                rows = a_now.shape[1]
                to_h, to_c, to_d = dh[:, :rows], dc[:, :rows], dd[:, :rows]
                to_h += gradient
                to_c.addcmul_(to_h, slope)
                to_d.addcmul_(to_c, slope_1)
                by_gate = b_now.unflatten(-1, (4, -1))
                by_gate[:, :, :3].mul_(to_d[:, :, None])
                by_gate[:, :, 3].mul_(to_c)
                to_d.mul_(f_1)
                d_x, d_y = torch.bmm(b_now, inner).chunk(2, -1)
                i, forgetting, g, o = a_now.chunk(4, -1)
                i.mul_(d_x)
                g.mul_(d_x)
                forgetting.mul_(d_y)
                o.mul_(to_h)
                torch.mul(d_y, f, out=to_c)
                torch.bmm(a_now, weight, out=to_h)
        d_table = table_gradient(outer_gates, entries, ctx.entries)
        d_weight = torch.bmm(outer_gates.mT, before(states, start, ctx.sizes))
        d_inner, d_bias = torch.bmm(inner_gates.mT, both), inner_gates.sum(1)
        return d_table, None, d_weight, d_inner, d_bias, dh + dc + dd, None


_nested_lstm: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, tuple[int, ...]], Tensor] = _NestedLSTM.apply


def _outer_slopes(gates: Tensor, memory: Tensor, bent: Tensor) -> tuple[Tensor, Tensor]:
    """Everything in the derivatives that does not go from step to step, for several steps at once. Gates become their
    own derivatives before they are squashed: input and candidate by x, forget by y, output by h. Returns the
    derivatives of h by the new c and of y by the old c."""
    i, f, g, o = gates.chunk(4, -1)
    entering, forget = i.clone(), f.clone()
    slope = torch.addcmul(gates.new_ones(()), bent, bent, value=-1).mul_(o)  # tanh' = 1 - t t
    i.addcmul_(i, i, value=-1).mul_(g)  # sigmoid' = s (1 - s)
    f.addcmul_(f, f, value=-1).mul_(memory)
    g.copy_(entering)
    o.addcmul_(o, o, value=-1).mul_(bent)
    return slope, forget
