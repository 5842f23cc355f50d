"""LlamaForCausalLM and those whose attention is like its: queries and keys are turned by their position."""

from __future__ import annotations

from typing import Any

from rote.cells.cell import Cell
from rote.models.hub.attention import grouped
from rote.models.traced.known_modules import known


@known("transformers.models.llama.modeling_llama.LlamaAttention")
def llama(attention: Any, model: Any) -> list[Cell] | None:
    cell = grouped(attention, model)
    return None if cell is None else [cell]
