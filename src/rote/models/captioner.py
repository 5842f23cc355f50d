"""Networks that describe images, many at once: source 004, "one to many", and what a fixed-size output can do instead.

recurrent    a layer of units reads the image and makes the first state of a recurrent network, which says words
places       the same layers, then one softmax over all words for every place of a caption, all at once
whole        the same layers, then one softmax over all captions
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.cells.stacked import with_equal_states
from rote.models.language_model import StackedLanguageModel
from rote.models.mlp import StackedMLP
from rote.models.settings import CaptionerConfig, LanguageModelConfig, MLPConfig

if TYPE_CHECKING:
    from jaxtyping import Float, Int

LIMIT = 0.5  # embedding and readout start uniformly in [-LIMIT, LIMIT]


class StackedCaptioner(nn.Module):
    """One network per seed. Captions begin behind symbol 0, which also ends them."""

    def __init__(
        self, pixels: int, words: int, config: CaptionerConfig, seeds: Sequence[int], dtype: torch.dtype
    ) -> None:
        super().__init__()
        encoder = MLPConfig(hidden=config.encoder, layers=1)
        self.encoder = StackedMLP(pixels, config.hidden, encoder, seeds, dtype)
        sizes = LanguageModelConfig(config.cell, config.embedding, config.hidden, LIMIT)
        self.decoder = StackedLanguageModel(words, sizes, seeds, dtype)
        with_equal_states(self.decoder.cell)

    def forward(
        self, images: Float[Tensor, "replica image pixel"], words: Int[Tensor, "replica image time"]
    ) -> Float[Tensor, "replica image time word"]:
        """Logits of the word after each."""
        logits: Tensor = self.decoder(words, self._begin(images))[0]
        return logits

    @torch.no_grad()
    def say(self, images: Float[Tensor, "replica image pixel"], longest: int) -> Int[Tensor, "replica image time"]:
        """The most probable word, one after the other."""
        state, word = self._begin(images), torch.zeros(images.shape[:2], dtype=torch.long, device=images.device)
        said = []
        for _ in range(longest):
            logits, state = self.decoder(word[..., None], state)
            word = logits[:, :, 0].argmax(-1)
            said.append(word)
        return torch.stack(said, 2)

    def _begin(self, images: Tensor) -> tuple[Tensor, ...]:
        first = torch.tanh(self.encoder(images))
        return (first,) * len(self.decoder.cell.state_names)


def fixed_output(
    pixels: int, outputs: int, config: CaptionerConfig, seeds: Sequence[int], dtype: torch.dtype
) -> StackedMLP:
    """As many units in two layers, and a readout of fixed size."""
    sizes = MLPConfig(hidden=config.hidden, activation="relu")
    return StackedMLP(pixels, outputs, sizes, seeds, dtype, hidden=(config.encoder, config.hidden))
