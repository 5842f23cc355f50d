"""Fully connected networks, many at once: weights carry a leading replica axis, one batched product serves them all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.models.sequence import linear_of
from rote.models.settings import MLPConfig

if TYPE_CHECKING:
    from jaxtyping import Float

MANY = 256  # points, above which the product is several times as fast with the points as its last axis
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "linear": lambda value: value,
}
MODULES = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "linear": nn.Identity}


class StackedMLP(nn.Module):
    """One network per seed. Each replica starts from its own seed alone: the others do not change it.

    ``hidden``: the sizes of the hidden layers, where they are not all alike as in the configuration.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        config: MLPConfig,
        seeds: Sequence[int],
        dtype: torch.dtype,
        hidden: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.config, self.activation = config, FUNCTIONS[config.activation]
        sizes = [inputs, *([config.hidden] * config.layers if hidden is None else hidden), outputs]
        shapes = list(itertools.pairwise(sizes))
        replicas = [_glorot_uniform(shapes, seed, dtype) for seed in seeds]
        self.weights = nn.ParameterList([torch.stack(layer) for layer in zip(*replicas, strict=True)])
        self.biases = nn.ParameterList([torch.zeros(len(seeds), 1, size, dtype=dtype) for size in sizes[1:]])
        self._layers = list(zip(self.weights, self.biases, strict=True))  # a ParameterList is slow to walk at each step

    def forward(self, inputs: Float[Tensor, "replica batch input"]) -> Float[Tensor, "replica batch output"]:
        turned = inputs.shape[1] > MANY
        values = inputs.mT if turned else inputs
        last = len(self._layers) - 1
        for layer, (weight, bias) in enumerate(self._layers):
            values = torch.baddbmm(bias.mT, weight.mT, values) if turned else torch.baddbmm(bias, values, weight)
            if layer < last:
                values = self.activation(values)
        return values.mT if turned else values

    def replica(self, index: int) -> nn.Sequential:
        """One of the networks by itself, as torch's own layers, with weights of its own."""
        layers: list[nn.Module] = []
        for number, (weight, bias) in enumerate(self._layers):
            layers += [MODULES[self.config.activation]()] if number else []
            layers.append(linear_of(weight[index].T, bias[index, 0]))
        return nn.Sequential(*layers)


def _glorot_uniform(shapes: Sequence[tuple[int, int]], seed: int, dtype: torch.dtype) -> list[Tensor]:
    random = torch.Generator().manual_seed(seed)
    weights = []
    for inputs, outputs in shapes:
        limit = math.sqrt(6.0 / (inputs + outputs))
        # Drawn in float64, so that a seed is the same network in either precision.
        weights.append((torch.rand(inputs, outputs, generator=random, dtype=torch.float64) * 2 - 1) * limit)
    return [weight.to(dtype) for weight in weights]
