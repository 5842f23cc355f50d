"""One trained network, ready to be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

Label = int | str


@dataclass(frozen=True)
class Network:
    """A network of a finished training: the model, the names of what it reads and says, and what tells it apart."""

    model: nn.Module
    labels: Mapping[str, Label] = field(default_factory=dict)  # seed, step, and what else tells it from the others
    inputs: tuple[str, ...] = ()  # names of the symbols that it reads; empty for a network that reads none
    outputs: tuple[str, ...] = ()
    example: str = ""  # a text as it was trained on
    closed: str = ""  # why it is no model of symbols, and what to do instead


@dataclass(frozen=True)
class Described:
    """A picture that a network was given, and what it says of it in words."""

    picture: NDArray[np.float32]  # [height, width], from 0 to 1
    right: str
    said: str
    part: str  # of the test, in words
