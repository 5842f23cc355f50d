"""How a model is trained: the keys ``training.*`` of every study."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rote.config import at_least
from rote.errors import UsageError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from rote.training.gradient_descent import GradientDescent


@dataclass(frozen=True)
class TrainingConfig:
    steps: int = 1000
    batch: int = 32
    optimizer: Literal["sgd", "adam", "adamw", "adagrad"] = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.0  # sgd only
    weight_decay: float = 0.0  # added to the gradient, as L2 of the loss is; adamw: apart from it (decoupled)
    schedule: Literal["constant", "exponential", "staircase"] = "constant"
    decay: float = 0.96  # factor per decay_every steps
    decay_every: int = 100
    clip: float | None = None  # largest norm of a replica's gradient
    record_every: int | None = None  # None: at 0, 1, 2, 4, 8, ... and the last step
    patience: int | None = None  # early stopping: records without improvement of the monitored measure
    select: Literal["last", "best"] = "last"  # weights at the end; with patience always the best
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        at_least(self, 1, "steps", "batch", "decay_every", "record_every", "patience")
        at_least(self, 0, "momentum", "weight_decay")
        for name in ("learning_rate", "decay", "clip"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name!r} of TrainingConfig must be above 0. Got {value!r}.")
        if self.momentum and self.optimizer != "sgd":
            raise UsageError(f"'momentum' belongs to the optimizer 'sgd'. Got {self.momentum} with {self.optimizer!r}.")

    def recorded_steps(self) -> list[int]:
        if self.record_every is not None:
            steps = set(range(0, self.steps + 1, self.record_every))
        else:
            steps = {0, *(2**power for power in range(self.steps.bit_length()) if 2**power <= self.steps)}
        return sorted(steps | {self.steps})

    def learning_rate_at(self, step: int) -> float:
        """For the update number ``step``, counted from 0."""
        if self.schedule == "constant":
            return self.learning_rate
        periods = step // self.decay_every if self.schedule == "staircase" else step / self.decay_every
        return float(self.learning_rate * self.decay**periods)

    def make_optimizer(self, parameters: Iterable[Tensor]) -> torch.optim.Optimizer | GradientDescent:
        import torch

        rate, decay = self.learning_rate, self.weight_decay
        if self.optimizer == "sgd" and not self.momentum and not decay:
            from rote.training.gradient_descent import GradientDescent

            return GradientDescent(parameters, rate)
        if self.optimizer == "sgd":
            return torch.optim.SGD(parameters, rate, momentum=self.momentum, weight_decay=decay, fused=True)
        if self.optimizer == "adam":
            return torch.optim.Adam(parameters, rate, weight_decay=decay, fused=True)
        if self.optimizer == "adamw":
            return torch.optim.AdamW(parameters, rate, weight_decay=decay, fused=True)
        return torch.optim.Adagrad(parameters, rate, weight_decay=decay)

    def torch_dtype(self) -> torch.dtype:
        import torch

        return torch.float64 if self.dtype == "float64" else torch.float32


def checkpoint_seconds() -> float:
    """The time between checkpoints: ``ROTE_CHECKPOINT_SECONDS``, by default 30; 0 means after each step."""
    text = os.environ.get("ROTE_CHECKPOINT_SECONDS", "30")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise UsageError(f"ROTE_CHECKPOINT_SECONDS must be a number of seconds, at least 0. Got {text!r}.")
    return seconds
