"""Autocomplete models of several seeds as one program: small networks train faster together than one after another.

Weights carry a leading replica axis, and each replica has a batch of its own. The recurrent layers run over all
batches at once, the readout over many words goes replica by replica.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from rote.cells import Cell, stack, unstack
from rote.models.architecture import Capability
from rote.models.autocomplete import AutocompleteModel, loss_of_words, packed, run_layers
from rote.models.settings import AutocompleteConfig
from rote.tasks.autocomplete import Batch

if TYPE_CHECKING:
    from jaxtyping import Float


class StackedAutocomplete(nn.Module):
    """One autocomplete model per seed. Each replica starts from its own seed alone: the others do not change it."""

    capabilities: ClassVar[tuple[Capability, ...]] = ()  # a population; each of its models has everything
    instead = "Give one of its models: model.replica(index)."

    def __init__(
        self, config: AutocompleteConfig, vocabulary: Sequence[str], seeds: Sequence[int], dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.config, self.vocabulary = config, tuple(vocabulary)
        made = [AutocompleteModel(config, vocabulary, seed, dtype) for seed in seeds]
        self.cells = nn.ModuleList(
            stack([model.recurrent.cell(layer) for model in made]) for layer in range(config.layers)
        )
        with torch.no_grad():
            self.embedding = nn.Parameter(torch.stack([model.embedding.weight for model in made]))
            self.readout = nn.Parameter(torch.stack([model.readout.weight for model in made]))
            self.readout_bias = nn.Parameter(torch.stack([model.readout.bias for model in made]))

    def losses(
        self,
        batches: Sequence[Batch],
        samples: int = 0,
        frequencies: Tensor | None = None,
        generators: Sequence[torch.Generator] | None = None,
    ) -> Float[Tensor, " replica"]:
        """The loss of every replica on its own batch, as ``AutocompleteModel.loss`` gives it."""
        tokens, targets, packing = packed(batches, self.readout.device)
        hidden = run_layers(self._stacked(), self.embedding, tokens, packing.sizes)
        parts = zip(hidden.unbind(), self.readout.unbind(), self.readout_bias.unbind(), targets, strict=True)
        draws: Sequence[torch.Generator | None] = generators or [None] * len(targets)
        return torch.stack(
            [loss_of_words(*part, samples, frequencies, draw) for part, draw in zip(parts, draws, strict=True)]
        )

    def replica(self, index: int) -> AutocompleteModel:
        """One of the models by itself, with weights of its own."""
        model = AutocompleteModel(self.config, self.vocabulary, dtype=self.readout.dtype)
        model.recurrent.cells = nn.ModuleList(unstack(cell, index) for cell in self._stacked())
        with torch.no_grad():
            model.embedding.weight.copy_(self.embedding[index])
            model.readout.weight.copy_(self.readout[index])
            model.readout.bias.copy_(self.readout_bias[index])
        return model.to(self.readout.device)

    def _stacked(self) -> list[Cell]:
        return [cell for cell in self.cells if isinstance(cell, Cell)]
