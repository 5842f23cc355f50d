"""What determines a trained lookup model: the keys that all lookup studies share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rote.config import at_least
from rote.models import EncoderDecoderConfig
from rote.tasks.lookup import LookupTask
from rote.training import TrainingConfig

KINDS = ("baseline", "guided")
SMOKE: Mapping[str, object] = {
    "seeds": 2, "model.hidden": 16, "training.batch": 16, "training.steps": 30, "training.record_every": 15,
}  # fmt: skip
QUICK: Mapping[str, object] = {
    "model.hidden": 192, "training.batch": 4, "training.learning_rate": 0.002, "training.steps": 1450,
    "training.record_every": 29,
}  # fmt: skip


def published_training() -> TrainingConfig:
    """Batches of one, 100 epochs of 232 examples, Adam; the model with the lowest validation loss is taken."""
    return TrainingConfig(
        steps=23_200, batch=1, optimizer="adam", learning_rate=0.001, clip=5.0, record_every=200, select="best"
    )


@dataclass(frozen=True)
class LookupModelConfig:
    task: LookupTask = field(default_factory=LookupTask)
    model: EncoderDecoderConfig = field(default_factory=EncoderDecoderConfig)
    training: TrainingConfig = field(default_factory=published_training)
    guidance: float = 1.0  # weight of the attention loss of the guided models
    teacher_forcing: bool = False  # feed the decoder with the targets instead of its own output in training

    def __post_init__(self) -> None:
        at_least(self, 0, "guidance")
