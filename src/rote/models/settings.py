"""The architectures of the studies: the keys ``model.*``, and how a network is built from them.

Apart from the models, so that reading a configuration does not import torch.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rote.config import REPEATS, UNSAID, at_least, below_one, not_empty
from rote.errors import SettingError, UnknownNameError, UsageError
from rote.models.architecture import EVERYTHING, Architecture, architectures, same_symbols
from rote.registry import Registry

if TYPE_CHECKING:
    import torch
    from torch import nn

Activation = Literal["relu", "tanh", "sigmoid", "linear"]
Attention = Literal["mlp", "dot", "general"]
AttentionPosition = Literal["pre", "post"]
READ: Registry[Any] = Registry("cell", "rote.cells")  # where nothing is imported: the names, read once from the sources


def known_cells(*names: str) -> None:
    """Refuse a cell that does not exist before anything is trained, and without importing torch."""
    if any(name not in _cells() for name in names):  # which imports plugins, and these the package
        for name in names:
            if name not in _cells():
                raise UnknownNameError("cell", name, _cells())


def _cells() -> Registry[Any]:
    # Those that a user has registered are known to the registry of the imported package only. Another thread may be in
    # the middle of importing it.
    registry: Registry[Any] = getattr(sys.modules.get("rote.cells"), "cells", READ)
    return registry


@architectures.register("mlp")
@dataclass(frozen=True)
class MLPConfig(Architecture):
    """Fully connected network: layers of units with one activation function, over vectors."""

    capabilities = ("logits",)
    reads = "vectors"
    hidden: int = 8  # units in each hidden layer
    layers: int = 3  # hidden layers
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden")
        at_least(self, 0, "layers")

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.mlp import StackedMLP

        return StackedMLP(inputs, outputs, self, [seed], dtype).replica(0)


@architectures.register("encoder_decoder")
@dataclass(frozen=True)
class EncoderDecoderConfig(Architecture):
    """Encoder and decoder with attention: reads one sequence and says another (source 002)."""

    capabilities = ()  # its forward pass needs what it is to say; its parts have everything
    reads = "pairs"
    cell: str = "gru"
    hidden: int = 512  # units of encoder and decoder, and size of the decoder's embedding
    embedding: int = 16  # size of the encoder's embedding
    attention: Attention = "mlp"
    position: AttentionPosition = "pre"  # attend before the decoder's step, with the old state, or after it
    full_focus: bool = True  # what is attended to is gated by the other input instead of standing beside it
    limit: float = 0.08  # every parameter starts uniformly between -limit and limit

    def __post_init__(self) -> None:
        known_cells(self.cell)
        at_least(self, 1, "hidden", "embedding")
        at_least(self, 0, "limit")

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.encoder_decoder import EncoderDecoder

        return EncoderDecoder(self, inputs, outputs, [seed], dtype)


@architectures.register("language_model")
@dataclass(frozen=True)
class LanguageModelConfig(Architecture):
    """Recurrent language model of one layer: embedding, any cell, linear readout."""

    capabilities = EVERYTHING
    cell: str = "lstm"
    embedding: int = 200
    hidden: int = 200
    limit: float = 0.1  # embedding and readout start uniformly in [-limit, limit], the readout's bias at 0
    cell_limit: float | None = None  # the same for the cell; None: torch's own, 1 / sqrt(hidden)
    dropout: float = 0.0  # of embedded inputs and of hidden states

    def __post_init__(self) -> None:
        known_cells(self.cell)
        at_least(self, 1, "embedding", "hidden")
        at_least(self, 0, "limit", "cell_limit")
        below_one(self, "dropout")

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.language_model import StackedLanguageModel

        if self.dropout:
            raise UsageError(
                f"'dropout' acts in StackedLanguageModel only, which the studies train. Got {self.dropout}. Build a "
                "TextModelConfig(embedding_dropout=..., output_dropout=...) instead."
            )
        symbols = same_symbols(self, inputs, outputs)
        return StackedLanguageModel(symbols, self, [seed], dtype).replica(0)


@architectures.register("autocomplete")
@dataclass(frozen=True)
class AutocompleteConfig(Architecture):
    """Characters in, the word that is being typed out (source 003)."""

    capabilities = EVERYTHING
    cell: str = "gru"
    units: int = 600  # of each layer, and size of the embedding
    layers: int = 2  # the source has 2 for GRU and LSTM, 1 for the Nested LSTM
    depth: int = field(default=2, metadata=UNSAID)  # of the Nested LSTM: memory cells inside each other

    def __post_init__(self) -> None:
        known_cells(self.cell)
        at_least(self, 1, "units", "layers", "depth")

    @property
    def matrices(self) -> int:
        """How many times all levels of all layers have the weights of one."""
        return self.layers * (self.depth if self.cell == "nested_lstm" else 1)

    def parameters(self, words: int) -> dict[str, int]:
        """How many an autocomplete model of the source's three cells has, as the source counts them: without the row of
        zeros for padding, and with two outputs beside the ``words``."""
        gates = {"gru": 3, "lstm": 4, "nested_lstm": 4}
        if self.cell not in gates:
            raise UnknownNameError("cell", self.cell, gates, " whose parameters are known without making a model")
        return {
            "embedding": 27 * self.units,
            "recurrent": self.matrices * gates[self.cell] * self.units * (2 * self.units + 1),
            "dense": (self.units + 1) * (words + 2),
        }

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.autocomplete import AutocompleteModel
        from rote.tasks.alphabet import CHARACTERS

        if inputs != len(CHARACTERS):
            raise UsageError(f"'inputs' must be the {len(CHARACTERS)} characters that it reads. Got {inputs}.")
        words = ["<eos>", "<unknown>", *(f"word {number}" for number in range(2, outputs))]
        return AutocompleteModel(self, words, seed, dtype)


@dataclass(frozen=True)
class SoftmaxConfig:
    """What a model over many words learns from. Evaluation is exact with either."""

    kind: Literal["exact", "sampled"] = "exact"
    samples: int = 1024  # sampled: words besides the target, drawn anew in every step

    def __post_init__(self) -> None:
        at_least(self, 1, "samples")

    def unused(self) -> dict[str, str]:
        return {} if self.kind == "sampled" else {"samples": "it belongs to kind=sampled."}


@architectures.register("cnn")
@dataclass(frozen=True)
class CNNConfig(Architecture):
    """Convolutional network for square gray images (source 001)."""

    capabilities = ("logits",)
    reads = "images"
    depths: tuple[int, ...] = field(default=(32, 64), metadata=REPEATS)  # of the convolutions
    hidden: int = 64  # units of the fully connected layer
    dropout: float = 0.0  # of what goes into the fully connected layer and comes out of it

    def __post_init__(self) -> None:
        at_least(self, 1, "depths", "hidden")
        not_empty(self, "depths")
        below_one(self, "dropout")

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.cnn import CNN

        return CNN((inputs, inputs), outputs, self, seed, dtype)


@architectures.register("translator")
@dataclass(frozen=True)
class TranslatorConfig(Architecture):
    """Bidirectional encoder, and a decoder with attention of Luong's kind (source 001)."""

    capabilities = ()  # it runs over pairs that are packed: rote.models.packed_pairs
    reads = "pairs"
    cell: str = "lstm"
    embedding: int = 32
    hidden: int = 16  # units of each encoder direction; the decoder has four times as many

    def __post_init__(self) -> None:
        known_cells(self.cell)
        at_least(self, 1, "embedding", "hidden")

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.translator import StackedTranslator

        return StackedTranslator(self, inputs, outputs, [seed], dtype)


@architectures.register("text")
@dataclass(frozen=True)
class TextModelConfig(Architecture):
    """Recurrent classifier, tagger or language model of text, of any depth, one or both directions."""

    capabilities = EVERYTHING
    cell: str = "lstm"
    embedding: int = 64
    hidden: int = 64  # units of each layer and direction
    layers: int = 1
    bidirectional: bool = False
    word_dropout: float = 0.0  # share of words that are read as unknown (averaging networks: left out)
    embedding_dropout: float = 0.0  # of the embedded words
    layer_dropout: float = 0.0  # of what goes from one layer to the next, as nn.LSTM(dropout=...)
    output_dropout: float = 0.0  # of the states that are read out

    def __post_init__(self) -> None:
        known_cells(self.cell)
        at_least(self, 1, "embedding", "hidden", "layers")
        below_one(self, "word_dropout", "embedding_dropout", "layer_dropout", "output_dropout")
        if self.layer_dropout and self.layers == 1:  # torch only warns, and drops nothing
            raise SettingError(
                "layer_dropout", f"acts between layers, and there is one. Got {self.layer_dropout}. Set layers=2, or "
                "embedding_dropout or output_dropout instead.",
            )  # fmt: skip

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.text import TextModel

        return TextModel(inputs, outputs, self, seed, dtype)


@architectures.register("word_average")
@dataclass(frozen=True)
class WordAverageConfig(TextModelConfig):
    """Deep averaging network: classifies the mean of the words' vectors, and knows no order."""

    capabilities = ("logits",)

    def unused(self) -> dict[str, str]:
        return dict.fromkeys(("cell", "bidirectional", "layer_dropout"), "an average of words has no recurrent layer.")

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.word_average import WordAverage

        return WordAverage(inputs, outputs, self, seed, dtype)


@dataclass(frozen=True)
class CaptionerConfig:
    """An image becomes the first state of a recurrent network, which then says words (source 004, "one to many")."""

    cell: str = "elman"
    encoder: int = 64  # units between the image and the state
    embedding: int = 32
    hidden: int = 64

    def __post_init__(self) -> None:
        known_cells(self.cell)
        at_least(self, 1, "encoder", "embedding", "hidden")


@dataclass(frozen=True)
class NeuralNGramConfig:
    """Feed-forward language model of symbols: the last ``order`` - 1 of them, a hidden layer, a linear readout."""

    order: int = 4  # symbols of an n-gram, the predicted one included
    embedding: int = 32
    hidden: int = 32

    def __post_init__(self) -> None:
        at_least(self, 2, "order")
        at_least(self, 1, "embedding", "hidden")


@architectures.register("window")
@dataclass(frozen=True)
class WindowConfig(TextModelConfig):
    """Feed-forward language model that sees the last few words."""

    capabilities = ("logits",)
    window: int = 3  # words that it sees

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "window")

    def unused(self) -> dict[str, str]:
        names = ("cell", "layers", "bidirectional", "word_dropout", "layer_dropout")
        return dict.fromkeys(names, "a window has one hidden layer, and no recurrent one.")

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        from rote.models.window import WindowModel

        return WindowModel(inputs, outputs, self, seed, dtype, self.window)
