"""The operations: what a network is computed with, each with its derivative.

Those with the names of the lecture's engine take what they take there; beyond it they broadcast, as NumPy does. The
last three are made of the others. ``fused.py`` has two more, which do many steps at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rote.chalk.tensor import Array, Ctx, Operation, Tensor, tensor_op


def unbroadcast(grad: Array, shape: tuple[int, ...]) -> Array:
    """A number that was used in many places gets the sum of their gradients."""
    if grad.shape == shape:
        return grad
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    repeated = tuple(axis for axis, size in enumerate(shape) if size == 1)
    return np.asarray(grad.sum(axis=repeated, keepdims=True)).reshape(shape)


def of_two(name: str, function: Any, gradients: Any) -> Callable[..., Tensor]:
    """An operation on two arrays that broadcast; ``gradients``: of both, from that of the result and the inputs."""

    class OfTwo(Operation):
        @staticmethod
        def forward(ctx: Ctx, a: Array, b: Array) -> Array:
            ctx += [a, b]
            return function(a, b)

        @staticmethod
        def backward(ctx: Ctx, grad_output: Array) -> list[Array]:
            found = zip(gradients(grad_output, *ctx), ctx, strict=True)
            return [unbroadcast(gradient, given.shape) for gradient, given in found]

    OfTwo.__name__ = name
    return tensor_op(OfTwo)


def of_one(name: str, function: Any, derivative: Any) -> Callable[..., Tensor]:
    """An operation on each number for itself; ``derivative`` from input and result."""

    class OfOne(Operation):
        @staticmethod
        def forward(ctx: Ctx, a: Array) -> Array:
            ctx += [a, function(a)]
            return ctx[1]

        @staticmethod
        def backward(ctx: Ctx, grad_output: Array) -> list[Array]:
            return [grad_output * derivative(*ctx)]

    OfOne.__name__ = name
    return tensor_op(OfOne)


# The table of derivatives. Logistic functions by tanh and logaddexp, because exp(-a) overflows.
add = of_two("add", np.add, lambda grad, a, b: (grad, grad))
minus = of_two("minus", np.subtract, lambda grad, a, b: (grad, -grad))
multiply = of_two("multiply", np.multiply, lambda grad, a, b: (grad * b, grad * a))
divide = of_two("divide", np.divide, lambda grad, a, b: (grad / b, -grad * a / b**2))
exp = of_one("exp", np.exp, lambda a, result: result)
log = of_one("log", np.log, lambda a, result: 1 / a)
relu = of_one("relu", lambda a: np.maximum(a, 0), lambda a, result: a > 0)
tanh = of_one("tanh", np.tanh, lambda a, result: 1 - result**2)
sigmoid = of_one("sigmoid", lambda a: (np.tanh(a / 2) + 1) / 2, lambda a, result: result * (1 - result))
log_sigmoid = of_one("log_sigmoid", lambda a: -np.logaddexp(0, -a), lambda a, result: (1 - np.tanh(a / 2)) / 2)
identity = of_one("identity", lambda a: a, lambda a, result: 1)  # the same number, with a gradient of its own


@tensor_op
class matmul(Operation):
    """Also of stacks of matrices ([..., n, k] by [..., k, m]) and of vectors."""

    @staticmethod
    def forward(ctx: Ctx, a: Array, b: Array) -> Array:
        ctx += [a, b]
        return a @ b

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array, ...]:
        a, b = ctx
        row, column = a[None, :] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b  # a vector as a matrix
        grad = grad_output[..., None] if b.ndim == 1 else grad_output
        grad = grad[..., None, :] if a.ndim == 1 else grad
        grad_a = unbroadcast(grad @ column.swapaxes(-1, -2), row.shape)
        return grad_a.reshape(a.shape), unbroadcast(row.swapaxes(-1, -2) @ grad, column.shape).reshape(b.shape)


@tensor_op
class power(Operation):
    @staticmethod
    def forward(ctx: Ctx, a: Array, exponent: float) -> Array:
        if not isinstance(exponent, int | float | np.number):
            raise TypeError(f"power takes a number as its exponent. Got {type(exponent).__name__}.")
        ctx += [a, exponent]
        return a**exponent

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array]:
        a, exponent = ctx
        return (grad_output * exponent * a ** (exponent - 1),) if exponent else (np.zeros_like(grad_output),)


@tensor_op
class log_softmax(Operation):
    """Along the last axis, without overflow and without the logarithm of 0."""

    @staticmethod
    def forward(ctx: Ctx, a: Array) -> Array:
        a = a - a.max(axis=-1, keepdims=True)
        ctx.append(a - np.log(np.exp(a).sum(axis=-1, keepdims=True)))
        return ctx[0]

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array]:
        return (grad_output - np.exp(ctx[0]) * grad_output.sum(axis=-1, keepdims=True),)


@tensor_op
class reduce_sum(Operation):
    @staticmethod
    def forward(ctx: Ctx, a: Array, axis: Any = None, keepdims: bool = False) -> Array:
        ctx += [a.shape, axis if axis is not None and not keepdims else ()]
        return a.sum(axis=axis, keepdims=keepdims)

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array]:
        shape, lost = ctx
        return (np.broadcast_to(np.expand_dims(grad_output, lost), shape),)


@tensor_op
class reduce_mean(Operation):
    @staticmethod
    def forward(ctx: Ctx, a: Array, axis: Any = None, keepdims: bool = False) -> Array:
        result = a.mean(axis=axis, keepdims=keepdims)
        ctx += [a.shape, axis if axis is not None and not keepdims else (), a.size // max(1, result.size)]
        return result

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array]:
        shape, lost, count = ctx
        return (np.broadcast_to(np.expand_dims(grad_output / count, lost), shape),)


@tensor_op
class copy_rows(Operation):
    """A vector as each of ``num`` rows."""

    @staticmethod
    def forward(ctx: Ctx, a: Array, num: int) -> Array:
        return np.repeat(a[None], num, axis=0)

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array]:
        return (grad_output.sum(axis=0),)


@tensor_op
class reshape(Operation):
    @staticmethod
    def forward(ctx: Ctx, a: Array, shape: tuple[int, ...]) -> Array:
        ctx.append(a.shape)
        return a.reshape(shape)

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array]:
        return (grad_output.reshape(ctx[0]),)


@tensor_op
class transpose(Operation):
    @staticmethod
    def forward(ctx: Ctx, a: Array, axes: tuple[int, ...] | None = None) -> Array:
        ctx.append(None if axes is None else tuple(np.argsort(axes)))
        return np.transpose(a, axes)

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array]:
        return (np.transpose(grad_output, ctx[0]),)


@tensor_op
class concat(Operation):
    @staticmethod
    def forward(ctx: Ctx, *parts: Array, axis: int = -1) -> Array:
        ctx += [np.cumsum([part.shape[axis] for part in parts])[:-1], axis]
        return np.concatenate(parts, axis=axis)

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> list[Array]:
        places, axis = ctx
        return np.split(grad_output, places, axis=axis)


@tensor_op
class pick(Operation):
    """``tensor[index]``: numbers, slices, arrays of numbers or of truth values, as in NumPy."""

    @staticmethod
    def forward(ctx: Ctx, a: Array, index: Any) -> Array:
        index = index.value if isinstance(index, Tensor) else index
        ctx += [a.shape, a.dtype, index]
        return a[index]

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array]:
        shape, dtype, index = ctx
        grad = np.zeros(shape, dtype if dtype.kind == "f" else np.float64)
        parts = index if isinstance(index, tuple) else (index,)
        if all(part is None or isinstance(part, int | slice | type(Ellipsis)) for part in parts):
            grad[index] = grad_output
        else:
            np.add.at(grad, index, grad_output)  # what is picked twice gets both gradients
        return (grad,)


@tensor_op
class lookup_rows(Operation):
    """An embedding: the rows [n, ...] of ``matrix`` that the whole numbers ``indices`` name."""

    @staticmethod
    def forward(ctx: Ctx, matrix: Array, indices: Array) -> Array:
        check_labels(indices, len(matrix))
        ctx += [matrix, indices]
        return matrix[indices]

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array, None]:
        matrix, indices = ctx
        if is_time_first(grad_output) and indices.ndim == 2:
            grad_output, indices = grad_output.swapaxes(0, 1), indices.T
        indices = indices.ravel()
        grad, counts = np.zeros_like(matrix), np.bincount(indices, minlength=len(matrix))
        rows = np.flatnonzero(counts)
        if len(rows):  # gradients of the same row side by side, then summed: several times as fast as np.add.at
            ordered = grad_output.reshape(-1, *matrix.shape[1:])[np.argsort(indices, kind="stable")]
            grad[rows] = np.add.reduceat(ordered, (np.cumsum(counts) - counts)[rows])
        return grad, None


def is_time_first(a: Array) -> bool:
    """Whether [batch, time, unit] lies as [time, batch, unit] in memory, as ``rnn`` leaves it: then it is copied if it
    is flattened in the first order, and not in the second."""
    return a.ndim == 3 and a.strides[0] < a.strides[1]


def check_labels(labels: Array, count: int) -> None:
    if labels.dtype.kind not in "iu":
        raise ValueError(f"labels are whole numbers. Got {labels.dtype}.")
    if labels.size and (labels.min() < 0 or labels.max() >= count):
        raise IndexError(f"labels must be 0 to {count - 1}. Got {labels.min()} to {labels.max()}.")


def check_targets(targets: Array, mask: Array | None, positions: tuple[int, ...], count: int) -> None:
    """One label for each position of the logits, at least one that counts."""
    check_labels(targets, count)
    for name, given in (("targets", targets), ("mask", mask)):
        if given is not None and given.shape != positions:
            raise ValueError(f"The {name} must have the shape {positions} of the positions. Got {given.shape}.")
    if not targets.size or (mask is not None and not mask.any()):
        raise ValueError("No position is left, so there is no mean of their losses.")


def mse_loss(predicted: Tensor, targets: Tensor) -> Tensor:
    return reduce_mean((predicted - targets) ** 2)


def stack(*parts: Tensor, axis: int = 0) -> Tensor:
    if not parts:
        raise ValueError("stack takes at least one tensor. Got none, as of a sequence of no steps.")
    shape = list(parts[0].shape)
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    return concat(*[reshape(part, shape=tuple(shape)) for part in parts], axis=axis)


def cross_entropy(logits: Tensor, targets: Any, mask: Any = None) -> Tensor:
    """Mean of -log softmax(logits)[target] over the positions that the mask (1 = a real token) leaves."""
    targets = np.asarray(targets.value if isinstance(targets, Tensor) else targets)
    mask = None if mask is None else np.asarray(mask.value if isinstance(mask, Tensor) else mask, logits.dtype)
    check_targets(targets, mask, logits.shape[:-1], logits.shape[-1])
    losses = -log_softmax(logits)[(*np.indices(targets.shape, sparse=True), targets)]
    return reduce_mean(losses) if mask is None else reduce_sum(losses * mask) / float(mask.sum())
