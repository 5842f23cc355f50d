"""What the training loop trains: one model, or a population of replicas stacked into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float


class Program(ABC):
    """A model on its task. ``losses(step)`` must depend on the step, the parameters and buffers, and torch's random
    state only: that is what lets a killed run go on to the identical result.
    """

    model: nn.Module
    replicas: int = 1
    stacked: bool = False  # parameters carry a leading replica axis
    monitored: str = "loss"  # the measure that early stopping makes small

    @abstractmethod
    def losses(self, step: int) -> Float[Tensor, " replica"]:
        """The loss of every replica on its batch number ``step``."""

    @abstractmethod
    def measure(self) -> dict[str, Any]:
        """What is recorded now, by name: a list with one number per replica, or plain data."""


class OnlineProgram(Program):
    """A program that changes its parameters itself, by a procedure that is not one optimizer step per loss: Elman's
    networks learn from each symbol. ``update(step)`` may depend on what ``losses`` of another program may."""

    @abstractmethod
    def update(self, step: int) -> None:
        """Piece number ``step`` of the training."""

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        raise TypeError(f"{type(self).__name__} learns by update().")
