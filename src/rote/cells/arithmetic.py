"""The arithmetic of a step. A cell writes its equations once, in these operations, and every analysis can run them.

With ``Plain`` the values are tensors: that is the ordinary forward pass, with the gates remembered by name. With the
arithmetics of ``rote.analyses.decomposition`` a value carries the part that comes from chosen inputs along with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar, cast

import torch
from torch import Tensor


class Value(Protocol):
    """A tensor, or one split into parts: values can be added to each other, and 1 - value is a value."""

    def __add__(self, other: Any, /) -> Self: ...

    def __rsub__(self, other: float, /) -> Self: ...


V = TypeVar("V", bound=Value)


class Arithmetic(Protocol[V]):
    def linear(self, value: V, weight: Tensor) -> V:
        """``value @ weight.T``."""

    def constant(self, bias: Tensor) -> V:
        """A bias: it comes from no input."""

    def pieces(self, value: V, sizes: Sequence[int]) -> tuple[V, ...]:
        """Consecutive pieces of the last axis."""

    def sigmoid(self, value: V) -> V: ...

    def tanh(self, value: V) -> V: ...

    def relu(self, value: V) -> V: ...

    def product(self, gate: V, source: V) -> V:
        """``gate * source``; the order matters to decompositions that credit a product to its source."""

    def settle(self, value: V) -> V:
        """Mark a state: decompositions decide here whether what biases alone produced counts as relevant."""

    def readout_gate(self, value: V) -> V:
        """Mark what an output gate is computed from: most decompositions use that gate as it is."""

    def gate(self, name: str, value: V) -> V:
        """Name a gate; the name is what traces and saturation reports show."""


class Plain:
    """Ordinary tensors. ``gates`` holds the gates of the last step."""

    def __init__(self) -> None:
        self.gates: dict[str, Tensor] = {}

    def linear(self, value: Tensor, weight: Tensor) -> Tensor:
        return value @ weight.T

    def constant(self, bias: Tensor) -> Tensor:
        return bias

    def pieces(self, value: Tensor, sizes: Sequence[int]) -> tuple[Tensor, ...]:
        return cast(tuple[Tensor, ...], value.split(list(sizes), dim=-1))

    def sigmoid(self, value: Tensor) -> Tensor:
        return torch.sigmoid(value)

    def tanh(self, value: Tensor) -> Tensor:
        return torch.tanh(value)

    def relu(self, value: Tensor) -> Tensor:
        return torch.relu(value)

    def product(self, gate: Tensor, source: Tensor) -> Tensor:
        return gate * source

    def settle(self, value: Tensor) -> Tensor:
        return value

    def readout_gate(self, value: Tensor) -> Tensor:
        return value

    def gate(self, name: str, value: Tensor) -> Tensor:
        self.gates[name] = value
        return value
