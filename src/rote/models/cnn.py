"""A convolutional network for gray images: source 001, appendix A.

Convolutions of 3 x 3 without padding, each followed by ReLU, 2 x 2 maximum pooling between them, a hidden layer, and
a linear output for each class. Glorot uniform weights and zero biases, which the source leaves open.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, max_pool2d

from rote.errors import UsageError
from rote.models.settings import CNNConfig

if TYPE_CHECKING:
    from jaxtyping import Float

KERNEL, POOL = 3, 2


class CNN(nn.Module):
    """One network, all of it drawn from its seed."""

    def __init__(
        self, size: tuple[int, int], classes: int, config: CNNConfig, seed: int, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        depths = [1, *config.depths]
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, KERNEL) for a, b in itertools.pairwise(depths))
        height, width = (_left_over(pixels, len(config.depths)) for pixels in size)
        if min(height, width) < 1:
            raise UsageError(
                f"Images of {size[0]} x {size[1]} pixels are too small for {len(config.depths)} convolutions of "
                f"{KERNEL} x {KERNEL} with pooling between them. Use fewer (model.depths) or larger images."
            )
        self.hidden = nn.Linear(depths[-1] * height * width, config.hidden)
        self.output = nn.Linear(config.hidden, classes)
        self.dropout = config.dropout
        self.to(dtype)
        initialize(self, seed)

    def forward(self, images: Float[Tensor, "batch height width"]) -> Float[Tensor, "batch class"]:
        logits: Tensor = self.output(self.features(images))
        return logits

    def features(self, images: Float[Tensor, "batch height width"]) -> Float[Tensor, "batch unit"]:
        """The hidden layer."""
        values = images[:, None]
        for number, convolution in enumerate(self.convolutions):
            values = torch.relu(convolution(max_pool2d(values, POOL) if number else values))
        values = dropout(values.flatten(1), self.dropout, self.training)
        return dropout(torch.relu(self.hidden(values)), self.dropout, self.training)


def _left_over(pixels: int, convolutions: int) -> int:
    for number in range(convolutions):
        pixels = (pixels // POOL if number else pixels) - (KERNEL - 1)
    return pixels


@torch.no_grad()
def initialize(model: nn.Module, seed: int) -> None:
    """All matrices and kernels Glorot uniform, drawn from the seed in their order; all biases zero."""
    random = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
            continue
        outputs, inputs, *kernel = parameter.shape
        limit = math.sqrt(6.0 / ((inputs + outputs) * math.prod(kernel)))
        # Drawn in float64, so that a seed is the same network in either precision.
        drawn = torch.rand(parameter.shape, generator=random, dtype=torch.float64) * 2 - 1
        parameter.copy_(drawn * limit)
