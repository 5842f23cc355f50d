"""A recurrent model as the analyses see it: an embedding, a stack of cells, a readout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.cells import Recurrent
from rote.cells.recurrent import States
from rote.errors import UsageError
from rote.models.readout import PerStep, as_readout, linear_part, read

if TYPE_CHECKING:
    from jaxtyping import Float


class SequenceModel(nn.Module):
    """Language models, taggers and classifiers over every step. Without embedding the inputs are vectors; without
    readout the outputs are the top layer's hidden states.

    - readout: an nn.Linear, a ``Readout`` behind a norm, or any module that acts on each step by itself.
    - embedding_scale: what every vector of the embedding is multiplied with, as in models whose embedding is tied.
    """

    readout: nn.Module | None  # nn.Linear or PerStep
    origin = ""  # of an adapted model: whether it was compared with the user's
    reads_on = True  # whether the states that a trace shows are all that a longer text needs to be read on from there

    def __init__(
        self,
        recurrent: Recurrent,
        embedding: nn.Embedding | None = None,
        readout: nn.Module | None = None,
        *,
        embedding_scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.embedding_scale = embedding_scale
        self.recurrent, self.embedding, self.readout = recurrent, embedding, as_readout(readout)
        wanted, linear = recurrent.cell(0).input_size, self.linear_readout
        if embedding is not None and embedding.embedding_dim != wanted:
            raise UsageError(
                f"'embedding' gives vectors of {embedding.embedding_dim}, but 'recurrent' takes inputs of {wanted}."
            )
        if linear is not None and linear.in_features != recurrent.output_size:
            raise UsageError(
                f"'readout' takes {linear.in_features} features, but 'recurrent' gives {recurrent.output_size}."
            )

    def forward(
        self, inputs: Tensor, *, lengths: Tensor | None = None, initial: States | None = None
    ) -> Float[Tensor, "batch time output"]:
        """Logits (or hidden states) for tokens [batch, time] or vectors [batch, time, input]."""
        hidden, _ = self.recurrent(self.embed(inputs), lengths=lengths, initial=initial)
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
        """As the model uses it, scaled; ``max_norm`` is applied to a copy, where torch would change the weights."""
        assert self.embedding is not None
        weight = self.embedding.weight
        if self.embedding.max_norm is not None:
            weight = torch.renorm(weight, self.embedding.norm_type, 0, self.embedding.max_norm)
        return weight if self.embedding_scale == 1.0 else weight * self.embedding_scale

    def read(self, hidden: Float[Tensor, "*place unit"]) -> Float[Tensor, "*place output"]:
        """Logits of states of the top layer (these themselves without a readout), as in eval mode."""
        return read(self.readout, hidden)

    @property
    def positioned(self) -> bool:
        """Whether steps are counted from the first one that is given."""
        return False

    @property
    def linear_readout(self) -> nn.Linear | None:
        """The readout if it is linear: an nn.Linear, by itself or beside dropout in an nn.Sequential."""
        return linear_part(self.readout)

    @property
    def output_size(self) -> int:
        """How many outputs there are at each step."""
        if self.readout is None:
            return self.recurrent.output_size
        if self.linear_readout is not None:
            return self.linear_readout.out_features
        with torch.no_grad():
            return self.read(self.zeros.new_zeros(1, self.recurrent.output_size)).shape[-1]

    @property
    def zeros(self) -> Float[Tensor, "1 unit"]:
        """In the model's dtype, on its device."""
        return self.recurrent.cell(0).zero_state(1)[0]

    def check_weights(self) -> None:
        """Refuse weights of more than one dtype or device."""
        like = self.zeros
        for name, weight in (*self.named_parameters(), *self.named_buffers()):
            if weight.is_floating_point() and (weight.dtype, weight.device) != (like.dtype, like.device):
                raise UsageError(
                    f"The weights of the model must agree in dtype and device. 'recurrent' has {like.dtype} on "
                    f"{like.device}, {name!r} {weight.dtype} on {weight.device}. Convert with module.to(...)."
                )

    def check_counted(self, tokens: Tensor, lengths: Tensor | None) -> None:
        """Refuse rows that end with padding and come without ``lengths``, if the model knows what padding is."""

    def __repr__(self) -> str:
        table, recurrent, readout = self.embedding, self.recurrent, self.readout
        lines = (
            [] if table is None else [f"embedding: {table.num_embeddings} symbols as vectors of {table.embedding_dim}"]
        )
        kinds = " and ".join(dict.fromkeys(type(cell).__name__ for cell in recurrent.all_cells()))
        many = f"{recurrent.layers} layer{'s' * (recurrent.layers > 1)} of {kinds}"
        ways = " in both directions" * (recurrent.directions == 2)
        lines.append(f"recurrent: {many}{ways}, {recurrent.cell(0).input_size} -> {recurrent.output_size}")
        if readout is not None:
            inner = readout.inner if isinstance(readout, PerStep) else readout
            lines.append(f"readout: {type(inner).__name__}, {recurrent.output_size} -> {self.output_size}")
        lines += [self.origin] if self.origin else []
        return "\n  ".join([f"{type(self).__name__}(", *lines]) + "\n)"


def linear_of(weight: Float[Tensor, "output unit"], bias: Float[Tensor, " output"]) -> nn.Linear:
    """A layer with copies of these; no random number is drawn for it."""
    made = nn.Linear(weight.shape[1], len(weight), device="meta")
    made.weight, made.bias = (
        nn.Parameter(part.detach().clone(memory_format=torch.contiguous_format)) for part in (weight, bias)
    )
    return made
