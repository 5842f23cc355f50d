"""Rules for operations that change the form of a tensor, by their names in torch. See ``rules``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rote.models.traced import shapes
from rote.models.traced.meaning import At, Meaning, Scene, Series, Tokens, Unclear
from rote.models.traced.rules import embedding, rule, value_of


@rule("split", "chunk", "split_with_sizes", "tensor_split")
def split(scene: Scene, found: Any, given: Any, sizes: Any, dim: int = 0) -> Any:
    value = value_of(given)
    at = dim % len(value.axes)
    made: list[Meaning] = []
    start = 0
    for part in found:
        size = part.shape[at]
        if value.axes[at] == "F":
            made.append(shapes.piece(scene, value, start, size))
        elif value.axes[at] == "T" and size == 1 and isinstance(value, Series):
            made.append(At(value.node, start, tuple("1" if i == at else a for i, a in enumerate(value.axes))))
        else:
            raise Unclear("pieces of another axis than that of the units")
        start += size
    return tuple(made)


@rule("unbind")
def unbind(scene: Scene, found: Any, given: Any, dim: int = 0) -> Any:
    return tuple(select(scene, None, given, dim, place) for place in range(len(found)))


@rule("select")
def select(scene: Scene, found: Any, given: Any, dim: int, index: int) -> Any:
    at = dim % len(given.axes)
    return shapes.indexed(scene, given, (*([slice(None)] * at), index), None)


@rule("index_select")
def index_select(scene: Scene, found: Tensor, given: Any, dim: int, index: Any) -> Any:
    """Sequences in another order, as packing sorts them: the same for each of them."""
    if given.axes[dim] == "B" and shapes.is_order(scene, index):
        return given
    raise Unclear("an index that is a tensor")


@rule("gather", "take_along_dim")
def gather(scene: Scene, found: Tensor, given: Any, dim: int, index: Any) -> Any:
    """The last step that counts, of every unit."""
    value = value_of(given)
    at = dim % len(value.axes)
    if value.axes[at] != "T" or not isinstance(value, Series) or found.shape[at] != 1:
        raise Unclear("an index that is a tensor")
    axes = tuple("1" if place == at else label for place, label in enumerate(value.axes))
    if any(size != scene.size(label) for size, label in zip(found.shape, axes, strict=True) if label != "F"):
        raise Unclear("an index that is a tensor")
    return shapes.last_step(scene, value, index, axes)


@rule("permute")
def permute(scene: Scene, found: Tensor, given: Any, *order: Any) -> Any:
    return shapes.permuted(scene, given, order[0] if isinstance(order[0], tuple | list | torch.Size) else order)


@rule("transpose", "swapaxes", "swapdims", "transpose_")
def transpose(scene: Scene, found: Tensor, given: Any, dim0: int, dim1: int) -> Any:
    return shapes.transposed(scene, given, dim0, dim1)


@rule("t", "T", "mT")
def turned(scene: Scene, found: Tensor, given: Any) -> Any:
    return shapes.transposed(scene, given, -2, -1)


@rule("unsqueeze")
def unsqueeze(scene: Scene, found: Tensor, given: Any, dim: int) -> Any:
    return shapes.unsqueezed(scene, given, dim)


@rule("squeeze")
def squeeze(scene: Scene, found: Tensor, given: Any, dim: Any = None) -> Any:
    return shapes.squeezed(scene, given, *([] if dim is None else [dim] if isinstance(dim, int) else dim))


@rule("reshape", "view", "flatten", "unflatten", "view_as", "reshape_as", "_reshape_alias")
def reshape(scene: Scene, found: Tensor, given: Any, *shape: Any, **options: Any) -> Any:
    return shapes.reshaped(scene, given, found.shape, found)


@rule("expand", "expand_as", "broadcast_to")
def expand(scene: Scene, found: Tensor, given: Any, *shape: Any) -> Any:
    return shapes.expanded(scene, given, found)


@rule("cat", "concat", "concatenate")
def cat(scene: Scene, found: Tensor, tensors: Any, dim: int = 0) -> Any:
    return shapes.concatenated(scene, tensors, dim)


@rule("hstack")
def hstack(scene: Scene, found: Tensor, tensors: Any) -> Any:
    return shapes.concatenated(scene, tensors, 1)


@rule("stack")
def stack(scene: Scene, found: Tensor, tensors: Any, dim: int = 0) -> Any:
    return shapes.stacked(scene, tensors, dim)


@rule("__getitem__")
def getitem(scene: Scene, found: Tensor, given: Any, index: Any) -> Any:
    if isinstance(given, Tensor) and isinstance(index, Tokens) and given.dim() == 2 and given.is_floating_point():
        return embedding(scene, found, index, given)  # a look-up in the table itself
    return shapes.indexed(scene, given, index, found)


@rule("to", "float", "double", "half", "bfloat16", "type", "type_as", "long")
def cast(scene: Scene, found: Tensor, given: Any, *more: Any, **options: Any) -> Any:
    if isinstance(given, Series | At) and not found.is_floating_point():
        raise Unclear("values that are rounded to whole numbers")
    if isinstance(given, Series | At) and torch.finfo(found.dtype).eps > torch.finfo(scene.lowest).eps:
        scene.lowest = found.dtype
    return given
