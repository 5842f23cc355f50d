"""The programs of digit pairs and SCAN, measured on batches that are drawn anew for every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rote.laboratory.study import MOST_SEEDS
from rote.studies.resistance.digits_training import DigitsProgram
from rote.studies.resistance.scan_training import ScanProgram

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


class DigitsStepsProgram(DigitsProgram):
    """Its weights are those of ``DigitsProgram``: only what is measured is drawn otherwise."""

    done = 0  # updates

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        self.done = step + 1
        return super().losses(step)

    def measure(self) -> dict[str, Any]:
        drawn, pairs = stream(self.seed, self.done), self.recipe.evaluated
        self.seen = self._tensors(self.task.seen(self.digits.training, drawn, pairs))
        self.held_out = self._tensors(self.task.held_out(self.digits.test, drawn, pairs))
        return super().measure()


class ScanStepsProgram(ScanProgram):
    """Its weights are those of ``ScanProgram``: only what is measured is drawn otherwise."""

    done = 0  # updates

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        self.done = step + 1
        return super().losses(step)

    def measure(self) -> dict[str, Any]:
        numbers, size = [stream(seed, self.done) for seed in self.seeds], self.train.shape[1]
        drawn = [self.task.training_sample(number, size) for number in numbers]
        self.train = np.stack([commands for commands, _ in drawn])
        self.copies = torch.from_numpy(np.stack([copies for _, copies in drawn]))
        self.test = np.stack([self.task.test(number, size) for number in numbers])
        return super().measure()


def stream(seed: int, done: int) -> int:
    """A number for each seed and step, that no study has as a seed."""
    return seed + (done + 1) * (2 * MOST_SEEDS + 1)
