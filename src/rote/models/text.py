"""Classifiers, taggers and language models of text: embedding, any recurrent cell, linear readout (source 004).

Any number of layers, one or both directions, padded batches with their lengths. A classifier reads the true last
state: of the forward direction the one at the row's own end, of the backward direction the one at its beginning. Every
analysis takes the model as it is; what it shows of a classifier at a step is what it would say if the text ended there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from rote.cells import Recurrent, mask_of
from rote.cells.recurrent import States
from rote.errors import UsageError
from rote.models.initialization import drawn_from
from rote.models.sequence import SequenceModel
from rote.models.settings import TextModelConfig

if TYPE_CHECKING:
    from jaxtyping import Float, Int

PADDING, UNKNOWN = 0, 1  # rows of the embedding that are no words
LIMIT = 0.1  # embeddings start uniformly in [-LIMIT, LIMIT]; cells and readout as in torch


class TextModel(SequenceModel):
    """``words``: of the vocabulary, with padding and unknown. ``outputs``: classes, tags, or words again."""

    def __init__(
        self, words: int, outputs: int, config: TextModelConfig, seed: int = 0, dtype: torch.dtype = torch.float32
    ) -> None:
        with drawn_from(seed):
            table = embedding_table(words, config.embedding)
            recurrent = Recurrent(
                config.cell, config.embedding, config.hidden, layers=config.layers, dropout=config.layer_dropout,
                bidirectional=config.bidirectional,
            )  # fmt: skip
            super().__init__(recurrent, table, nn.Linear(recurrent.output_size, outputs))
        self.config = config
        self.to(dtype)

    def forward(
        self, inputs: Tensor, *, lengths: Tensor | None = None, initial: States | None = None
    ) -> Float[Tensor, "batch time output"]:
        """What is said at every step: tags, or the next word. After a row's end, the readout of nothing."""
        hidden, _ = self.states(inputs, lengths=lengths, initial=initial)
        return self.read(hidden)

    def classify(
        self, tokens: Int[Tensor, "batch time"], *, lengths: Tensor | None = None
    ) -> Float[Tensor, "batch output"]:
        """What is said of each row as a whole, from its true last state."""
        _, final = self.states(tokens, lengths=lengths)
        top = final[-self.recurrent.directions :]
        return self.read(torch.cat([state[0] for state in top], -1))

    def at_words(
        self, tokens: Int[Tensor, "batch time"], *, lengths: Int[Tensor, " batch"], packed: bool = True
    ) -> Float[Tensor, "word output"]:
        """What is said at every real step, row after row: nothing is read out at padded ones. ``packed=False`` runs
        over the padding as over words, as code that forgets the lengths does."""
        hidden, _ = self.states(tokens, lengths=lengths if packed else None)
        return self.read(hidden[mask_of(lengths.to(hidden.device), tokens.shape[1])])

    def states(
        self, tokens: Tensor, *, lengths: Tensor | None = None, initial: States | None = None
    ) -> tuple[Tensor, States]:
        """States of the top layer [batch, time, unit], and those at the end of every layer and direction."""
        if lengths is not None:
            check_lengths(lengths, tokens)
        if self.training and self.config.word_dropout:
            dropped = torch.rand(tokens.shape, device=tokens.device) < self.config.word_dropout
            tokens = tokens.masked_fill(dropped & (tokens != PADDING), UNKNOWN)
        vectors = dropout(self.embed(tokens), self.config.embedding_dropout, self.training)
        run: tuple[Tensor, States] = self.recurrent(vectors, lengths=lengths, initial=initial)
        return run

    def read(self, states: Float[Tensor, "... unit"]) -> Float[Tensor, "... output"]:
        assert self.readout is not None
        logits: Tensor = self.readout(dropout(states, self.config.output_dropout, self.training))
        return logits


def check_lengths(lengths: Tensor, tokens: Tensor) -> None:
    """torch packs rows that are longer than the batch without a word, and fails later, elsewhere."""
    if lengths.shape != tokens.shape[:1]:
        raise UsageError(f"'lengths' must be {len(tokens)} numbers, one per row. Got {tuple(lengths.shape)}.")
    wrong = lengths[(lengths < 1) | (lengths > tokens.shape[1])]
    if len(wrong):
        raise UsageError(f"'lengths' must lie in 1 to {tokens.shape[1]}, the steps of the batch. Got {int(wrong[0])}.")


def all_steps(tokens: Int[Tensor, "batch time"]) -> Int[Tensor, " batch"]:
    """The lengths of rows without padding."""
    return torch.full(tokens.shape[:1], tokens.shape[1], device=tokens.device)


def embedding_table(words: int, size: int) -> nn.Embedding:
    """Padding has the vector 0 and keeps it."""
    table = nn.Embedding(words, size, padding_idx=PADDING)
    with torch.no_grad():
        table.weight.uniform_(-LIMIT, LIMIT)
        table.weight[PADDING].zero_()
    return table
