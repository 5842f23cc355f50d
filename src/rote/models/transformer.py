"""A small causal transformer that predicts the next symbol (Vaswani et al. 2017; norms first, as in GPT-2).

torch's own layers with learned positions. Its layers are no recurrent steps, so that it has its logits alone: what is
asked of it goes through its forward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.config import at_least, below_one
from rote.errors import SettingError, UsageError
from rote.models.architecture import Architecture, architectures, same_symbols
from rote.models.initialization import drawn_from

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@architectures.register("transformer")
@dataclass(frozen=True)
class TransformerConfig(Architecture):
    """Causal transformer: attention over all earlier symbols predicts the next one."""

    capabilities = ("logits",)
    width: int = 64  # of the vectors between layers
    layers: int = 2
    heads: int = 4  # of each layer's attention; they share the width
    feedforward: int = 256  # units between the two linear maps of a layer
    longest: int = 512  # positions that it knows
    dropout: float = 0.0

    def __post_init__(self) -> None:
        at_least(self, 1, "width", "layers", "heads", "feedforward", "longest")
        below_one(self, "dropout")
        if self.width % self.heads:
            raise SettingError("width", f"must be a multiple of the {self.heads} heads. Got {self.width}.")

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> TransformerLanguageModel:
        return TransformerLanguageModel(same_symbols(self, inputs, outputs), self, seed, dtype)


class TransformerLanguageModel(nn.Module):
    """Logits of the next symbol at every step, all of it drawn from its seed."""

    def __init__(
        self, symbols: int, config: TransformerConfig, seed: int = 0, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.config = config
        with drawn_from(seed):
            self.embedding = nn.Embedding(symbols, config.width)
            self.positions = nn.Parameter(0.02 * torch.randn(config.longest, config.width))
            # One by one: nn.TransformerEncoder would copy a single layer, and all would begin alike.
            self.layers = nn.ModuleList(
                nn.TransformerEncoderLayer(
                    config.width, config.heads, config.feedforward, config.dropout, batch_first=True, norm_first=True
                )
                for _ in range(config.layers)
            )
            self.norm = nn.LayerNorm(config.width)
            self.readout = nn.Linear(config.width, symbols)
        self.to(dtype)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time symbol"]:
        time = tokens.shape[1]
        if time > self.config.longest:
            raise UsageError(f"'tokens' must have at most {self.config.longest} steps ('longest'). Got {time}.")
        values = self.embedding(tokens) + self.positions[:time]
        later = torch.ones(time, time, dtype=torch.bool, device=tokens.device).triu(1)
        for layer in self.layers:
            values = layer(values, later, is_causal=True)
        logits: Tensor = self.readout(self.norm(values))
        return logits
