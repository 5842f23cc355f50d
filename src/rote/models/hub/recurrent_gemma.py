"""RecurrentGemmaForCausalLM: its RG-LRU as a cell; the convolution and the gates around it are followed.

a = exp(-8 softplus(p) sigmoid(W_r u + b_r));  h' = a * h + sqrt(1 - a^2) * (sigmoid(W_i u + b_i) * u)

The very first step is let in without the root. Blocks with attention see the last steps only.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V, repeated
from rote.cells.cell import Cell
from rote.cells.rg_lru import decay, written_share
from rote.models.hub.attention import grouped
from rote.models.traced.known_modules import known


class GemmaCell(Cell):
    """The RG-LRU of RecurrentGemma, without what stands before and behind it."""

    row_groups = ()
    gate_names = ("input", "forget", "scale")
    state_names = ("hidden", "begun")
    recurrent_matrix = False
    weight_input: Tensor
    weight_recurrence: Tensor
    bias_input: Tensor
    bias_recurrence: Tensor
    recurrent_param: Tensor

    def configure(self, heads: int = 1) -> None:
        self.heads = heads

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, 1

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        units = self.hidden_size
        return {
            **dict.fromkeys(("weight_input", "weight_recurrence"), (units, units // self.heads)),
            **dict.fromkeys(("bias_input", "bias_recurrence", "recurrent_param"), (units,)),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, begun = state
        u = a.scale(projected, 1.0)
        r = a.within_heads(u, self.weight_recurrence, self.heads) + a.constant(self.bias_recurrence)
        i = a.within_heads(u, self.weight_input, self.heads) + a.constant(self.bias_input)
        kept, rooted = a.apply(decay, r, self.recurrent_param), a.apply(written_share, r, self.recurrent_param)
        later = a.whole(a.arrange(begun, repeated(self.hidden_size)))
        scale = a.gate("scale", a.product(later, rooted) + (1 - later))
        written = a.product(scale, a.product(a.gate("input", a.sigmoid(i)), u))
        h = a.settle(a.product(a.gate("forget", kept), h) + written)
        return h, a.scale(begun, 0.0) + a.constant(self.recurrent_param[:1] * 0 + 1)


@known("transformers.models.recurrent_gemma.modeling_recurrent_gemma.RecurrentGemmaRglru")
def recurrent_gemma(lru: Any, model: Any) -> list[Cell]:
    units = len(lru.recurrent_param)
    weights = {
        "weight_input": lru.input_gate_weight.transpose(1, 2).reshape(units, -1).detach(),  # applied from the right
        "weight_recurrence": lru.recurrent_gate_weight.transpose(1, 2).reshape(units, -1).detach(),
        "bias_input": lru.input_gate_bias.flatten(),
        "bias_recurrence": lru.recurrent_gate_bias.flatten(),
        "recurrent_param": lru.recurrent_param,
    }
    return [GemmaCell(units, units, biases="none", weights=weights, heads=lru.num_attention_heads)]


@known("transformers.models.recurrent_gemma.modeling_recurrent_gemma.RecurrentGemmaAttention")
def local_attention(attention: Any, model: Any) -> list[Cell] | None:
    cell = grouped(attention, model, window=attention.sliding_window)
    return None if cell is None else [cell]
