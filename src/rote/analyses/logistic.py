"""Multinomial logistic regression on many splits of the same samples at once, growing by one unit at a time.

The functional group of a diagnosis needs a classifier for each size and split. Here the splits are one batched problem
and each size starts from the solution of the one before, so that a size costs a few steps of L-BFGS. The problem is
scikit-learn's (mean cross entropy plus |w|^2 / (2 C n), intercepts free), and strictly convex in the weights: the
solution is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """One classifier per split, on the units given to ``add`` so far. Samples are the last axis: the sums over classes
    then run along memory, which is most of the work."""

    def __init__(
        self, target: np.ndarray, classes: int, halves: Sequence[tuple[np.ndarray, np.ndarray]], c: float, limit: int
    ) -> None:
        self.target, self.limit, self.unconverged = torch.from_numpy(target), limit, 0
        self.values = torch.ones(1, len(target), dtype=torch.float64)  # the first row is the intercept's
        self.coefficients = torch.zeros(classes, len(halves), 1, dtype=torch.float64)
        self.weights = torch.zeros(len(halves), len(target), dtype=torch.float64)  # 1/n where a sample is trained on
        for split, (training, _) in enumerate(halves):
            self.weights[split, training] = 1 / len(training)
        self.tests = [torch.from_numpy(test) for _, test in halves]
        self.penalty = torch.tensor([1 / (c * len(training)) for training, _ in halves], dtype=torch.float64)[:, None]
        self.hot = torch.nn.functional.one_hot(self.target, classes).double().T[:, None] * self.weights

    def add(self, unit: np.ndarray) -> np.ndarray:
        """Accuracy on each split's test samples with one more unit (its value for every sample)."""
        self.values = torch.cat([self.values, torch.from_numpy(unit)[None]])
        start = torch.cat([self.coefficients, torch.zeros_like(self.coefficients[..., :1])], 2)
        self.coefficients, gradient = self._minimize(start)
        self.unconverged += int((_largest(gradient) > TOLERANCE).sum())
        right = self._logits(self.coefficients).argmax(0) == self.target
        return np.array([float(right[split, test].double().mean()) for split, test in enumerate(self.tests)])

    def _logits(self, point: Float[Tensor, "class split unit"]) -> Float[Tensor, "class split sample"]:
        return (point.flatten(0, 1) @ self.values).view(*point.shape[:2], -1)

    def _loss(self, point: Tensor) -> tuple[Float[Tensor, " split"], Float[Tensor, "class split unit"]]:
        """Loss and gradient of every split."""
        logs = self._logits(point).log_softmax(0)
        penalized = point * self.penalty
        penalized[..., 0] = 0  # intercepts are free
        loss = (point * penalized).sum((0, 2)) / 2 - (logs * self.hot).sum((0, 2))
        wrong = logs.exp_().mul_(self.weights).sub_(self.hot)
        gradient = (wrong.flatten(0, 1) @ self.values.T).view_as(point)
        return loss, gradient + penalized

    def _minimize(self, point: Tensor) -> tuple[Tensor, Tensor]:
        """L-BFGS with halving, every split with its own step length; a split that has converged stands still.

        Steps and gradients are kept as one column for each split, so that an inner product is one call without copies.
        """
        loss, gradient = self._loss(point)
        pairs: list[_Pair] = []
        slopes = _columns(gradient)
        for _ in range(self.limit):
            moving = _largest(gradient) > TOLERANCE
            if not bool(moving.any()):
                break
            columns = _direction(slopes, pairs) * moving[:, None, None]
            slope, direction = _inner(_row(columns), slopes).view(-1), _by_class(columns, len(point))
            length = torch.ones_like(loss)
            for _ in range(HALVINGS):
                tried = point + length[:, None] * direction
                new_loss, new_gradient = self._loss(tried)
                short = new_loss > loss + ENOUGH * length * slope
                if not bool(short.any()):
                    break
                length = torch.where(short, length / 2, length)
            new_slopes = _columns(new_gradient)
            step, change = _columns(tried - point), new_slopes - slopes
            rows = _row(step), _row(change)
            curved, size = _inner(rows[0], change), _inner(rows[1], change)
            inverse = torch.where(curved > 1e-12 * size, 1 / curved, torch.zeros_like(curved))
            pairs = [*pairs[-(MEMORY - 1) :], (step, change, *rows, inverse, size)]
            point, loss, gradient, slopes = tried, new_loss, new_gradient, new_slopes
        return point, gradient


# step and change of gradient as columns and as rows, 1 / their product, square of the change
_Pair = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def _columns(values: Float[Tensor, "class split unit"]) -> Float[Tensor, "split coefficient 1"]:
    return values.transpose(0, 1).flatten(1)[:, :, None]


def _row(columns: Float[Tensor, "split coefficient 1"]) -> Float[Tensor, "split 1 coefficient"]:
    """Laid out as a row: of a transposed column of one split torch's product has other bits."""
    return columns.squeeze(-1).unsqueeze(1)


def _by_class(columns: Float[Tensor, "split coefficient 1"], classes: int) -> Float[Tensor, "class split unit"]:
    return columns.view(len(columns), classes, -1).transpose(0, 1).contiguous()


_inner: Callable[[Tensor, Tensor], Tensor] = torch.bmm  # of rows and columns: [split, 1, 1]


def _largest(gradient: Float[Tensor, "class split unit"]) -> Float[Tensor, " split"]:
    return gradient.abs().amax((0, 2))


def _direction(gradient: Float[Tensor, "split coefficient 1"], pairs: Sequence[_Pair]) -> Tensor:
    """Where the quadratic model of the last steps has its minimum (the two-loop recursion), split by split."""
    if not pairs:
        return -gradient / _inner(_row(gradient), gradient).sqrt().clamp(min=1.0)
    result, shares = gradient.clone(), []
    for _, change, step, _, inverse, _ in reversed(pairs):
        shares.append(inverse * _inner(step, result))
        result.sub_(shares[-1] * change)
    *_, inverse, square = pairs[-1]
    size = square * inverse
    result.div_(torch.where(size > 0, size, torch.ones_like(size)))
    for (step, _, _, change, inverse, _), share in zip(pairs, reversed(shares), strict=True):
        result.add_((share - inverse * _inner(change, result)) * step)
    return result.neg_()
