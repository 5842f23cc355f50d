"""What both studies of conduits have in common: how a corpus is gone through, and how a model is looked into."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rote.config import at_least
from rote.studies.conduits import published
from rote.training import TrainingConfig

BiasRule = Literal["in_span", "exclusive_end", "never"]
ReadAt = Literal["before_close", "at_close"]


@dataclass(frozen=True)
class Passes:
    """Truncated backpropagation through a corpus that is cut into ``batch`` columns; the state is carried on."""

    epochs: float = 50.0
    batch: int = 20
    bptt: int = 35  # tokens between two updates
    learning_rate: float = published.LEARNING_RATE
    clip: float | None = published.CLIP
    momentum: float = 0.0
    weight_decay: float = 0.0
    dtype: Literal["float32", "float64"] = "float32"
    measure_every: float = 1.0  # epochs between two measurements; the first is before training

    def __post_init__(self) -> None:
        at_least(self, 1, "batch", "bptt")
        at_least(self, 0.001, "epochs", "measure_every")
        self.config(2 * self.batch)  # refuses what the training loop would refuse

    def steps_per_epoch(self, length: int) -> int:
        """Updates in one pass over a corpus of ``length`` tokens; what does not fill a row of the columns is left."""
        return max(1, math.ceil((length // self.batch - 1) / self.bptt))

    def measured(self, length: int) -> dict[int, float]:
        """The updates after which the model is measured, with their epochs."""
        per_epoch, points = self.steps_per_epoch(length), int(self.epochs / self.measure_every + 1e-9)
        epochs = [round(number * self.measure_every, 6) for number in range(points + 1)] + [self.epochs]
        return {round(epoch * per_epoch): epoch for epoch in epochs}

    def config(self, length: int) -> TrainingConfig:
        return TrainingConfig(
            steps=max(self.measured(length)) or 1, batch=self.batch, learning_rate=self.learning_rate, clip=self.clip,
            momentum=self.momentum, weight_decay=self.weight_decay, dtype=self.dtype,
        )  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How P(close) is read out of a model by contextual decomposition."""

    rules: int = 100  # of the test corpus, for each kind of conduit
    context: int = 10  # symbols before the open symbol; with the zero state before them they count as irrelevant
    bias: BiasRule = "in_span"
    at: ReadAt = "before_close"  # where close is predicted, or (as published) one step later, where it is the input
    checked: int = 10  # rules whose decomposition is also computed in both parts, for its error
    gradients: int = 4  # rules of each kind through which the step Jacobians are multiplied; 0: none
    gradients_every: int = 1  # at each so many-th measurement, and so the error

    def __post_init__(self) -> None:
        at_least(self, 1, "rules", "checked", "gradients_every")
        at_least(self, 0, "context", "gradients")
