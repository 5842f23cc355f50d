"""Is a derivative right? Compared with what the function itself does when its inputs move a little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rote.chalk.ops import reduce_sum
from rote.chalk.tensor import Array, Tensor, no_grad


def gradcheck(function: Callable[..., Tensor], *inputs: Any, step: float = 1e-6, tolerance: float = 1e-6) -> float:
    """The largest difference between the gradients of ``function`` and central differences, in float64.

    Relative where a gradient is larger than 1. Above ``tolerance`` it is an error that names the place. All inputs that
    are floating point are checked; a result of many numbers by a fixed mixture of them, so that no two can be swapped.
    """
    values = [np.array(given.value if isinstance(given, Tensor) else given) for given in inputs]
    values = [value.astype(np.float64) if value.dtype.kind == "f" else value for value in values]
    tensors = [Tensor(value) for value in values]

    def mixed() -> Tensor:
        result = function(*tensors)
        return reduce_sum(result * np.random.default_rng(0).normal(size=result.shape))

    mixed().backward()
    worst = 0.0
    for place, tensor in enumerate(tensors):
        for index in np.ndindex(tensor.shape) if tensor.dtype.kind == "f" else ():
            expected = _difference(mixed, tensor.value, index, step)
            error = abs(tensor.grad[index] - expected) / max(1.0, abs(expected))
            worst = max(worst, float(error))
            if not error <= tolerance:
                raise ValueError(
                    f"The gradient of input {place} at {index} is {tensor.grad[index]:.6g}; the function's own "
                    f"difference is {expected:.6g}."
                )
    return worst


def _difference(function: Callable[[], Tensor], value: Array, index: tuple[int, ...], step: float) -> float:
    kept, found = value[index], []
    with no_grad():
        for moved in (kept + step, kept - step):
            value[index] = moved
            found.append(float(function().value))
    value[index] = kept
    return (found[0] - found[1]) / (2 * step)
