"""The feed-forward language model (Bengio et al. 2003): the lecture's "previous LM", which sees the last few words.

The embeddings of the last words, one behind the other, then a hidden layer with tanh, then a linear readout. Before the
first word of a sentence stands padding, whose vector is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, pad

from rote.cells import mask_of
from rote.models.initialization import drawn_from
from rote.models.settings import TextModelConfig
from rote.models.text import PADDING, check_lengths, embedding_table

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class WindowModel(nn.Module):
    """Takes the sizes and the dropout of ``config``, not its cell and layers. ``window``: words that it sees."""

    def __init__(
        self, words: int, outputs: int, config: TextModelConfig, seed: int = 0, dtype: torch.dtype = torch.float32,
        window: int = 3,
    ) -> None:  # fmt: skip
        super().__init__()
        self.config, self.window = config, window
        with drawn_from(seed):
            self.embedding = embedding_table(words, config.embedding)
            self.hidden = nn.Linear(window * config.embedding, config.hidden)
            self.readout = nn.Linear(config.hidden, outputs)
        self.to(dtype)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time output"]:
        """What is said at every step of rows that are all words."""
        before = pad(self.embedding(tokens), (0, 0, self.window - 1, 0))  # the vector of padding is 0
        return self._read(before.unfold(1, self.window, 1).transpose(2, 3))

    def at_words(
        self, tokens: Int[Tensor, "batch time"], *, lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "word output"]:
        """What is said at every real step, row after row."""
        check_lengths(lengths, tokens)
        seen = pad(tokens, (self.window - 1, 0), value=PADDING).unfold(1, self.window, 1)  # [batch, time, window]
        seen = seen[mask_of(lengths.to(tokens.device), tokens.shape[1])]
        return self._read(self.embedding(seen))

    def _read(self, seen: Float[Tensor, "*place window size"]) -> Float[Tensor, "*place output"]:
        vectors = dropout(seen, self.config.embedding_dropout, self.training).flatten(-2)
        values = torch.tanh(self.hidden(vectors))
        logits: Tensor = self.readout(dropout(values, self.config.output_dropout, self.training))
        return logits
