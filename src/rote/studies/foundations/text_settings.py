"""What the studies of text have in common: how a corpus is gone through, and the keys of their configurations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from rote.config import at_least
from rote.errors import UsageError
from rote.models import TextModelConfig
from rote.tasks.text_tasks import ClassificationTask, Kind, TextTask
from rote.training import TrainingConfig

Network = Literal["recurrent", "average", "window"]


@dataclass(frozen=True)
class TextTraining:
    """Passes over shuffled sentences. The weights that are kept are those with the lowest loss on dev."""

    epochs: float = 4.0
    batch: int = 32  # sentences
    optimizer: Literal["adam", "adamw", "adagrad", "sgd"] = "adam"
    learning_rate: float = 0.003
    momentum: float = 0.0  # sgd only
    l2: float = 0.0  # times the sum of all squared parameters is added to the loss
    weight_decay: float = 0.0  # of the optimizer: added to the gradient (= 2 l2); adamw: decoupled from it
    clip: float | None = 5.0  # largest norm of the gradient
    patience: int | None = None  # early stopping: measurements without a lower loss on dev
    measure_every: float = 0.5  # epochs between two measurements
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        at_least(self, 1, "batch")
        at_least(self, 0, "l2")
        at_least(self, 0.001, "epochs", "measure_every")
        self.config(1)  # refuses what the training loop would refuse

    def steps_per_epoch(self, examples: int) -> int:
        return math.ceil(examples / self.batch)

    def measured(self, examples: int) -> dict[int, float]:
        """The updates after which the network is measured, with their epochs; the first is before training."""
        per_epoch, points = self.steps_per_epoch(examples), int(self.epochs / self.measure_every + 1e-9)
        epochs = [round(number * self.measure_every, 6) for number in range(points + 1)] + [self.epochs]
        return {round(epoch * per_epoch): epoch for epoch in epochs}

    def config(self, examples: int) -> TrainingConfig:
        return TrainingConfig(
            steps=max(self.measured(examples)) or 1, batch=self.batch, optimizer=self.optimizer,
            learning_rate=self.learning_rate, momentum=self.momentum, weight_decay=self.weight_decay, clip=self.clip,
            patience=self.patience, select="best", dtype=self.dtype,
        )  # fmt: skip


NETWORKS: dict[Kind, tuple[Network, ...]] = {
    "classification": ("recurrent", "average"),
    "tagging": ("recurrent", "window"),
    "language-modeling": ("recurrent", "window"),
}


@dataclass(frozen=True)
class TextConfig:
    task: TextTask = field(default_factory=ClassificationTask)  # each study's own
    model: TextModelConfig = field(default_factory=TextModelConfig)
    training: TextTraining = field(default_factory=TextTraining)
    network: Network = "recurrent"  # average: deep averaging network; window: feed-forward language model
    window: int = 3  # words that the latter sees
    packed: bool = True  # false: the network runs over padding as over words
    variants: tuple[str, ...] = ()  # the networks to train; own: as model.*, training.* and network say
    seeds: int = 5

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "window")


def check_network(kind: Kind, config: TextConfig) -> None:
    """What cannot be trained is refused before anything is."""
    if config.network not in NETWORKS[kind]:
        known = " or ".join(NETWORKS[kind])
        raise UsageError(f"'network' must be {known} for {kind}. Got {config.network!r}.")
    if not config.packed and (kind == "classification" or config.network != "recurrent"):
        raise UsageError(
            "'packed' can be false for recurrent taggers and language models only. What an unpacked classifier learns "
            "is shown by the study padding."
        )
    if kind == "language-modeling" and config.network == "recurrent" and config.model.bidirectional:
        raise UsageError(
            "A language model that reads both ways sees what it is to predict. Set model.bidirectional=false."
        )
