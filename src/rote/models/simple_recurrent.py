"""Elman's simple recurrent network with his own learning procedure, many at once (Elman 1990, p. 182-184).

Logistic units, the hidden units copied to context units that start at 0.5, and after every symbol one step of
back-propagation of the squared error: the context is an input like any other, nothing is unrolled. Weights carry a
leading replica axis, and the last row of each is the bias. A step is a dozen operations on arrays of a few hundred
numbers, so that Python is what costs: hence all replicas in one loop, NumPy on the memory of the torch parameters
(which the store saves), and arrays that are allocated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import nn

Values = NDArray[Any]  # [replica, time, bit], float
REST = 0.5  # the context before the first symbol
WEIGHTS = 3  # stream of random numbers; tasks use 0 to 2


class StackedSRN(nn.Module):
    """One network per seed, each started from its own seed alone; on the CPU."""

    context: torch.Tensor

    def __init__(
        self, inputs: int, hidden: int, outputs: int, seeds: Sequence[int], limit: float, dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.inputs, self.hidden, self.outputs = inputs, hidden, outputs
        sizes = ((inputs + hidden + 1, hidden), (hidden + 1, outputs))
        drawn = [
            [_uniform((seed, WEIGHTS, number), limit, size) for number, size in enumerate(sizes)] for seed in seeds
        ]
        inner, outer = (torch.from_numpy(np.stack(weights)).to(dtype) for weights in zip(*drawn, strict=True))
        self.inner = nn.Parameter(inner, requires_grad=False)  # from input, context and bias to the hidden units
        self.outer = nn.Parameter(outer, requires_grad=False)  # from hidden units and bias to the outputs
        self.register_buffer("context", torch.full((len(seeds), hidden), REST, dtype=dtype))

    def learn(self, inputs: Values, targets: Values, rate: float) -> None:
        """Go through a piece of the streams once, changing the weights after every symbol; the context is carried on
        to the next piece."""
        step = _Step(self)
        rate = step.value(rate)
        for now, wanted in zip(step.by_time(inputs), step.by_time(targets), strict=True):
            step.forward(now)
            step.back(wanted, rate)
            step.copy_back()
        step.keep_context(self.context)

    def run(self, inputs: Values, context: NDArray[Any] | None = None) -> tuple[Values, Values]:
        """Hidden units and outputs without learning, from the context at rest or from a given one."""
        step = _Step(self)
        step.context[:] = REST if context is None else context
        replicas, time = inputs.shape[:2]
        hidden = np.empty((time, replicas, self.hidden), step.dtype)
        outputs = np.empty((time, replicas, self.outputs), step.dtype)
        for now, h, o in zip(step.by_time(inputs), hidden, outputs, strict=True):
            step.forward(now)
            h[:], o[:] = step.hidden, step.output[:, 0]
            step.copy_back()
        return hidden.transpose(1, 0, 2), outputs.transpose(1, 0, 2)


def _uniform(seed: tuple[int, ...], limit: float, shape: tuple[int, ...]) -> NDArray[Any]:
    return np.random.default_rng(seed).uniform(-limit, limit, shape)


class _Step:
    """The arrays of one step, and views of them in the shapes that its products need."""

    def __init__(self, model: StackedSRN) -> None:
        self.inner, self.outer = model.inner.detach().numpy(), model.outer.detach().numpy()
        self.dtype = self.inner.dtype
        replicas, below, units = self.inner.shape
        self.below = np.ones((replicas, below), self.dtype)  # input, context, 1
        self.input, self.context = self.below[:, : model.inputs], self.below[:, model.inputs : -1]
        self.context[:] = model.context.numpy()
        self.above = np.ones((replicas, units + 1), self.dtype)  # hidden, 1
        self.hidden = self.above[:, :units]
        self.sums, self.slopes = np.empty((replicas, 1, units), self.dtype), np.empty((replicas, units), self.dtype)
        self.output, self.error = (np.empty((replicas, 1, model.outputs), self.dtype) for _ in range(2))
        self.blame = np.empty((replicas, units, 1), self.dtype)
        self.inner_change, self.outer_change = np.empty_like(self.inner), np.empty_like(self.outer)
        self.from_hidden, self.error_column = self.outer[:, :units], self.error.transpose(0, 2, 1)

    def value(self, number: float) -> float:
        """In the precision of the weights, so that nothing is computed in another."""
        exact: float = self.dtype.type(number)
        return exact

    def by_time(self, values: Values) -> NDArray[Any]:
        return np.ascontiguousarray(values.transpose(1, 0, 2), dtype=self.dtype)

    def forward(self, now: NDArray[Any]) -> None:
        self.input[:] = now
        np.matmul(self.below[:, None], self.inner, out=self.sums)
        expit(self.sums[:, 0], out=self.hidden)
        np.matmul(self.above[:, None], self.outer, out=self.output)
        expit(self.output, out=self.output)

    def back(self, wanted: NDArray[Any], rate: float) -> None:
        """Half the squared error's gradient, with the weights as they were in the forward pass."""
        error, output, slopes = self.error, self.output, self.slopes
        np.subtract(wanted[:, None], output, out=error)
        error *= output
        np.subtract(1, output, out=output)
        error *= output
        error *= rate
        np.matmul(self.from_hidden, self.error_column, out=self.blame)
        np.subtract(1, self.hidden, out=slopes)
        slopes *= self.hidden
        slopes *= self.blame[:, :, 0]
        self.outer += np.multiply(self.above[:, :, None], error, out=self.outer_change)
        self.inner += np.multiply(self.below[:, :, None], slopes[:, None], out=self.inner_change)

    def copy_back(self) -> None:
        self.context[:] = self.hidden

    def keep_context(self, buffer: torch.Tensor) -> None:
        buffer.copy_(torch.from_numpy(self.context))
