"""Multinomial logistic regression on many splits of the same samples at once, growing by one unit at a time.

The functional group of a diagnosis needs a classifier for each size and split. Here the splits are one batched problem
and each size starts from the solution of the one before, so that a size costs a few steps of L-BFGS. The problem is
scikit-learn's (mean cross entropy plus |w|^2 / (2 C n), intercepts free), and strictly convex in the weights: the
solution is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float

TOLERANCE = 1e-4  # largest entry of the gradient, as in scikit-learn
MEMORY = 10  # pairs of steps and gradient changes
ENOUGH = 1e-4  # share of the promised descent that a step must bring
HALVINGS = 30


class GrowingClassifiers:
    """One classifier per split, on the units given to ``add`` so far."""

    def __init__(
        self, target: np.ndarray, classes: int, halves: Sequence[tuple[np.ndarray, np.ndarray]], c: float, limit: int
    ) -> None:
        self.target, self.limit, self.unconverged = torch.from_numpy(target), limit, 0
        self.values = torch.ones(len(target), 1, dtype=torch.float64)  # the first column is the intercept's
        self.coefficients = torch.zeros(len(halves), classes, 1, dtype=torch.float64)
        self.weights = torch.zeros(len(target), len(halves), dtype=torch.float64)  # 1/n where a sample is trained on
        for split, (training, _) in enumerate(halves):
            self.weights[training, split] = 1 / len(training)
        self.tests = [torch.from_numpy(test) for _, test in halves]
        self.penalty = torch.tensor([1 / (c * len(training)) for training, _ in halves], dtype=torch.float64)
        self.hot = torch.nn.functional.one_hot(self.target, classes).double()[:, None]

    def add(self, unit: np.ndarray) -> np.ndarray:
        """Accuracy on each split's test samples with one more unit (its value for every sample)."""
        self.values = torch.cat([self.values, torch.from_numpy(unit)[:, None]], 1)
        splits, classes, size = self.coefficients.shape
        start = torch.cat([self.coefficients, torch.zeros(splits, classes, 1, dtype=torch.float64)], 2)
        found, gradient = self._minimize(start.flatten(1))
        self.coefficients = found.view(splits, classes, size + 1)
        self.unconverged += int((gradient.abs().amax(1) > TOLERANCE).sum())
        guesses = self._logits(found).argmax(-1)
        right = guesses == self.target[:, None]
        return np.array([float(right[test, split].double().mean()) for split, test in enumerate(self.tests)])

    def _logits(self, flat: Float[Tensor, "split parameter"]) -> Float[Tensor, "sample split class"]:
        splits, classes, _ = self.coefficients.shape
        return (self.values @ flat.view(splits * classes, -1).T).view(-1, splits, classes)

    def _loss(self, flat: Tensor) -> tuple[Float[Tensor, " split"], Float[Tensor, "split parameter"]]:
        """Loss and gradient of every split."""
        splits, classes, _ = self.coefficients.shape
        logs = self._logits(flat).log_softmax(-1)
        shaped = flat.view(splits, classes, -1)
        penalized = shaped * self.penalty[:, None, None]
        penalized[:, :, 0] = 0  # intercepts are free
        loss = -(logs * self.hot).sum(-1).mul(self.weights).sum(0) + (shaped * penalized).sum((1, 2)) / 2
        wrong = (logs.exp() - self.hot) * self.weights[..., None]
        gradient = (wrong.flatten(1).T @ self.values).view_as(shaped) + penalized
        return loss, gradient.flatten(1)

    def _minimize(self, point: Tensor) -> tuple[Tensor, Tensor]:
        """L-BFGS with halving, every split with its own step length; a split that has converged stands still."""
        loss, gradient = self._loss(point)
        pairs: list[tuple[Tensor, Tensor, Tensor]] = []  # step, change of gradient, 1 / their product
        for _ in range(self.limit):
            moving = gradient.abs().amax(1) > TOLERANCE
            if not bool(moving.any()):
                break
            direction = _direction(gradient, pairs) * moving[:, None]
            slope = (direction * gradient).sum(1)
            length = torch.ones_like(loss)
            for _ in range(HALVINGS):
                tried = point + length[:, None] * direction
                new_loss, new_gradient = self._loss(tried)
                short = new_loss > loss + ENOUGH * length * slope
                if not bool(short.any()):
                    break
                length = torch.where(short, length / 2, length)
            step, change = tried - point, new_gradient - gradient
            curved = (step * change).sum(1)
            inverse = torch.where(curved > 1e-12 * change.square().sum(1), 1 / curved, torch.zeros_like(curved))
            pairs = [*pairs[-(MEMORY - 1) :], (step, change, inverse)]
            point, loss, gradient = tried, new_loss, new_gradient
        return point, gradient


def _direction(gradient: Tensor, pairs: Sequence[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """Where the quadratic model of the last steps has its minimum (the two-loop recursion), split by split."""
    if not pairs:
        return -gradient / gradient.norm(dim=1, keepdim=True).clamp(min=1.0)
    result, shares = gradient, []
    for step, change, inverse in reversed(pairs):
        share = inverse * (step * result).sum(1)
        shares.append(share)
        result = result - share[:, None] * change
    step, change, inverse = pairs[-1]
    size = change.square().sum(1) * inverse
    result = result / torch.where(size > 0, size, torch.ones_like(size))[:, None]
    for (step, change, inverse), share in zip(pairs, reversed(shares), strict=True):
        result = result + (share - inverse * (change * result).sum(1))[:, None] * step
    return -result
