"""Convolutional networks for two images side by side, with more or less of a structure that separates them.

shared       one network reads either half up to its hidden layer; the output reads both hidden layers
summed       each half has a network of its own; their outputs are added
attention    as shared, but the output reads a mixture of the hidden layers, by attention to their place and content
separated    each half has a network and an output of its own: the class is the left one's. It cannot but compose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.models.cnn import CNN, initialize
from rote.models.structures import HalvesConfig

if TYPE_CHECKING:
    from jaxtyping import Float


def make_halves(
    size: tuple[int, int], classes: int, config: HalvesConfig, seed: int, dtype: torch.dtype = torch.float32
) -> nn.Module:
    """A network for images of this height and width, of which the left and the right half are one image each."""
    if config.structure == "joint":
        return CNN(size, classes, config, seed, dtype)
    kinds = {"shared": SharedHalves, "summed": SummedHalves, "attention": AttendedHalves, "separated": LeftHalf}
    made: nn.Module = kinds[config.structure]((size[0], size[1] // 2), classes, config, dtype)
    initialize(made, seed)
    return made


class Halves(nn.Module):
    """The network that reads the left half, and what makes logits of both."""

    def __init__(self, half: tuple[int, int], classes: int, config: HalvesConfig, dtype: torch.dtype) -> None:
        super().__init__()
        self.network = CNN(half, classes, config, 0, dtype)

    def forward(self, images: Float[Tensor, "batch height width"]) -> Float[Tensor, "batch class"]:
        return self.joined(*images.chunk(2, 2))

    def joined(self, left: Tensor, right: Tensor) -> Tensor:
        raise NotImplementedError


class SharedHalves(Halves):
    def __init__(self, half: tuple[int, int], classes: int, config: HalvesConfig, dtype: torch.dtype) -> None:
        super().__init__(half, classes, config, dtype)
        self.network.output = nn.Linear(2 * config.hidden, classes, dtype=dtype)

    def joined(self, left: Tensor, right: Tensor) -> Tensor:
        both = torch.cat([self.network.features(left), self.network.features(right)], 1)
        logits: Tensor = self.network.output(both)
        return logits


class SummedHalves(Halves):
    def __init__(self, half: tuple[int, int], classes: int, config: HalvesConfig, dtype: torch.dtype) -> None:
        super().__init__(half, classes, config, dtype)
        self.other = CNN(half, classes, config, 0, dtype)

    def joined(self, left: Tensor, right: Tensor) -> Tensor:
        logits: Tensor = self.network(left) + self.other(right)
        return logits


class AttendedHalves(Halves):
    def __init__(self, half: tuple[int, int], classes: int, config: HalvesConfig, dtype: torch.dtype) -> None:
        super().__init__(half, classes, config, dtype)
        self.place = nn.Parameter(torch.zeros(2, config.hidden, dtype=dtype))
        self.score = nn.Linear(config.hidden, 1, dtype=dtype)

    def joined(self, left: Tensor, right: Tensor) -> Tensor:
        both = torch.stack([self.network.features(left), self.network.features(right)], 1) + self.place
        logits: Tensor = self.network.output((self.score(both).softmax(1) * both).sum(1))
        return logits


class LeftHalf(Halves):
    """The right half's own network has an output of its own, which nothing is asked of: it is left out."""

    def joined(self, left: Tensor, right: Tensor) -> Tensor:
        logits: Tensor = self.network(left)
        return logits
