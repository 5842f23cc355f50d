"""Rules for what is read from all steps: means, sums, the largest; and for masks of the steps that count.

See ``rules``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from rote.models.traced.graph import Node
from rote.models.traced.meaning import At, Count, Mask, Scene, Series, Tokens, Unclear, same_place
from rote.models.traced.memories import MaxCell, MeanCell, SumCell
from rote.models.traced.rules import apply, mul, rule, scaled, value_of


@rule("div", "__truediv__", "true_divide", "divide", "__itruediv__", "div_")
def div(scene: Scene, found: Tensor, first: Any, second: Any, *, rounding_mode: str | None = None) -> Any:
    counted = (
        second.less == 0 if isinstance(second, Count) else second == scene.time if isinstance(second, int) else False
    )
    if counted and isinstance(first, At) and isinstance(first.node.cell, SumCell):  # a sum over the steps is their mean
        return at_the_end(scene, first.node.inputs[0], MeanCell, first.axes)
    if rounding_mode is not None or not isinstance(first, Series | At):
        raise Unclear("a division by a value of the sequence")
    if isinstance(second, Series | At):
        inverse = apply(scene, second, torch.reciprocal)
        return mul(scene, found, first, inverse)
    return scaled(scene, first, 1 / second)


@rule("mean")
def mean(scene: Scene, found: Tensor, given: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    return _reduced(scene, value_of(given), dim, keepdim, MeanCell, "a mean")


@rule("sum")
def sum_(scene: Scene, found: Tensor, given: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    if isinstance(given, Mask):
        places = [dim] if isinstance(dim, int) else list(dim or ())
        if len(places) == 1 and given.axes[places[0]] == "T":
            at = places[0] % len(given.axes)
            return Count(tuple(a for i, a in enumerate(given.axes) if i != at) if not keepdim else given.axes)
    return _reduced(scene, value_of(given), dim, keepdim, SumCell, "a sum")


@rule("amax")
def amax(scene: Scene, found: Tensor, given: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _reduced(scene, value_of(given), dim, keepdim, MaxCell, "a maximum")


@rule("max")
def max_(scene: Scene, found: Any, given: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if not isinstance(dim, int):
        raise Unclear("a maximum over everything")
    return _reduced(scene, value_of(given), dim, keepdim, MaxCell, "a maximum"), None


def _reduced(scene: Scene, value: Series | At, dim: Any, keepdim: bool, kind: type, what: str) -> Any:
    places = [dim] if isinstance(dim, int) else list(dim or ())
    if len(places) != 1:
        raise Unclear(f"{what} over several axes")
    at = places[0] % len(value.axes)
    axes = tuple("1" if i == at else a for i, a in enumerate(value.axes) if keepdim or i != at)
    if value.axes[at] == "T" and isinstance(value, Series):
        return at_the_end(scene, value.node, kind, axes)
    if value.axes[at] == "F" and kind is not MaxCell:
        factor = 1 / value.node.size if kind is MeanCell else 1.0
        axes = tuple("F" if i == at else a for i, a in enumerate(value.axes) if keepdim or i != at)
        return same_place(value, scene.node("mean", (value.node,), 1, options=(factor,)), axes)
    raise Unclear(f"{what} over an axis of its own")


def at_the_end(scene: Scene, node: Node, kind: type, axes: tuple[str, ...]) -> At:
    """What has been read from all steps."""
    memory = scene.graph.memory(node, kind(node.size, scene.like), kind, scene.where)
    return At(memory, scene.time - 1, axes)


@rule("adaptive_avg_pool1d")
def average_pool(scene: Scene, found: Tensor, given: Any, output_size: Any) -> Any:
    return _pooled(scene, given, output_size, MeanCell)


@rule("adaptive_max_pool1d", "adaptive_max_pool1d_with_indices", "boolean_dispatch", "fn")
def max_pool(scene: Scene, found: Tensor, given: Any, output_size: Any, return_indices: bool = False) -> Any:
    return _pooled(scene, given, output_size, MaxCell)


def _pooled(scene: Scene, given: Any, output_size: Any, kind: type) -> Any:
    value = value_of(given)
    if output_size not in (1, (1,), [1]) or value.axes != ("B", "F", "T"):
        raise Unclear("a pooling to more than one step")
    return at_the_end(scene, value.node, kind, ("B", "F", "1"))


@rule("ne", "__ne__", "eq", "__eq__", "not_equal")
def compared(scene: Scene, found: Tensor, given: Any, other: Any) -> Any:
    return _mask(scene, given, other, [other])


@rule("gt", "__gt__")
def above(scene: Scene, found: Tensor, given: Any, other: Any) -> Any:
    return _mask(scene, given, other, range(int(other) + 1) if isinstance(other, int | float) else [])


def _mask(scene: Scene, given: Any, other: Any, padding: Iterable[Any]) -> Mask:
    """Which tokens are others than those of ``padding``, or are those."""
    if not isinstance(given, Tokens) or given.time is not None or not isinstance(other, int | float):
        raise Unclear("a comparison of values")
    scene.padding |= {int(token) for token in padding}
    return Mask(given.axes)


@rule("masked_fill", "masked_fill_")
def masked_fill(scene: Scene, found: Tensor, given: Any, mask: Any, value: Any) -> Any:
    if isinstance(mask, Mask):
        return value_of(given)
    raise Unclear("values that are replaced")


@rule("bitwise_not", "__invert__", "logical_not", "bool", "int")
def same_mask(scene: Scene, found: Tensor, given: Any) -> Any:
    if isinstance(given, Mask | Count | Tokens):
        return given
    raise Unclear("values taken as true or false")


@rule("sort")
def sort(scene: Scene, found: Any, given: Any, *more: Any, **options: Any) -> Any:
    """Of lengths, for packing."""
    if isinstance(given, Count):
        return given, None
    raise Unclear("sorted values")
