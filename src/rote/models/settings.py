"""The keys ``model.*`` of the studies. Apart from the models, so that reading a configuration does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rote.config import at_least

Activation = Literal["relu", "tanh", "sigmoid", "linear"]


@dataclass(frozen=True)
class MLPConfig:
    hidden: int = 8  # units in each hidden layer
    layers: int = 3  # hidden layers
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden")
        at_least(self, 0, "layers")
