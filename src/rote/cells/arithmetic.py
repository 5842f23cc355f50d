"""The arithmetic of a step. A cell writes its equations once, in these operations, and every analysis can run them.

With ``Plain`` the values are tensors: that is the ordinary forward pass, with the gates remembered by name. With the
arithmetics of ``rote.analyses.decomposition`` a value carries the part that comes from chosen inputs along with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, Self, TypeVar, cast

import torch
from torch import Tensor
from torch.nn import functional

from rote.errors import UsageError

if TYPE_CHECKING:
    from rote.cells.carried import Carried

Function = Callable[..., Tensor]
Norm = Literal["rms", "layer", "length"]


@dataclass(frozen=True)
class Arrangement:
    """How the units of the last axis are laid out anew or added up; ``back`` is the transpose, for gradients."""

    forward: Callable[[Tensor], Tensor]
    back: Callable[[Tensor], Tensor]

    @property
    def transposed(self) -> Arrangement:
        return Arrangement(self.back, self.forward)


def repeated(times: int) -> Arrangement:
    """Each unit so many times in a row."""
    return Arrangement(lambda value: value.repeat_interleave(times, -1), lambda value: _added(value, times, -1))


def tiled(times: int, groups: int = 1) -> Arrangement:
    """All units of a group one after the other, and this so many times; then the next group."""

    def forward(value: Tensor) -> Tensor:
        each = value.reshape(*value.shape[:-1], groups, 1, value.shape[-1] // groups)
        return each.expand(*each.shape[:-2], times, each.shape[-1]).flatten(-3)

    def back(value: Tensor) -> Tensor:
        return value.reshape(*value.shape[:-1], groups, times, value.shape[-1] // groups // times).sum(-2).flatten(-2)

    return Arrangement(forward, back)


def summed(size: int) -> Arrangement:
    """The sums of so many units that stand together."""
    return repeated(size).transposed


def centered(size: int) -> Arrangement:
    """So many units that stand together, less their mean."""

    def forward(value: Tensor) -> Tensor:
        each = value.reshape(*value.shape[:-1], value.shape[-1] // size, size)
        return (each - each.mean(-1, keepdim=True)).flatten(-2)

    return Arrangement(forward, forward)


@dataclass(frozen=True)
class Matrices:
    """A matrix for each head, kept as one long row of numbers: heads, in each its rows, in each its columns."""

    heads: int
    rows: int
    columns: int

    @property
    def size(self) -> int:
        return self.heads * self.rows * self.columns

    @property
    def from_heads(self) -> Arrangement:
        """A number for each head, given to its whole matrix."""
        return repeated(self.rows * self.columns)

    @property
    def from_rows(self) -> Arrangement:
        """A number for each head and row, given to the whole row; transposed: the sum of each row."""
        return repeated(self.columns)

    @property
    def from_columns(self) -> Arrangement:
        """A number for each head and column, given to the whole column; transposed: the sum of each column."""
        return tiled(self.rows, self.heads)


def _added(value: Tensor, size: int, axis: int) -> Tensor:
    return value.reshape(*value.shape[:-1], value.shape[-1] // size, size).sum(axis)


class Value(Protocol):
    """A tensor, or one split into parts: values can be added, subtracted and negated, and 1 - value is a value."""

    def __add__(self, other: Any, /) -> Self: ...

    def __sub__(self, other: Any, /) -> Self: ...

    def __neg__(self) -> Self: ...

    def __rsub__(self, other: float, /) -> Self: ...


V = TypeVar("V", bound=Value)


class Arithmetic(Protocol[V]):
    def linear(self, value: V, weight: Tensor) -> V:
        """``value @ weight.T``."""

    def constant(self, bias: Tensor) -> V:
        """A bias: it comes from no input."""

    def scale(self, value: V, weight: Tensor | float) -> V:
        """``value * weight``, with a weight for each unit that comes from no input, or one number for all."""

    def pieces(self, value: V, sizes: Sequence[int]) -> tuple[V, ...]:
        """Consecutive pieces of the last axis."""

    def join(self, values: Sequence[V]) -> V:
        """The opposite of ``pieces``."""

    def arrange(self, value: V, how: Arrangement) -> V:
        """The units laid out anew or added up: ``repeated(n)``, ``tiled(n)``, ``summed(n)``, ``centered(n)``."""

    def apply(self, function: Function, value: V, *weights: Tensor) -> V:
        """``function(value, *weights)``, any function of each number by itself, with weights for each unit.

        Its derivative is found by itself. Functions that follow each other are better composed to one, most of all
        where the outer one is bounded: parts of ``lambda v, rate: torch.exp(-rate * torch.sigmoid(v))`` cannot leave
        the range of it, while parts of an ``exp`` of its own can become as large as one likes.
        """

    def product(self, gate: V, source: V) -> V:
        """``gate * source``; the order matters to decompositions that credit a product to its source."""

    def maximum(self, first: V, second: V) -> V:
        """The larger of two values, unit by unit; it is whole."""

    def settle(self, value: V) -> V:
        """Mark a state: decompositions decide here whether what biases alone produced counts as relevant."""

    def readout_gate(self, value: V) -> V:
        """Mark what an output gate is computed from: most decompositions use that gate as it is."""

    def whole(self, value: V) -> V:
        """Mark what is never taken apart: its product with another value is split as that other one is."""

    def gate(self, name: str, value: V) -> V:
        """Name a gate; the name is what traces and saturation reports show. With gates="whole" a decomposition takes
        none of them apart, but for those whose name begins with "candidate": these are what the gates act on."""

    def sigmoid(self, value: V) -> V:
        return self.apply(torch.sigmoid, value)

    def tanh(self, value: V) -> V:
        return self.apply(torch.tanh, value)

    def relu(self, value: V) -> V:
        return self.apply(torch.relu, value)

    def exp(self, value: V) -> V:
        return self.apply(torch.exp, value)

    def softplus(self, value: V) -> V:
        return self.apply(functional.softplus, value)

    def log_sigmoid(self, value: V) -> V:
        return self.apply(functional.logsigmoid, value)

    def silu(self, value: V) -> V:
        return self.apply(functional.silu, value)

    def gelu(self, value: V) -> V:
        return self.apply(functional.gelu, value)

    def square(self, value: V) -> V:
        return self.apply(torch.square, value)

    def sqrt(self, value: V) -> V:
        return self.apply(torch.sqrt, value)

    def reciprocal(self, value: V) -> V:
        """1 / value; it is whole, since a part of a denominator may be zero."""
        return self.apply(torch.reciprocal, self.whole(value))

    def outer(self, rows: V, columns: V, shape: Matrices) -> V:
        """The outer product of each head: what is to be written, ``columns``, at the place ``rows``."""
        return self.product(self.arrange(rows, shape.from_rows), self.arrange(columns, shape.from_columns))

    def read(self, rows: V, memory: V, shape: Matrices) -> V:
        """``rows @ memory`` of each head: what is found at the place ``rows``."""
        found = self.product(self.arrange(rows, shape.from_rows), memory)
        return self.arrange(found, shape.from_columns.transposed)

    def write(self, memory: V, kept: V | None, rows: V, columns: V, shape: Matrices, *, share: V | None = None) -> V:
        """``kept * memory + rows columns^T``, with a number for each head in ``kept``.

        By the delta rule ``share``, a number for each head, of the difference between ``columns`` and what the memory
        holds at the place ``rows`` is written.
        """
        if kept is not None:
            memory = self.product(self.arrange(kept, shape.from_heads), memory)
        if share is not None:
            difference = columns - self.read(rows, memory, shape)
            columns = self.product(self.arrange(share, repeated(shape.columns)), difference)
        return memory + self.outer(rows, columns, shape)

    def replace(self, memory: V, kept: V, place: V, share: V, rows: V, columns: V, shape: Matrices) -> V:
        """``kept * memory - share (place memory)^T + rows columns^T``, with a number for each head and row in ``kept``:
        what the memory held at ``place`` is taken away at ``share``, and ``columns`` are written at ``rows``."""
        gone = self.outer(share, self.read(place, memory, shape), shape)
        left = self.product(self.arrange(kept, shape.from_rows), memory)
        return left - gone + self.outer(rows, columns, shape)

    def convolve(self, newest: V, past: Sequence[V], weight: Tensor) -> V:
        """A causal convolution, one kernel for each unit: ``weight`` [unit, width] has its newest input last, ``past``
        is the inputs before, the newest of them first, which are states of the cell (``pushed``)."""
        total = self.scale(newest, weight[..., -1])
        for ago, earlier in enumerate(past, start=2):
            total = total + self.scale(earlier, weight[..., -ago])
        return total

    def within_heads(self, value: V, weight: Tensor, heads: int) -> V:
        """``linear`` by a matrix whose blocks, [head * row, column], act on one head each."""
        if heads == 1:
            return self.linear(value, weight)
        rows, columns = weight.shape[-2] // heads, weight.shape[-1]
        pieces = enumerate(self.pieces(value, [columns] * heads))
        return self.join([self.linear(one, weight[..., head * rows : (head + 1) * rows, :]) for head, one in pieces])

    def norm(self, value: V, size: int, eps: float, kind: Norm = "rms") -> V:
        """Every ``size`` units that stand together over their root mean square ("rms"), that of their differences from
        their mean ("layer"), or their length ("length"). What they are divided by is used whole, so that each part of
        the value is divided by the same; weights and bias are for ``scale`` and ``constant``."""
        value = self.arrange(value, centered(size)) if kind == "layer" else value
        squares = self.arrange(self.square(self.whole(value)), summed(size))
        count = 1 if kind == "length" else size
        inverse = self.apply(lambda total: torch.rsqrt(total / count + eps), squares)
        return self.product(self.arrange(inverse, repeated(size)), value)


class Readings(Protocol):
    """What each step finds in a memory of earlier ones: what that was made from, by what it is asked, and gradients."""

    @property
    def given(self) -> Sequence[Tensor | None]:
        """[batch, time, unit] each."""

    @property
    def queries(self) -> Tensor:
        """[batch, time, unit]."""

    def gradients(self, own: Tensor, first: int) -> tuple[Sequence[Tensor], Tensor]:
        """Of all that was given [row, batch, time, unit], and of each row's query [row, batch, unit], from those of
        what was found [row, batch, unit] by outputs at ``first`` and the steps that follow."""


class Plain(Arithmetic[Tensor]):
    """Ordinary tensors. ``gates`` holds the gates of the last step."""

    unmarked = False  # whether something may have gone from step to step without ``reading`` and ``carried``

    def __init__(self) -> None:
        self.gates: dict[str, Tensor] = {}

    def linear(self, value: Tensor, weight: Tensor) -> Tensor:
        return value @ weight.T

    def constant(self, bias: Tensor) -> Tensor:
        return bias

    def scale(self, value: Tensor, weight: Tensor | float) -> Tensor:
        return value * (self.constant(weight) if isinstance(weight, Tensor) else weight)

    def pieces(self, value: Tensor, sizes: Sequence[int]) -> tuple[Tensor, ...]:
        return cast(tuple[Tensor, ...], value.split(list(sizes), dim=-1))

    def join(self, values: Sequence[Tensor]) -> Tensor:
        lead = torch.broadcast_shapes(*(value.shape[:-1] for value in values))
        return torch.cat([value.expand(*lead, -1) for value in values], dim=-1)

    def arrange(self, value: Tensor, how: Arrangement) -> Tensor:
        return how.forward(value)

    def apply(self, function: Function, value: Tensor, *weights: Tensor) -> Tensor:
        return function(value, *map(self.constant, weights))

    def product(self, gate: Tensor, source: Tensor) -> Tensor:
        return gate * source

    def maximum(self, first: Tensor, second: Tensor) -> Tensor:
        return torch.maximum(first, second)

    def settle(self, value: Tensor) -> Tensor:
        return value

    def readout_gate(self, value: Tensor) -> Tensor:
        return value

    def whole(self, value: Tensor) -> Tensor:
        return value

    def gate(self, name: str, value: Tensor) -> Tensor:
        self.gates[name] = value
        return value

    def reading(self, value: Tensor, readings: Readings) -> Tensor:
        """Mark what all steps at once have read of a memory, for gradients of many outputs."""
        return value

    def carried(self, value: Tensor, carried: Carried) -> Tensor:
        """Mark what goes from step to step where all are run at once, for gradients of many outputs."""
        return value


def check_elementwise(function: Function, given: Tensor, found: Tensor) -> Tensor:
    """What ``function`` has found, if it can have acted on each number by itself."""
    if found.shape != given.shape:
        raise UsageError(
            f"A function that is applied must act on each number by itself. For values {tuple(given.shape)} "
            f"{getattr(function, '__name__', function)} gives {tuple(found.shape)}."
        )
    return found


class NoTensor:
    """A value that is no tensor: what only tensors can do is refused, with the operation that says the same."""

    __slots__ = ()

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        raise UsageError(_instead(getattr(function, "__name__", repr(function)).strip("_"), "torch."))

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("_") and hasattr(Tensor, name):
            raise UsageError(_instead(name, "Tensor."))
        raise AttributeError(f"A value of a step has no {name!r}.")

    def __mul__(self, other: object) -> NoReturn:
        raise UsageError(_instead("mul", ""))

    def __truediv__(self, other: object) -> NoReturn:
        raise UsageError(_instead("div", ""))

    def __matmul__(self, other: object) -> NoReturn:
        raise UsageError(_instead("matmul", ""))

    __rmul__, __rtruediv__, __rmatmul__ = __mul__, __truediv__, __matmul__


INSTEAD = {
    **dict.fromkeys(("mul", "rmul", "multiply"), "a.product(gate, source), or a.scale(value, weight) by weights"),
    **dict.fromkeys(("matmul", "rmatmul", "linear", "mm", "bmm"), "a.linear(value, weight)"),
    **dict.fromkeys(("cat", "concat", "hstack"), "a.join([value, ...])"),
    **dict.fromkeys(("split", "chunk", "tensor_split", "unbind", "getitem"), "a.pieces(value, sizes)"),
    **dict.fromkeys(("add", "radd", "sub", "rsub"), "value + a.constant(weight)"),
    **dict.fromkeys(("sum", "repeat_interleave", "tile", "repeat"), "a.arrange(value, summed(n)), repeated or tiled"),
    **dict.fromkeys(("maximum", "max", "clamp"), "a.maximum(first, second)"),
    **dict.fromkeys(("outer", "ger", "einsum"), "a.outer(rows, columns, shape) or a.read(rows, memory, shape)"),
    **dict.fromkeys(("rms_norm", "layer_norm", "normalize", "group_norm"), "a.norm(value, size, eps, kind)"),
    "div": "a.product(a.reciprocal(value), source), or a.scale(value, 1 / weight)",
    "logsigmoid": "a.log_sigmoid(value)",
    "reciprocal": "a.reciprocal(value)",
}


def _instead(name: str, lead: str) -> str:
    said = INSTEAD.get(name) or (
        f"a.{name}(value)" if name in NAMED else f"a.apply(torch.{name}, value), if it acts on each number by itself"
    )
    return f"A step is written in the operations of 'a', which every analysis can run. Got {lead}{name}: write {said}."


NAMED = ("sigmoid", "tanh", "relu", "exp", "softplus", "log_sigmoid", "silu", "gelu", "square", "sqrt")
