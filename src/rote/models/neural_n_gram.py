"""Neural n-grams, many at once: feed-forward language models that see the last order - 1 symbols (source 004).

Each is a ``WindowModel`` over symbols in place of the words of a vocabulary. Symbol 0, which ends a sentence and which
every sentence begins behind, has the vector 0, as what stands before the beginning has. Weights carry a leading replica
axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rote.cells import stacked_linear
from rote.models.settings import NeuralNGramConfig, TextModelConfig
from rote.models.text import PADDING
from rote.models.window import WindowModel

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class StackedNeuralNGram(nn.Module):
    """One language model per seed. Each replica starts from its own seed alone: the others do not change it."""

    def __init__(self, symbols: int, config: NeuralNGramConfig, seeds: Sequence[int], dtype: torch.dtype) -> None:
        super().__init__()
        self.symbols, self.config = symbols, config
        made = [_alone(symbols, config, seed, dtype) for seed in seeds]
        self.embedding = _stacked([model.embedding.weight for model in made])
        self.hidden, self.hidden_bias = (
            _stacked([getattr(model.hidden, name) for model in made]) for name in ("weight", "bias")
        )
        self.readout, self.readout_bias = (
            _stacked([getattr(model.readout, name) for model in made]) for name in ("weight", "bias")
        )

    def forward(
        self, tokens: Int[Tensor, "replica batch time"]
    ) -> tuple[Float[Tensor, "replica batch time symbol"], tuple[()]]:
        """Logits of the next symbol; there is no state at the end."""
        replicas, batch, time = tokens.shape
        vectors = torch.cat([torch.zeros_like(self.embedding[:, :1]), self.embedding[:, 1:]], 1)
        offset = torch.arange(replicas, device=tokens.device)[:, None, None] * self.symbols
        read = pad(vectors.flatten(0, 1)[tokens + offset], (0, 0, self.config.order - 2, 0))
        seen = read.unfold(2, self.config.order - 1, 1).mT.reshape(replicas, batch * time, -1)
        values = torch.tanh(stacked_linear(seen, self.hidden, self.hidden_bias))
        return stacked_linear(values, self.readout, self.readout_bias).view(replicas, batch, time, -1), ()

    def replica(self, index: int) -> WindowModel:
        """One of the models by itself, with weights of its own."""
        model = _alone(self.symbols, self.config, 0, self.readout.dtype)
        vectors = self.embedding[index].detach().clone()
        vectors[PADDING] = 0
        state = {
            "embedding.weight": vectors,
            "hidden.weight": self.hidden[index], "hidden.bias": self.hidden_bias[index],
            "readout.weight": self.readout[index], "readout.bias": self.readout_bias[index],
        }  # fmt: skip
        model.load_state_dict(state)
        return model.eval()


def _alone(symbols: int, config: NeuralNGramConfig, seed: int, dtype: torch.dtype) -> WindowModel:
    sizes = TextModelConfig(embedding=config.embedding, hidden=config.hidden)
    return WindowModel(symbols, symbols, sizes, seed, dtype, config.order - 1)


def _stacked(weights: Sequence[Tensor]) -> nn.Parameter:
    return nn.Parameter(torch.stack([weight.detach() for weight in weights]))
