"""GPT2LMHeadModel: its attention, whose weights are [input, output] there; its positions and all else are followed."""

from __future__ import annotations

from typing import Any

from rote.cells.cell import Cell
from rote.models.hub.attention import GroupedAttention
from rote.models.traced.known_modules import known


@known("transformers.models.gpt2.modeling_gpt2.GPT2Attention")
def gpt2(attention: Any, model: Any) -> list[Cell] | None:
    if attention.is_cross_attention:
        return None
    units, heads = attention.embed_dim, attention.num_heads
    names, inward, outward = ("query", "key", "value"), attention.c_attn, attention.c_proj
    weights = dict(zip((f"weight_{name}" for name in names), inward.weight.T.split(units), strict=True))
    weights |= dict(zip((f"bias_{name}" for name in names), inward.bias.split(units), strict=True))
    weights |= {"weight_out": outward.weight.T, "bias_out": outward.bias}
    sizes = {"heads": heads, "groups": heads, "size": attention.head_dim}
    biased = (*names, "out")
    return [
        GroupedAttention(units, units, biases="none", weights=weights, biased=biased, scale=attention.scaling, **sizes)
    ]
