"""Qwen3NextForCausalLM: its gated delta layers and its attention, behind a gate, where each MLP is one for all steps.

The delta layer is ``GatedDeltaCell`` with sizes of its own: value heads share keys and queries in groups, and the rows
of its projections stand together by key head: q, k, v and z, then b and a. Experts that a router chooses are not taken
apart.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Arrangement, Matrices, V, tiled
from rote.cells.cell import Cell
from rote.cells.convolution import past_names, pushed
from rote.cells.s6 import decay
from rote.models.hub.attention import grouped
from rote.models.traced.known_modules import known

EPS = 1e-6  # of the lengths of keys and queries


class QwenDeltaCell(Cell):
    """The gated delta rule with the very weights of Qwen3-Next's projections."""

    row_groups = ()
    gate_names = ("write", "forget")
    recurrent_matrix = False
    taken_whole = "keys, queries and gates"
    weight_qkvz: Tensor
    weight_ba: Tensor
    weight_conv: Tensor
    a_log: Tensor
    bias_step: Tensor
    norm_weight: Tensor
    weight_out: Tensor

    def configure(self, heads: int = 1, shared: int = 1, key: int = 1, value: int = 1, width: int = 4,
                  eps: float = 1e-6) -> None:  # fmt: skip
        """``heads``: of keys; ``shared``: how many heads of values have the same one; ``key``, ``value``: sizes of a
        head; ``eps``: of the norm of what is read."""
        self.heads, self.shared, self.width, self.eps = heads, shared, width, eps
        self.matrices = Matrices(heads * shared, key, value)
        self.sizes = [heads * key, heads * key, heads * shared * value]  # of q, k and v
        self.state_names = ("hidden", "memory", *past_names(width))
        self._qkvz = by_kind(heads, [key, key, shared * value, shared * value])
        self._ba = by_kind(heads, [shared, shared])

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, self.matrices.size, *(sum(self.sizes),) * (self.width - 1)

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        heads, inner = self.matrices.heads, self.sizes[-1]
        return {
            "weight_qkvz": (sum(self.sizes) + inner, self.input_size),
            "weight_ba": (2 * heads, self.input_size),
            "weight_conv": (sum(self.sizes), self.width),
            **dict.fromkeys(("a_log", "bias_step"), (heads,)),
            "norm_weight": (self.matrices.columns,),
            "weight_out": (self.hidden_size, inner),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory, *past = state
        shape, inner = self.matrices, self.sizes[-1]
        qkvz = a.arrange(a.linear(projected, self.weight_qkvz), self._qkvz)
        qkv, z = a.pieces(qkvz, [sum(self.sizes), inner])
        b, s = a.pieces(a.arrange(a.linear(projected, self.weight_ba), self._ba), [shape.heads] * 2)
        q, k, v = a.pieces(a.convolve(qkv, past, self.weight_conv), self.sizes)
        q, k = (a.norm(a.silu(a.whole(value)), shape.rows, EPS, "length") for value in (q, k))
        q, k = (a.arrange(value, tiled(self.shared, self.heads)) for value in (q, k))
        kept = a.gate("forget", a.apply(decay, a.whole(s) + a.constant(self.bias_step), self.a_log))
        share = a.gate("write", a.whole(a.sigmoid(b)))
        memory = a.settle(a.write(memory, kept, k, a.silu(v), shape, share=share))
        y = a.norm(a.read(a.scale(q, shape.rows**-0.5), memory, shape), shape.columns, self.eps)
        y = a.product(a.silu(a.readout_gate(z)), a.scale(y, tiled(shape.heads).forward(self.norm_weight)))
        return a.settle(a.linear(y, self.weight_out)), memory, *pushed(qkv, past)


def by_kind(heads: int, sizes: list[int]) -> Arrangement:
    """Rows that stand together by head, of several kinds in each, anew: those of the first kind of all heads, ..."""
    places = torch.arange(heads * sum(sizes)).view(heads, -1)
    order = torch.cat([kind.flatten() for kind in places.split(sizes, -1)])
    back = order.argsort()
    return Arrangement(lambda value: value[..., order], lambda value: value[..., back])


@known("transformers.models.qwen3_next.modeling_qwen3_next.Qwen3NextGatedDeltaNet")
def delta_layer(layer: Any, model: Any) -> list[Cell] | None:
    if layer.activation not in ("silu", "swish"):
        return None
    weights = {
        "weight_qkvz": layer.in_proj_qkvz.weight,
        "weight_ba": layer.in_proj_ba.weight,
        "weight_conv": layer.conv1d.weight[:, 0],
        "a_log": layer.A_log,
        "bias_step": layer.dt_bias,
        "norm_weight": layer.norm.weight,
        "weight_out": layer.out_proj.weight,
    }
    sizes = {"key": layer.head_k_dim, "value": layer.head_v_dim, "width": layer.conv_kernel_size}
    heads = {"heads": layer.num_k_heads, "shared": layer.num_v_heads // layer.num_k_heads}
    units = layer.hidden_size
    return [QwenDeltaCell(units, units, biases="none", weights=weights, eps=layer.layer_norm_epsilon, **sizes, **heads)]


@known("transformers.models.qwen3_next.modeling_qwen3_next.Qwen3NextAttention")
def attention_layer(attention: Any, model: Any) -> list[Cell] | None:
    cell = grouped(attention, model, gated=True, added=1.0)  # norms there multiply by 1 + weight
    return None if cell is None else [cell]
