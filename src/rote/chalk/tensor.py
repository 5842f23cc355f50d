"""Tensors that remember how they were made, and backpropagation through what they remember (source 004, "@tensor_op").

An ``Operation`` is two functions on arrays: ``forward`` and its derivative ``backward``, which share notes in the list
``ctx``. ``tensor_op`` turns it into a function on tensors that also draws the computation graph: each result knows its
parents and the operation that made it. ``backward()`` walks that graph from a loss to everything it depends on.

Names and behavior are those of the lecture's engine (edugrad); what differs is said in docs/chalk.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ctx = list[Any]
_recording = True


class Operation:
    """Subclass it, write both functions, decorate it with ``@tensor_op``."""

    if TYPE_CHECKING:  # type checkers do not see what the decorator makes of the class

        def __new__(cls, *inputs: Any, **kwargs: Any) -> Tensor: ...  # type: ignore[misc]

    @staticmethod
    def forward(ctx: Ctx, *inputs: Any, **kwargs: Any) -> Any:
        """The result's value from the inputs' values; what ``backward`` will need is appended to ``ctx``."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Ctx, grad_output: Any) -> Sequence[Any]:
        """From d loss / d result: d loss / d input for every input, in its shape; None where there is none."""
        raise NotImplementedError


def tensor_op(op: type[Operation]) -> Callable[..., Tensor]:
    """The operation as a function on tensors (numbers and arrays become constants). Options go to ``forward`` only."""

    def fn(*inputs: Any, **kwargs: Any) -> Tensor:
        parents, ctx = _as_tensors(inputs), list[Any]()
        try:
            value = op.forward(ctx, *[tensor.value for tensor in parents], **kwargs)
        except (ValueError, IndexError) as error:
            shapes = ", ".join(str(tensor.shape) for tensor in parents)
            kind = ValueError if isinstance(error, ValueError) else IndexError
            raise kind(f"{op.__name__} of shapes {shapes}: {error}") from error
        if not _recording:
            return Tensor(value, name=op.__name__)
        result = Tensor(value, parents, op.__name__)
        result._operation, result._ctx = op, ctx
        return result

    return functools.update_wrapper(fn, op, updated=())


@contextmanager
def no_grad() -> Iterator[None]:
    """Inside, results are numbers without a history: for evaluation."""
    global _recording
    before, _recording = _recording, False
    try:
        yield
    finally:
        _recording = before


class Tensor:
    """``value``: an array. ``parents``: the tensors it was computed from. ``grad``: d loss / d value after backward().

    Leaves (no parents) add up the gradients of all backward() calls until they are zeroed; a tensor in between has
    that of the latest one.
    """

    __array_ufunc__ = None  # so that array + tensor is left to the tensor

    def __init__(self, value: Any, parents: Iterable[Tensor] = (), name: str | None = None) -> None:
        self.value: Any = value if isinstance(value, np.ndarray | np.generic) else np.asarray(value)
        if self.value.dtype.kind not in "fiub":
            raise TypeError(f"A Tensor holds numbers. Got {type(value).__name__} of {self.value.dtype}.")
        self.parents, self.name = tuple(parents), name
        self._grad: Array | None = None  # made when it is first needed
        self._operation: type[Operation] | None = None
        self._ctx: Ctx = []

    @property
    def grad(self) -> Array:
        """Zeros as long as nothing has arrived."""
        if self._grad is None:
            self._grad = np.zeros(self.shape, self._grad_dtype())
        return self._grad

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self._grad = None if gradient is None else np.array(gradient, self._grad_dtype())

    def backward(self) -> None:
        """Compute d self / d t for every tensor t that this number depends on, and add it to ``t.grad``."""
        if self.shape != ():
            raise ValueError(f"backward() starts at one number, a loss. This has shape {self.shape}: reduce_sum it.")
        order = self._topo_sort()
        for tensor in order:
            if tensor.parents:
                tensor._grad = None
        self._receive(1.0)
        for tensor in reversed(order):
            tensor._backward()

    def _backward(self) -> None:
        """One step of the chain rule: from this tensor's gradient to its parents'."""
        if self._operation is not None and self._grad is not None:
            given = self._operation.backward(self._ctx, self._grad)
            for parent, gradient in zip(self.parents, _checked(self._operation, given, self.parents), strict=True):
                if gradient is not None:
                    parent._receive(gradient)

    def _receive(self, gradient: Any) -> None:
        if self._grad is None:
            self.grad = gradient  # a copy: an operation may hand one array to several parents
        else:
            self._grad += gradient

    def _topo_sort(self) -> list[Tensor]:
        """All tensors behind this one, each after its parents; itself last. A loop, so that no graph is too deep."""
        order: list[Tensor] = []
        seen: set[Tensor] = set()
        stack = [(self, False)]
        while stack:
            tensor, parents_done = stack.pop()
            if parents_done:
                order.append(tensor)
            elif tensor not in seen:
                seen.add(tensor)
                stack.append((tensor, True))
                stack += [(parent, False) for parent in reversed(tensor.parents)]
        return order

    def get_graph_above(self) -> list[tuple[Tensor, Tensor]]:
        """The edges (parent, child) of the graph that ends here."""
        return [(parent, tensor) for tensor in self._topo_sort() for parent in tensor.parents]

    def _grad_dtype(self) -> Any:
        return self.value.dtype if self.value.dtype.kind == "f" else np.float64

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def T(self) -> Tensor:  # noqa: N802 (the name that NumPy gives it)
        return ops.transpose(self)

    def item(self) -> Any:
        return self.value.item()

    def detach(self) -> Tensor:
        """The same array without its history."""
        return Tensor(self.value, name=self.name)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("A single number cannot be iterated over.")
        return (self[place] for place in range(self.shape[0]))

    def __repr__(self) -> str:
        made = f", name={self.name!r}" if self.name else ""
        shown = np.array2string(np.asarray(self.value), precision=4, threshold=20, edgeitems=2, prefix="Tensor(")
        return f"Tensor({shown}{made})"

    # fmt: off
    def __add__(self, other: Any) -> Tensor: return ops.add(self, other)
    def __radd__(self, other: Any) -> Tensor: return ops.add(other, self)
    def __sub__(self, other: Any) -> Tensor: return ops.minus(self, other)
    def __rsub__(self, other: Any) -> Tensor: return ops.minus(other, self)
    def __mul__(self, other: Any) -> Tensor: return ops.multiply(self, other)
    def __rmul__(self, other: Any) -> Tensor: return ops.multiply(other, self)
    def __truediv__(self, other: Any) -> Tensor: return ops.divide(self, other)
    def __rtruediv__(self, other: Any) -> Tensor: return ops.divide(other, self)
    def __matmul__(self, other: Any) -> Tensor: return ops.matmul(self, other)
    def __rmatmul__(self, other: Any) -> Tensor: return ops.matmul(other, self)
    def __neg__(self) -> Tensor: return ops.multiply(self, -1.0)
    def __pow__(self, exponent: float) -> Tensor: return ops.power(self, exponent=exponent)
    def __getitem__(self, index: Any) -> Tensor: return ops.pick(self, index=index)
    # fmt: on


def _as_tensors(inputs: Sequence[Any]) -> list[Tensor]:
    """Python numbers take the precision of the tensors beside them, so that 2 * x stays float32 where x is."""
    if all(isinstance(given, Tensor) for given in inputs):
        return list(inputs)
    near = next((given.dtype for given in inputs if isinstance(given, Tensor) and given.dtype.kind == "f"), None)
    return [
        given if isinstance(given, Tensor)
        else Tensor(np.asarray(given, near if isinstance(given, int | float) else None))
        for given in inputs
    ]  # fmt: skip


def _checked(op: type[Operation], given: Any, parents: Sequence[Tensor]) -> list[Any]:
    """The gradients that a backward() returned: one for each input, in the input's shape."""
    if len(parents) == 1 and np.shape(given) == parents[0].shape and isinstance(given, np.ndarray | np.generic):
        return [given]  # a single gradient may come without a list around it
    gradients = list(given) if isinstance(given, Iterable) else [given]
    if len(gradients) != len(parents):
        raise ValueError(f"{op.__name__}.backward returned {len(gradients)} gradients for {len(parents)} inputs.")
    for place, (gradient, parent) in enumerate(zip(gradients, parents, strict=True)):
        if gradient is not None and np.shape(gradient) != parent.shape:
            raise ValueError(
                f"{op.__name__}.backward returned a gradient of shape {np.shape(gradient)} for input {place}, "
                f"which has shape {parent.shape}."
            )
    return gradients


from rote.chalk import ops  # noqa: E402 (the operators above are operations, which are written with this file)
