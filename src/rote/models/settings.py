"""The keys ``model.*`` of the studies. Apart from the models, so that reading a configuration does not import torch."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Literal

from rote.config import at_least, below_one
from rote.errors import UnknownNameError, UsageError
from rote.registry import Registry

Activation = Literal["relu", "tanh", "sigmoid", "linear"]
Attention = Literal["mlp", "dot", "general"]
AttentionPosition = Literal["pre", "post"]


def known_cells(*names: str) -> None:
    """Refuse a cell that does not exist before anything is trained, and without importing torch."""
    # Cells that a user has registered are known to the registry of the imported package only.
    imported: Any = sys.modules.get("rote.cells")
    known: Registry[Any] = Registry("cell", "rote.cells") if imported is None else imported.cells
    for name in names:
        if name not in known:
            raise UnknownNameError("cell", name, known)


@dataclass(frozen=True)
class MLPConfig:
    hidden: int = 8  # units in each hidden layer
    layers: int = 3  # hidden layers
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden")
        at_least(self, 0, "layers")


@dataclass(frozen=True)
class EncoderDecoderConfig:
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


@dataclass(frozen=True)
class LanguageModelConfig:
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


@dataclass(frozen=True)
class AutocompleteConfig:
    cell: str = "gru"
    units: int = 600  # of each layer, and size of the embedding
    layers: int = 2  # the source has 2 for GRU and LSTM, 1 for the Nested LSTM

    def __post_init__(self) -> None:
        known_cells(self.cell)
        at_least(self, 1, "units", "layers")


@dataclass(frozen=True)
class SoftmaxConfig:
    """What a model over many words learns from. Evaluation is exact with either."""

    kind: Literal["exact", "sampled"] = "exact"
    samples: int = 1024  # sampled: words besides the target, drawn anew in every step

    def __post_init__(self) -> None:
        at_least(self, 1, "samples")


@dataclass(frozen=True)
class CNNConfig:
    depths: tuple[int, ...] = (32, 64)  # of the convolutions
    hidden: int = 64  # units of the fully connected layer
    dropout: float = 0.0  # of what goes into the fully connected layer and comes out of it

    def __post_init__(self) -> None:
        at_least(self, 1, "depths", "hidden")
        if not self.depths:
            raise UsageError("'depths' of CNNConfig must name at least one convolution, such as 32,64. Got none.")
        below_one(self, "dropout")


@dataclass(frozen=True)
class TranslatorConfig:
    cell: str = "lstm"
    embedding: int = 32
    hidden: int = 16  # units of each encoder direction; the decoder has four times as many

    def __post_init__(self) -> None:
        known_cells(self.cell)
        at_least(self, 1, "embedding", "hidden")


@dataclass(frozen=True)
class TextModelConfig:
    """Classifiers, taggers and language models of text. Four kinds of dropout, each with its name."""

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
            raise UsageError(
                f"'layer_dropout' acts between layers, and there is one. Got {self.layer_dropout}. Set model.layers=2, "
                "or model.embedding_dropout or model.output_dropout instead."
            )
