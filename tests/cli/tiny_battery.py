"""A task of a user's own, small enough for a test: the sum of two symbols, of which some pairs are new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from rote.examination import BatteryTask, Drawn, Items, battery


@battery.register("tiny")
@dataclass(frozen=True)
class Tiny(BatteryTask):
    """Add two symbols, modulo four."""

    name: ClassVar[str] = "tiny"
    dimension: ClassVar = "distance"
    about: ClassVar[str] = "The sum of two symbols, modulo four; new: pairs that were held out."
    steps: ClassVar[int] = 120
    chance: ClassVar[float] = 0.25

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("<start>", "a", "b", "c", "d")

    def draw(self, seed: int) -> Drawn:
        pairs = np.array([(first, second) for first in range(1, 5) for second in range(1, 5)])
        seen = (pairs[:, 0] - pairs[:, 1] + seed) % 4 != 0
        train, new = self._items(np.repeat(pairs[seen], 8, 0)), self._items(pairs[~seen])
        return Drawn(train, train[:16], None, new, {})

    def _items(self, pairs: np.ndarray) -> Items:
        tokens = np.concatenate([np.zeros((len(pairs), 1), dtype=np.int64), pairs], 1)
        targets, scored, cue = np.full_like(tokens, -1), np.zeros(tokens.shape, bool), np.zeros(tokens.shape, bool)
        targets[:, 2], scored[:, 2], cue[:, 1:] = 1 + pairs.sum(1) % 4, True, True
        return Items(tokens, targets, scored, cue)

    def answers(self, items: Items, seed: int) -> np.ndarray:
        return np.where(items.targets >= 0, 1 + items.tokens[:, 1:].sum(1, keepdims=True) % 4, -1)


class Mine(nn.Module):
    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, 24)
        self.recurrent = nn.GRU(24, 24, batch_first=True)
        self.readout = nn.Linear(24, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.readout(self.recurrent(self.embedding(tokens))[0])
        return logits


def make(vocabulary_size: int) -> nn.Module:
    print("made")  # which is no part of what a command answers
    return Mine(vocabulary_size)


class Pair(nn.Module):
    """Reads the source, then the answers so far; 0 fills the source up."""

    def __init__(self, source: int, target: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(source, 24, padding_idx=0), nn.Embedding(target, 24)
        self.decoder, self.readout = nn.GRU(24, 24, batch_first=True), nn.Linear(24, target)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        read = self.source(source).sum(1)
        logits: Tensor = self.readout(self.decoder(self.target(target), read[None])[0])
        return logits


def make_pair(source: int, target: int) -> nn.Module:
    return Pair(source, target)


class Bag(nn.Module):
    """The symbols in any order, those behind the lengths left out."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, 24)
        self.readout = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, symbols))

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        within = torch.arange(tokens.shape[1]) < lengths[:, None]
        logits: Tensor = self.readout((self.embedding(tokens) * within[..., None]).sum(1))
        return logits


def make_bag(symbols: int) -> nn.Module:
    return Bag(symbols)
