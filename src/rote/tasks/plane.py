"""The plane with a corner held out: source 001, section 6 and appendix C.

Two hidden labels Y1, Y2 in {0, 1} give the inputs X_i = Y_i - U[0, 1]. The class is Y1, which X1 > 0 decides alone.
Training never sees (Y1, Y2) = (1, 1), so X2 > 0 also excludes class 1 there: it is redundant, but informative.

The paper has no control on the plane. Ours are "random" (X2 uniform and independent of the class: the corner is seen,
as in setting B of the paper's other experiments) and "narrow" (Y2 = 0 always: X2 says nothing, the corner is unseen).
All three settings give a seed the same X1 and class at each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least
from rote.errors import UsageError
from rote.tasks.task import tasks

Setting = Literal["redundant", "random", "narrow"]
TRAIN, LAYOUT = 0, 1  # streams of random numbers


@dataclass(frozen=True)
class Examples:
    inputs: NDArray[np.float64]  # [..., 2]: X1, X2
    targets: NDArray[np.int64]  # [...]: Y1


@tasks.register("plane")
@dataclass(frozen=True)
class PlaneTask:
    """Tell the left from the right half of a plane when one quadrant is never seen in training."""

    setting: Setting = "redundant"
    points: int | None = (
        None  # size of a fixed training set that is gone through in order; None: fresh points each step
    )

    def __post_init__(self) -> None:
        at_least(self, 1, "points")

    def training(self, seed: int, block: int, steps: int, batch: int) -> Examples:
        """Batches ``block * steps`` to ``(block + 1) * steps - 1`` of a seed, [steps, batch]; any block on its own."""
        if self.points is None:
            return self._draw(np.random.default_rng((seed, TRAIN, block)), (steps, batch))
        pool = self._draw(np.random.default_rng((seed, TRAIN)), (self.points,))
        order = np.arange(block * steps * batch, (block + 1) * steps * batch) % self.points
        return Examples(pool.inputs[order].reshape(steps, batch, 2), pool.targets[order].reshape(steps, batch))

    def corner(self, per_side: int) -> Examples:
        """The held-out quadrant, covered evenly: shares of these points are shares of its area."""
        inputs = _square(per_side, 0.0, 0.0)
        return Examples(inputs, np.ones(len(inputs), dtype=np.int64))

    def seen(self, per_side: int) -> Examples:
        """The three quadrants of the published training distribution, covered evenly."""
        lows = ((-1.0, -1.0), (-1.0, 0.0), (0.0, -1.0))
        inputs = np.concatenate([_square(per_side, *low) for low in lows])
        return Examples(inputs, (inputs[:, 0] > 0).astype(np.int64))

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> Examples:
        combination = random.integers(0, 3, shape)  # (0, 0), (0, 1), (1, 0), equally often
        noise = random.random((*shape, 2))
        y1 = (combination == 2).astype(np.int64)
        inputs = -noise
        inputs[..., 0] += y1
        if self.setting == "redundant":
            inputs[..., 1] += combination == 1
        elif self.setting == "random":
            inputs[..., 1] += random.integers(0, 2, shape)
        return Examples(inputs, y1)


@dataclass(frozen=True)
class ChosenPlane(PlaneTask):
    """Any combinations of the labels in training, and any share of points whose X2 follows its label.

    With the defaults the batches are those of "redundant", with ``redundancy=0`` those of "random", and with the
    combinations (0, 2) X2 says nothing, as in "narrow".
    """

    combinations: tuple[int, ...] = (0, 1, 2)  # 2 * Y1 + Y2 of those that training shows, equally often
    redundancy: float = 1.0  # share of the points whose X2 follows Y2; of the others X2 is independent of everything
    noise: float = 0.0  # standard deviation of what is added to both inputs; the class stays

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.combinations or not set(self.combinations) <= {0, 1, 2, 3}:
            raise UsageError(f"'combinations' must be at least one of 0, 1, 2 and 3. Got {self.combinations}.")
        at_least(self, 0, "redundancy", "noise")

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> Examples:
        combination = np.array(self.combinations)[random.integers(0, len(self.combinations), shape)]
        inputs = -random.random((*shape, 2))
        coin, follows = random.integers(0, 2, shape), random.random(shape) < self.redundancy
        y1 = combination // 2
        inputs[..., 0] += y1
        inputs[..., 1] += np.where(follows, combination % 2, coin)
        inputs += self.noise * random.standard_normal(inputs.shape)
        return Examples(inputs, y1)


def grid(per_side: int) -> NDArray[np.float64]:
    """Points of a regular grid over [-1, 1] x [-1, 1], X1 running fastest: [per_side ** 2, 2]."""
    axis = np.linspace(-1.0, 1.0, per_side)
    x2, x1 = np.meshgrid(axis, axis, indexing="ij")
    return np.stack([x1.ravel(), x2.ravel()], axis=-1)


def _square(per_side: int, low1: float, low2: float) -> NDArray[np.float64]:
    middles = (np.arange(per_side) + 0.5) / per_side
    x2, x1 = np.meshgrid(middles + low2, middles + low1, indexing="ij")
    return np.stack([x1.ravel(), x2.ravel()], axis=-1)
