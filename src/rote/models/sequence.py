"""A recurrent model as the analyses see it: an embedding, a stack of cells, a linear readout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.cells import Recurrent, as_recurrent
from rote.cells.adapt import refuse_computed, refuse_own_forward
from rote.cells.recurrent import States
from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Float


class SequenceModel(nn.Module):
    """Language models, taggers and classifiers over every step. Without embedding the inputs are vectors; without
    readout the outputs are the top layer's hidden states."""

    def __init__(
        self, recurrent: Recurrent, embedding: nn.Embedding | None = None, readout: nn.Linear | None = None
    ) -> None:
        super().__init__()
        self.recurrent, self.embedding, self.readout = recurrent, embedding, readout
        wanted = recurrent.cell(0).input_size
        if embedding is not None and embedding.embedding_dim != wanted:
            raise UsageError(
                f"'embedding' gives vectors of {embedding.embedding_dim}, but 'recurrent' takes inputs of {wanted}."
            )
        if readout is not None and readout.in_features != recurrent.output_size:
            raise UsageError(
                f"'readout' takes {readout.in_features} features, but 'recurrent' gives {recurrent.output_size}."
            )

    def forward(
        self, inputs: Tensor, lengths: Tensor | None = None, initial: States | None = None
    ) -> Float[Tensor, "batch time output"]:
        """Logits (or hidden states) for tokens [batch, time] or vectors [batch, time, input]."""
        hidden, _ = self.recurrent(self.embed(inputs), lengths, initial)
        logits: Tensor = hidden if self.readout is None else self.readout(hidden)
        return logits

    def embed(self, inputs: Tensor) -> Float[Tensor, "batch time input"]:
        if self.embedding is None:
            return inputs
        options = self.embedding
        sparse = options.sparse and options.max_norm is None
        return nn.functional.embedding(
            inputs, self.embedding_matrix(), options.padding_idx,
            scale_grad_by_freq=options.scale_grad_by_freq, sparse=sparse,
        )  # fmt: skip

    def embedding_matrix(self) -> Float[Tensor, "vocabulary input"]:
        """As the embedding uses it; ``max_norm`` is applied to a copy, where torch would change the weights."""
        assert self.embedding is not None
        weight = self.embedding.weight
        if self.embedding.max_norm is not None:
            weight = torch.renorm(weight, self.embedding.norm_type, 0, self.embedding.max_norm)
        return weight


def linear_of(weight: Float[Tensor, "output unit"], bias: Float[Tensor, " output"]) -> nn.Linear:
    """A layer with copies of these; no random number is drawn for it."""
    made = nn.Linear(weight.shape[1], len(weight), device="meta")
    made.weight, made.bias = (nn.Parameter(part.detach().clone()) for part in (weight, bias))
    return made


def adapt(
    *, recurrent: nn.Module, embedding: nn.Embedding | None = None, readout: nn.Linear | None = None
) -> SequenceModel:
    """A user's modules as a model that every analysis takes. Shares their weights; changes nothing on them.

    - recurrent: an nn.RNN, nn.LSTM or nn.GRU as it is (layers, directions, with or without bias), or a
      ``rote.cells.Recurrent``.
    - embedding: without one the inputs are vectors [batch, time, input].
    - readout: without one the outputs are the top layer's hidden states.

    >>> import torch, rote
    >>> lstm, table = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Embedding(100, 8)
    >>> model = rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(16, 100))
    >>> rote.trace(model, torch.tensor([[1, 2, 3]])).logits.shape
    torch.Size([1, 3, 100])
    """
    if embedding is not None and not isinstance(embedding, nn.Embedding):
        raise UsageError(f"'embedding' must be an nn.Embedding or None. Got {type(embedding).__name__}.")
    if readout is not None and not isinstance(readout, nn.Linear):
        raise UsageError(f"'readout' must be an nn.Linear or None. Got {type(readout).__name__}.")
    if embedding is not None:
        refuse_own_forward("embedding", embedding, nn.Embedding, "Leave it out and give the vectors that it makes.")
        refuse_computed("embedding", {"weight": embedding.weight})
    if readout is not None:
        refuse_own_forward("readout", readout, nn.Linear, "Leave it out to look at the hidden states.")
        refuse_computed("readout", {"weight": readout.weight, "bias": readout.bias})
    return SequenceModel(as_recurrent(recurrent), embedding, readout)
