"""The settings of the playground with their bounds: what a client sends, a link holds and a session is made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, field_validator

from rote.explorer.messages import Body
from rote.tasks.plane import ChosenPlane

COMBINATIONS = ("00", "01", "10", "11")  # labels Y1 Y2
Combination = Literal["00", "01", "10", "11"]


class PlaneSettings(Body):
    """What determines a session. Sizes, activation and seeds make new networks; the rest can change as they learn."""

    model_config = ConfigDict(frozen=True)

    combinations: Annotated[tuple[Combination, ...], Field(min_length=1, max_length=4)] = ("00", "01", "10")  # shown
    redundancy: Annotated[float, Field(ge=0, le=1)] = 1.0  # share of the points whose X2 follows Y2
    noise: Annotated[float, Field(ge=0, le=1)] = 0.0  # standard deviation, added to both inputs
    batch: Annotated[int, Field(ge=1, le=100)] = 10
    points: Annotated[int, Field(ge=0, le=1000)] = 0  # size of a fixed training set; 0: fresh points for each update
    learning_rate: Annotated[float, Field(gt=0, le=10)] = 0.1
    regularization: Literal["none", "l1", "l2"] = "none"
    strength: Annotated[float, Field(ge=0, le=10)] = 0.001
    hidden: Annotated[tuple[Annotated[int, Field(ge=1, le=16)], ...], Field(max_length=6)] = (8, 8, 8)
    activation: Literal["relu", "tanh", "sigmoid", "linear"] = "relu"
    seeds: Annotated[int, Field(ge=1, le=8)] = 4  # networks side by side
    seed: Annotated[int, Field(ge=0, le=2**31)] = 0  # of the first network; the others have the next numbers

    @field_validator("combinations")
    @classmethod
    def _in_order(cls, value: tuple[Combination, ...]) -> tuple[Combination, ...]:
        return tuple(name for name in COMBINATIONS if name in value)

    def task(self) -> ChosenPlane:
        chosen = tuple(COMBINATIONS.index(name) for name in self.combinations)
        return ChosenPlane(
            points=self.points or None, combinations=chosen, redundancy=self.redundancy, noise=self.noise
        )  # fmt: skip

    def seed_numbers(self) -> range:
        return range(self.seed, self.seed + self.seeds)

    def same_networks(self, other: PlaneSettings) -> bool:
        return all(
            getattr(self, name) == getattr(other, name) for name in ("hidden", "activation", "seeds", "seed")
        )  # fmt: skip
