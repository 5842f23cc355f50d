"""The autocomplete model of source 003: characters in, the word that is being typed out.

Embedding of 27 characters and a row of zeros for padding, layers of one cell, a dense layer over the vocabulary. Cells
are TensorFlow's: one bias vector, Glorot's initialization of the matrix that acts on [x, h] together, the GRU with the
reset gate before the product and its gates' biases at 1, the forget gates' biases at 1 (TensorFlow adds that 1 in the
step; as a bias it is trained alike). No dropout; every observation begins with a zero state.

It is a ``SequenceModel``: every analysis takes it as it is. Training has its own way through the layers, which computes
nothing for padding and makes one product for each weight's gradient over all steps (``rote.models.packed_pairs``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from rote.cells import Cell, Initialization, Recurrent
from rote.cells.stacked import with_weights
from rote.errors import UsageError, did_you_mean
from rote.models.initialization import drawn_from
from rote.models.many_words import words_loss
from rote.models.packed_pairs import Packing, run_ragged
from rote.models.sampled_softmax import sampled_loss
from rote.models.sequence import SequenceModel
from rote.models.settings import AutocompleteConfig
from rote.tasks.alphabet import CHARACTERS, END, Outside, decode, encode
from rote.tasks.autocomplete import UNKNOWN, Batch

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True)
class PackedStates:
    """The top layer at every character of a batch, step by step; characters after the end of a row are left out."""

    hidden: Float[Tensor, "token unit"]
    targets: Int[Tensor, " token"]
    packing: Packing


class AutocompleteModel(SequenceModel):
    """``vocabulary``: names of the outputs, "<eos>" and "<unknown>" first. A seed gives the same network always."""

    embedding: nn.Embedding
    readout: nn.Linear

    def __init__(
        self,
        config: AutocompleteConfig,
        vocabulary: Sequence[str],
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if len(vocabulary) <= UNKNOWN + 1:
            raise UsageError(f"'vocabulary' must hold words after {UNKNOWN + 1} other outputs. Got {list(vocabulary)}.")
        super().__init__(*_start(config, len(vocabulary), seed))
        self.config, self.vocabulary = config, tuple(vocabulary)
        self._outputs = {word: index for index, word in enumerate(self.vocabulary)}
        self.to(dtype)

    def parameter_counts(self) -> dict[str, int]:
        """As the source counts: without the row of zeros."""
        size = self.embedding.embedding_dim
        counts = {"embedding": self.embedding.weight.numel() - size}
        for name, part in (("recurrent", self.recurrent), ("dense", self.readout)):
            counts[name] = sum(weight.numel() for weight in part.parameters())
        return counts

    def encode(self, text: str, outside: Outside = "warn", limit: int | None = None) -> Int[Tensor, "1 time"]:
        """What the model reads for a text, a space before its first word."""
        return torch.from_numpy(encode(text, outside, limit))[None].to(self.readout.weight.device)

    def shown(self, text: str) -> str:
        """The text with one character for each step of ``encode``."""
        return text if text.startswith(" ") else f" {text}"

    def word(self, word: str) -> int:
        """The output that stands for a word; one that is not in the vocabulary is refused."""
        found = self._outputs.get(word)
        if found is None:
            words = self.vocabulary[UNKNOWN + 1 :]
            hint = did_you_mean(word, words) or "They are in model.vocabulary."
            raise UsageError(f"The word {word!r} is not among the {len(words)} words of the model's vocabulary. {hint}")
        return found

    def targets(self, text: str) -> Int[Tensor, "1 time"]:
        """For every character of ``encode(text)`` the word that it belongs to, as in training."""
        words = decode(encode(text).tolist()).removeprefix(" ").split(" ")
        found = [self._outputs.get(word, UNKNOWN) for word in words for _ in f" {word}"]
        return torch.tensor(found, device=self.readout.weight.device)[None]

    def packed_states(self, batch: Batch) -> PackedStates:
        """The top layer's hidden states, each row from a zero state, for training and for measuring."""
        tokens, targets, packing = packed([batch], self.readout.weight.device)
        # An axis for one replica. A copy: of a view the arithmetic of stacks would take what it is a view of.
        stacked = [with_weights(cell, lambda _, weight: weight[None].clone()) for cell in self.recurrent.all_cells()]
        hidden = run_layers(stacked, self.embedding.weight[None], tokens, packing.sizes)
        return PackedStates(hidden[0], targets[0], packing)

    def loss(self, batch: Batch, samples: int = 0, frequencies: Tensor | None = None) -> Float[Tensor, ""]:
        """Mean cross entropy over the characters of words that are in the vocabulary, in nats. With ``samples`` among
        so many words, drawn by the ``frequencies`` of the outputs, instead of all."""
        states, readout = self.packed_states(batch), self.readout
        return loss_of_words(states.hidden, readout.weight, readout.bias, states.targets, samples, frequencies)


def packed(
    batches: Sequence[Batch], device: torch.device
) -> tuple[Int[Tensor, "replica token"], Int[Tensor, "replica token"], Packing]:
    """Characters and targets of one batch for each replica, of as many rows. Where the lengths of their rows differ,
    some characters behind an end are computed, whose targets count nowhere."""
    packing = Packing.of(np.stack([batch.lengths for batch in batches]))
    longest = len(packing.sizes)
    tokens, targets = (
        np.stack([np.pad(part, ((0, 0), (0, longest - part.shape[1]))) for part in parts])
        for parts in zip(*((batch.tokens, batch.targets) for batch in batches), strict=True)
    )
    characters, words = (torch.from_numpy(packing.pack(part)).to(device) for part in (tokens, targets))
    return characters, words, packing


def run_layers(
    stacked: Sequence[Cell],
    symbols: Float[Tensor, "replica symbol size"],
    tokens: Int[Tensor, "replica token"],
    sizes: Sequence[int],
) -> Float[Tensor, "replica token unit"]:
    """What the top one of these layers of stacked cells gives for each token, from zero states."""
    for cell in stacked:
        symbols = run_ragged(cell, symbols, tokens, sizes)
        tokens = torch.arange(symbols.shape[1], device=symbols.device).expand(len(symbols), -1)
    return symbols


def loss_of_words(
    hidden: Float[Tensor, "token unit"],
    weight: Float[Tensor, "word unit"],
    bias: Float[Tensor, " word"],
    targets: Int[Tensor, " token"],
    samples: int = 0,
    frequencies: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Float[Tensor, ""]:
    """See ``AutocompleteModel.loss``; ``generator`` draws the words, or else torch's own."""
    counted = targets > UNKNOWN
    parts = (hidden[counted], weight, bias, targets[counted])
    if samples and frequencies is not None:
        return sampled_loss(*parts, frequencies, samples, generator)
    return words_loss(*parts)


def _start(config: AutocompleteConfig, outputs: int, seed: int) -> tuple[Recurrent, nn.Embedding, nn.Linear]:
    own: dict[str, dict[str, Any]] = {"gru": {"reset": "before"}, "nested_lstm": {"depth": config.depth}}
    units, options = config.units, own.get(config.cell, {})
    scheme = Initialization("glorot", forget_bias=1.0, gate_bias=1.0)
    with drawn_from(seed):
        recurrent = Recurrent(
            config.cell, units, units, layers=config.layers, biases="one", initialization=scheme, **options
        )
        embedding = nn.Embedding(len(CHARACTERS), units, padding_idx=END)
        readout = nn.Linear(units, outputs)
        limit = math.sqrt(1 / (len(CHARACTERS) - 1))
        nn.init.uniform_(embedding.weight, -limit, limit)
        nn.init.xavier_uniform_(readout.weight)
    with torch.no_grad():
        embedding.weight[END] = 0
        readout.bias.zero_()
    return recurrent, embedding, readout
