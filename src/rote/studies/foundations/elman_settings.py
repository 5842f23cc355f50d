"""How the networks of Elman 1990 are trained; he gives sizes and passes, the rest is open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rote.config import at_least
from rote.errors import UsageError
from rote.training import TrainingConfig

PIECE = 500  # symbols between two chances to save or stop

OPEN = (
    "Left open by Elman 1990 and chosen here: logistic units with biases, weights uniform in [-limit, limit], squared "
    "error, a learning rate without momentum, float32. Each replica has a stream of its own seed.",
    "A pass is the mean length of a stream, the same for all seeds; a stream begins again at its own end, and the "
    "context is carried on.",
    "The article calls its errors RMS in captions and sum squared error in graphs; which, our tables say.",
)


@dataclass(frozen=True)
class Procedure:
    hidden: int = 20
    passes: float = 10.0
    learning_rate: float = 0.1
    limit: float = 0.5  # weights start uniformly in [-limit, limit]
    measure_every: float | None = None  # passes between two measurements of the loss; None: at the two ends
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden")
        at_least(self, 0, "limit")
        for name in ("passes", "measure_every", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name!r} of Procedure must be above 0. Got {value!r}.")

    def symbols(self, length: int) -> int:
        """Updates in all, of streams with a mean length."""
        return max(1, round(self.passes * length))

    def config(self, length: int) -> TrainingConfig:
        steps = math.ceil(self.symbols(length) / PIECE)
        every = None if self.measure_every is None else max(1, round(self.measure_every * length / PIECE))
        return TrainingConfig(
            steps=steps, batch=1, learning_rate=self.learning_rate, dtype=self.dtype, record_every=every or steps
        )
