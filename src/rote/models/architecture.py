"""Architectures: what networks are built from, by name, each with what can be done with them. Imports no torch.

An architecture of one's own is one file: a frozen dataclass of sizes that builds a module.

    @architectures.register("bag")
    @dataclass(frozen=True)
    class BagConfig(Architecture):
        '''One line for `rote list architectures`.'''

        capabilities = ("logits",)
        width: int = 16

        def make(self, inputs, outputs, seed, dtype):
            with drawn_from(seed):
                return nn.Sequential(nn.Embedding(inputs, self.width), nn.Linear(self.width, outputs)).to(dtype)

What a built module can do decides which analyses take it (``rote.models.capabilities``):

- logits: it maps tokens [batch, time], or vectors, to outputs [batch, step, output] or [batch, output];
- states: it also has a method ``layer_states``, which gives the states of each layer at every step;
- arithmetic: it is a ``SequenceModel``, whose steps are written in Rote's arithmetic: every analysis takes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from rote.errors import UsageError
from rote.registry import Registry

if TYPE_CHECKING:
    import torch
    from torch import nn

Capability = Literal["logits", "states", "arithmetic"]
Reads = Literal["tokens", "vectors", "images", "pairs"]
EVERYTHING: tuple[Capability, ...] = ("logits", "states", "arithmetic")


class Architecture(ABC):
    """The sizes of a network, as a frozen dataclass, and how it is built from them."""

    capabilities: ClassVar[tuple[Capability, ...]]
    reads: ClassVar[Reads] = "tokens"  # tokens [batch, time], vectors [batch, time, input], images [batch, row, column]

    def build(
        self, inputs: int, outputs: int | None = None, *, seed: int = 0, dtype: torch.dtype | None = None
    ) -> nn.Module:
        """One network, all of it drawn from its seed.

        - inputs: how many symbols it reads; of vectors how many numbers they have, of images how many pixels a side.
        - outputs: among how many symbols or classes it chooses; by default among as many as it reads.
        - dtype: float32 by default. A seed is the same network in either precision.
        """
        import torch

        for name, number in (("inputs", inputs), ("outputs", inputs if outputs is None else outputs)):
            if number < 1:
                raise UsageError(f"{name!r} of {type(self).__name__}.build() must be at least 1. Got {number}.")
        with torch.random.fork_rng(devices=[]):  # torch's modules draw weights that are then replaced
            return self.make(inputs, outputs or inputs, seed, dtype or torch.float32)

    @abstractmethod
    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
        """What ``build`` gives, with nothing left open."""


def same_symbols(architecture: Architecture, inputs: int, outputs: int) -> int:
    """How many symbols a model has that predicts what it reads; another number of outputs is refused."""
    if outputs != inputs:
        raise UsageError(
            f"{type(architecture).__name__} predicts the symbols that it reads: leave 'outputs' out. "
            f"Got {inputs} inputs and {outputs} outputs."
        )
    return inputs


architectures: Registry[type[Architecture]] = Registry("architecture", "rote.models", "architectures")
