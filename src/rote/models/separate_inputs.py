"""Stacked networks that read their two inputs apart, beside ``StackedMLP``, which reads them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.models.mlp import StackedMLP
from rote.models.settings import MLPConfig
from rote.models.structures import InputStructure

if TYPE_CHECKING:
    from jaxtyping import Float

SECOND = 1_000_003  # added to a seed, for the network of the second input


class SummedInputs(nn.Module):
    """A network for each input; their outputs are added."""

    def __init__(self, outputs: int, config: MLPConfig, seeds: Sequence[int], dtype: torch.dtype) -> None:
        super().__init__()
        self.first = StackedMLP(1, outputs, config, seeds, dtype)
        self.second = StackedMLP(1, outputs, config, [seed + SECOND for seed in seeds], dtype)

    def forward(self, inputs: Float[Tensor, "replica batch 2"]) -> Float[Tensor, "replica batch output"]:
        one, other = inputs.chunk(2, -1)
        summed: Tensor = self.first(one) + self.second(other)
        return summed


class FirstInput(nn.Module):
    """The network of the first input; that of the second has an output of its own, which nothing is asked of."""

    def __init__(self, outputs: int, config: MLPConfig, seeds: Sequence[int], dtype: torch.dtype) -> None:
        super().__init__()
        self.first = StackedMLP(1, outputs, config, seeds, dtype)

    def forward(self, inputs: Float[Tensor, "replica batch 2"]) -> Float[Tensor, "replica batch output"]:
        read: Tensor = self.first(inputs[..., :1])
        return read


def make_inputs(
    structure: InputStructure, outputs: int, config: MLPConfig, seeds: Sequence[int], dtype: torch.dtype
) -> nn.Module:
    """Networks of two inputs with this structure, one for each seed."""
    if structure == "joint":
        return StackedMLP(2, outputs, config, seeds, dtype)
    kind = SummedInputs if structure == "summed" else FirstInput
    return kind(outputs, config, seeds, dtype)
