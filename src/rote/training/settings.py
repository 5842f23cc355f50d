"""How a model is trained: the keys ``training.*`` of every study."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from rote.config import above_zero, at_least
from rote.errors import SettingError, UsageError

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
    schedule: Literal["constant", "exponential", "staircase", "cosine"] = "constant"
    decay: float = 0.96  # factor per decay_every steps; of cosine: at the end
    decay_every: int = 100
    clip: float | None = None  # largest norm of a replica's gradient
    record_every: int | None = None  # None: at 0, 1, 2, 4, 8, ... and the last step
    patience: int | None = None  # early stopping: records without improvement of the monitored measure
    select: Literal["last", "best"] = "last"  # weights at the end; with patience always the best
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        at_least(self, 1, "steps", "batch", "decay_every", "record_every", "patience")
        at_least(self, 0, "momentum", "weight_decay")
        above_zero(self, "learning_rate", "decay", "clip")
        if self.momentum and self.optimizer != "sgd":
            with_what = f"Got {self.momentum} with {self.optimizer!r}."
            raise SettingError("momentum", f"belongs to the optimizer 'sgd'. {with_what}")

    def unused(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self.schedule == "constant":
            found["decay"] = "it belongs to schedule=exponential, staircase or cosine."
        if self.schedule in ("constant", "cosine"):
            found["decay_every"] = "it belongs to schedule=exponential or staircase."
        if self.patience is not None:
            found["select"] = "with 'patience' the best weights are taken."
        return found

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
        if self.schedule == "cosine":
            return self.learning_rate * self._on_the_cosine(step)
        periods = step // self.decay_every if self.schedule == "staircase" else step / self.decay_every
        return float(self.learning_rate * self.decay**periods)

    def _on_the_cosine(self, step: int) -> float:
        """The share of the rate: it rises during the first twentieth of the steps, and falls to ``decay``."""
        rise = max(1, self.steps // 20)
        if step < rise:
            return (step + 1) / rise
        fallen = (step - rise) / max(1, self.steps - rise)
        return self.decay + (1 - self.decay) * (1 + math.cos(math.pi * fallen)) / 2

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


@dataclass(frozen=True)
class EpochTraining(TrainingConfig):
    """Training whose length is said in passes over the data. How many updates these are, ``over`` says, once the number
    of examples is known; ``steps`` and ``record_every`` follow from it."""

    epochs: float = 1.0
    measure_every: float = 1.0  # epochs between two measurements, the first before training

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 0.001, "epochs", "measure_every")

    def steps_per_epoch(self, examples: int) -> int:
        """The number of updates in one pass over so many examples."""
        return max(1, math.ceil(examples / self.batch))

    def measured(self, examples: int) -> dict[int, float]:
        """The updates after which the networks are measured, with their epochs."""
        per_epoch, points = self.steps_per_epoch(examples), int(self.epochs / self.measure_every + 1e-9)
        epochs = [round(number * self.measure_every, 6) for number in range(points + 1)] + [self.epochs]
        return {round(epoch * per_epoch): epoch for epoch in epochs}

    def over(self, examples: int) -> Self:
        """The same training with the number of its updates on so many examples."""
        return replace(self, steps=max(self.measured(examples)) or 1)


def truncated_updates(length: int, columns: int, bptt: int) -> int:
    """The number of updates in one pass over a text of ``length`` tokens that is cut into columns, with ``bptt`` tokens
    of each between two updates; what does not fill a row of the columns is left out."""
    return max(1, math.ceil((length // columns - 1) / bptt))


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
