"""The deep averaging network (Iyyer et al. 2015): the lecture's "previous classifier", which knows no order.

Embeddings of the words are averaged, then hidden layers with ReLU, then a linear readout. Word dropout leaves words out
of the average, as published.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from rote.cells import mask_of
from rote.models.initialization import drawn_from
from rote.models.settings import TextModelConfig
from rote.models.text import all_steps, check_lengths, embedding_table

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class WordAverage(nn.Module):
    """Takes the sizes, the layers and the dropout of ``config``; it has no recurrent cell."""

    def __init__(
        self, words: int, outputs: int, config: TextModelConfig, seed: int = 0, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.config = config
        with drawn_from(seed):
            self.embedding = embedding_table(words, config.embedding)
            sizes = [config.embedding, *[config.hidden] * config.layers]
            self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
            self.readout = nn.Linear(sizes[-1], outputs)
        self.to(dtype)

    def forward(
        self, tokens: Int[Tensor, "batch time"], *, lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch output"]:
        """What is said of each row as a whole; without ``lengths`` all of its steps are words."""
        return self.classify(tokens, lengths=all_steps(tokens) if lengths is None else lengths)

    def classify(
        self, tokens: Int[Tensor, "batch time"], *, lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch output"]:
        check_lengths(lengths, tokens)
        kept = mask_of(lengths.to(tokens.device), tokens.shape[1])
        if self.training and self.config.word_dropout:
            chance = torch.rand(kept.shape, device=kept.device)
            # A row always keeps a word: the one that was nearest to being kept.
            best = chance.masked_fill(~kept, -1).argmax(1, keepdim=True)
            kept = (kept & (chance >= self.config.word_dropout)).scatter(1, best, True)
        vectors = dropout(self.embedding(tokens), self.config.embedding_dropout, self.training)
        values = (vectors * kept[..., None]).sum(1) / kept.sum(1, keepdim=True)
        for layer in self.hidden:
            values = torch.relu(layer(values))
        logits: Tensor = self.readout(dropout(values, self.config.output_dropout, self.training))
        return logits
