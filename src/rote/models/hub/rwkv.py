"""RwkvForCausalLM: its time mixing is ``RWKV4Cell``, with the same weights; all else is followed."""

from __future__ import annotations

from typing import Any

from rote.cells.cell import Cell
from rote.cells.rwkv4 import MIXED, RWKV4Cell
from rote.errors import UsageError
from rote.models.traced.known_modules import known, trap


@known("transformers.models.rwkv.modeling_rwkv.RwkvSelfAttention")
def rwkv(mixing: Any, model: Any) -> list[Cell] | None:
    size = mixing.config.hidden_size
    if mixing.attention_hidden_size != size:
        return None
    weights = {f"weight_{name}": getattr(mixing, name).weight for name in MIXED}
    weights |= {f"mix_{name}": getattr(mixing, f"time_mix_{name}")[0, 0] for name in MIXED}
    weights |= {"weight_out": mixing.output.weight, "time_decay": mixing.time_decay, "time_first": mixing.time_first}
    return [RWKV4Cell(size, size, weights=weights)]


@trap("transformers.models.rwkv.modeling_rwkv.RwkvModel")
def rescaling(model: Any) -> None:
    """The first call in eval mode divides weights of later blocks in place, which would change the user's model."""
    every = model.config.rescale_every
    if 0 < every < len(model.blocks) and model.layers_are_rescaled:
        raise UsageError(
            f"RWKV has divided its weights in place when it was first called (rescale_every={every}). Load it again, "
            "and set model.config.rescale_every = 0 before it is called: it is meant for half precision only."
        )
    if 0 < every <= len(model.blocks):
        raise UsageError(
            f"RWKV divides its weights in place when it is first called (rescale_every={every}). Set "
            "model.config.rescale_every = 0 before that: it is meant for half precision only."
        )
