"""Rules for operations that change the form of a tensor and none of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from rote.models.traced.graph import Node
from rote.models.traced.meaning import (
    At,
    Axes,
    Count,
    Filled,
    Longer,
    Mask,
    Meaning,
    Scene,
    Series,
    Several,
    Tokens,
    Unclear,
    same_place,
    together,
)  # fmt: skip


def permuted(scene: Scene, value: Any, order: Sequence[int]) -> Any:
    axes = value.axes
    return replace(value, axes=tuple(axes[place] for place in order))


def transposed(scene: Scene, value: Any, first: int, second: int) -> Any:
    order = list(range(len(value.axes)))
    order[first], order[second] = order[second], order[first]
    return permuted(scene, value, order)


def unsqueezed(scene: Scene, value: Any, axis: int) -> Any:
    axes = list(value.axes)
    axes.insert(axis if axis >= 0 else len(axes) + 1 + axis, "1")
    return replace(value, axes=tuple(axes))


def squeezed(scene: Scene, value: Any, *places: int) -> Any:
    width = value.node.size if isinstance(value, Series | At) else 0
    gone = [place % len(value.axes) for place in places] or list(range(len(value.axes)))
    kept = [
        label
        for place, label in enumerate(value.axes)
        if place not in gone or not (label == "1" or (label == "F" and width == 1))
    ]
    return replace(value, axes=tuple(kept))


def reshaped(scene: Scene, value: Any, shape: Sequence[int], found: Tensor) -> Any:
    """By the sizes of the new axes: each takes the next of the old ones, one or several."""
    if isinstance(value, Several):
        return _several_reshaped(scene, value, found)
    width = value.node.size if isinstance(value, Series | At) else 1
    atoms: list[tuple[str, int]] = []
    for label in value.axes:
        for part in label if label != "1" else "":
            atoms.append((part, width if part == "F" else scene.size(part)))
    made: list[str] = []
    for size in found.shape:
        label, product = "", 1
        while atoms and (product < size or (size == 1 and atoms[0][1] == 1 and atoms[0][0] == "F" and not label)):
            part, own = atoms.pop(0)
            label, product = label + part, product * own
        if product != size or label not in ("", "B", "T", "F", "BT", "TB"):
            raise Unclear(f"a reshape to {tuple(found.shape)}")
        made.append(label or "1")
    if any(label != "F" or size != 1 for label, size in atoms):
        raise Unclear(f"a reshape to {tuple(found.shape)}")
    return replace(value, axes=tuple(made))


def _several_reshaped(scene: Scene, value: Several, found: Tensor) -> Meaning:
    width, count = value.items[0].node.size, len(value.items)
    shape = tuple(found.shape)
    front = value.axes[: len(value.shape)] == ("D",) * len(value.shape)
    if front and shape[-2:] == (scene.batch, width):  # other axes for layers and directions
        return Several(value.items, (*("D" for _ in shape[:-2]), "B", "F"), shape[:-2])
    if value.axes == ("B", "D", "F") and shape == (scene.batch, count * width):
        return joined_units(scene, list(value.items), ("B", "F"))
    raise Unclear(f"a reshape of states to {shape}")


def joined_units(scene: Scene, values: list[Any], axes: Axes) -> Meaning:
    """Beside each other on the axis of the units."""
    values = together(scene, values)
    flat: list[Node] = []
    for value in values:
        flat += value.node.inputs if value.node.op == "join" else (value.node,)
    node = scene.node("join", tuple(flat), sum(part.size for part in flat))
    return same_place(values[0], node, axes)


def concatenated(scene: Scene, values: Sequence[Any], axis: int) -> Meaning:
    values = list(values)
    if any(not isinstance(value, Series | At) for value in values):
        raise Unclear("a value and a constant beside each other")
    axes = values[0].axes
    if any(value.axes != axes for value in values):
        raise Unclear("values of different form beside each other")
    label = axes[axis]
    if label == "F":
        return joined_units(scene, values, axes)
    if label in ("1", "T") and all(isinstance(value, At) for value in values):
        return over_time(
            scene, values, tuple("T" if place == axis % len(axes) else one for place, one in enumerate(axes))
        )
    raise Unclear("values beside each other on an axis that is not that of the units")


def stacked(scene: Scene, values: Sequence[Any], axis: int) -> Meaning:
    values = list(values)
    if not all(isinstance(value, At) and value.axes == values[0].axes for value in values):
        raise Unclear("a stack of values that are not steps")
    if len(values) == scene.time and [value.time for value in values] == list(range(scene.time)):
        axes = list(values[0].axes)
        axes.insert(axis if axis >= 0 else len(axes) + 1 + axis, "T")
        return over_time(scene, values, tuple(axes))
    if axis == 0:
        return Several(tuple(values), ("D", *values[0].axes), (len(values),))
    raise Unclear("a stack that is not of all steps")


def over_time(scene: Scene, values: Sequence[At], axes: Axes) -> Series:
    """All steps of one node in their order."""
    if [value.time for value in values] != list(range(scene.time)):
        raise Unclear("steps in another order, or not all of them")
    nodes = {id(value.node) for value in values}
    if len(nodes) > 1:
        # The first step may differ: a state that starts with zero is not multiplied by anything.
        raise Unclear("a loop that does not do the same at every step")
    return Series(values[0].node, axes)


def piece(scene: Scene, value: Series | At, start: int, size: int, axes: Axes | None = None) -> Meaning:
    if size == value.node.size:
        return same_place(value, value.node, axes)
    node = value.node
    if node.op == "join":  # of one of those that were put beside each other
        at = 0
        for part in node.inputs:
            if (at, part.size) == (start, size):
                return same_place(value, part, axes)
            at += part.size
    return same_place(value, scene.node("piece", (node,), size, options=(start,)), axes)


def indexed(scene: Scene, value: Any, index: Any, found: Any) -> Any:
    """value[index]."""
    index = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [part for part in index if not isinstance(part, Tensor)]:
        place = next(i for i, part in enumerate(index) if part is Ellipsis)
        index[place : place + 1] = [slice(None)] * (len(value.axes) - sum(part is not None for part in index) + 1)
    if any(isinstance(part, Tensor | list | Count) for part in index):
        return _by_tensor(scene, value, index)
    if isinstance(value, Longer):
        value, index = _cut_to_time(scene, value, index), []
    axes: list[str] = []
    rest = list(value.axes)
    for part in index:
        if part is None:
            axes.append("1")
            continue
        value, label = _one_axis(scene, value, rest.pop(0), part)
        axes += label
    if isinstance(value, Several):
        return value if value.shape else value.items[0]
    return replace(value, axes=(*axes, *rest))


def _cut_to_time(scene: Scene, value: Longer, index: list[Any]) -> Series:
    """All steps of a convolution that went on after the last one."""
    place = value.axes.index("T")
    length = scene.time + value.before + value.after
    cuts = [part for at, part in enumerate(index) if at != place and part != slice(None)]
    if cuts or value.zeros or value.before or place >= len(index) or not isinstance(index[place], slice):
        raise Unclear("some of the steps of what is longer than the sequence")
    if index[place].indices(length) != (0, scene.time, 1):
        raise Unclear("some of the steps of what is longer than the sequence")
    return Series(value.node, value.axes)


def _one_axis(scene: Scene, value: Any, label: str, part: Any) -> tuple[Any, list[str]]:
    """What is left of a value, and of the axis."""
    if label == "D" and isinstance(value, Several):
        return _of_several(value, part), []
    size = value.node.size if label == "F" and isinstance(value, Series | At) else scene.size(label)
    if isinstance(part, slice):
        start, stop, step = part.indices(size)
        if (start, stop, step) == (0, size, 1):
            return value, [label]
        if label == "F" and step == 1:
            return piece(scene, value, start, stop - start), ["F"]
        if label == "T" and stop - start == 1 and isinstance(value, Series | Tokens):
            return at_step(value, start), ["1"]
        raise Unclear("some of the steps" if "T" in label else "a part of an axis")
    at = int(part) % size
    if label == "1":
        return value, []
    if label == "T" and isinstance(value, Series | Tokens):
        return at_step(value, at), []
    if label == "F" and isinstance(value, Series | At):
        return piece(scene, value, at, 1), []
    raise Unclear("one of the sequences" if label == "B" else "an index")


def at_step(value: Series | Tokens, time: int) -> At | Tokens:
    return Tokens((), time) if isinstance(value, Tokens) else At(value.node, time, ())


def _of_several(value: Several, part: Any) -> Several:
    first, *rest = value.shape
    each = len(value.items) // first
    if isinstance(part, slice):
        chosen = list(range(first))[part]
        items = tuple(item for at in chosen for item in value.items[at * each : (at + 1) * each])
        return Several(items, value.axes, (len(chosen), *rest))
    at = int(part) % first
    return Several(value.items[at * each : (at + 1) * each], value.axes[1:], tuple(rest))


def _by_tensor(scene: Scene, value: Any, index: list[Any]) -> Meaning:
    """value[all sequences, the last step that counts], or the sequences in another order: the same for each."""
    (first, *rest) = index
    if value.axes[:1] == ("B",) and not rest and is_order(scene, first):
        reordered: Meaning = value
        return reordered
    whole = [isinstance(part, Tensor) and torch.equal(part, _sequences(scene, part)) for part in index]
    if isinstance(value, Series) and value.axes[:2] == ("B", "T") and len(index) == 2 and whole[0]:
        return last_step(scene, value, index[1], value.axes[:1] + value.axes[2:])
    raise Unclear("an index that is a tensor")


def is_order(scene: Scene, index: Any) -> bool:
    one = isinstance(index, Tensor) and index.dtype == torch.int64 and index.shape == (scene.batch,)
    return one and torch.equal(index.sort().values, _sequences(scene, index))


def _sequences(scene: Scene, like: Tensor) -> Tensor:
    return torch.arange(scene.batch, dtype=like.dtype, device=like.device)


def last_step(scene: Scene, value: Series, place: Any, axes: Axes) -> At:
    """A series at the last step that counts: rows are followed without padding, so that this is the very last."""
    counted = isinstance(place, Count) and place.less == 1
    last = isinstance(place, Tensor) and place.dtype == torch.int64 and bool((place == scene.time - 1).all())
    if not counted and not last:
        raise Unclear("an index that is a tensor")
    return At(value.node, scene.time - 1, axes)


def filled(scene: Scene, target: Any, index: Any, value: Any, form: tuple[int, ...]) -> Meaning:
    """target[index] = value, where the target is a constant or already filled in part."""
    index = list(index) if isinstance(index, tuple) else [index]
    places = [place for place, part in enumerate(index) if not isinstance(part, slice) or part != slice(None)]
    if len(places) != 1 or not isinstance(index[places[0]], int) or not isinstance(value, At):
        raise Unclear("a tensor that is written in part")
    place = places[0]
    axes = (*value.axes[:place], "T", *value.axes[place:])
    at = index[place] % scene.time
    if form[place] != scene.time or at != value.time:
        raise Unclear("a step that is written into another one")
    before = target.steps if isinstance(target, Filled) else ()
    steps = (*before, (at, value))
    if len(steps) == scene.time:
        return over_time(scene, [step for _, step in sorted(steps, key=lambda pair: pair[0])], axes)
    return Filled(steps, axes)


def expanded(scene: Scene, value: Any, found: Tensor) -> Any:
    """To other sizes of axes of one; only of the units. Which steps count is the same for all of these."""
    if isinstance(value, Mask | Count) and len(found.shape) == len(value.axes):
        return value
    if len(found.shape) == len(value.axes):
        wanted = [label for label, size in zip(value.axes, found.shape, strict=True) if label == "1" and size != 1]
        if not wanted:
            return value
    raise Unclear("a value repeated over an axis")


def is_tracked(value: Any) -> bool:
    return isinstance(value, Tokens | Mask | Count | Series | At | Several | Filled | Longer)


def constant_over(scene: Scene, value: Series | At, constant: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """A constant that is combined with a value, as one number for each unit, or else as [time, unit]."""
    width = value.node.size
    labels = value.axes
    shape = [scene.size(label) if label != "F" else max(width, 1) for label in labels]
    if "F" not in labels:
        labels, shape = (*labels, "F"), [*shape, 1]
        constant = constant[..., None]
    place = labels.index("F")
    if constant.dim() > len(shape):
        raise Unclear("a constant with more axes than the value")
    extra = len(shape) - constant.dim()
    own = constant.shape[place - extra] if place >= extra else 1
    shape[place] = max(shape[place], own)
    try:
        full = constant.expand(shape)
    except RuntimeError:
        raise Unclear(f"a constant of the shape {tuple(constant.shape)}") from None
    rest = [i for i in range(len(shape)) if i != place]
    steps = [i for i in rest if labels[i] == "T"]
    for axis in rest:
        if axis not in steps and shape[axis] > 1:
            if labels[axis] in ("BT", "TB"):
                raise_if = full.narrow(axis, 0, 1)
                if not torch.equal(raise_if.expand_as(full), full):
                    raise Unclear("a constant that differs from step to step")
            elif not torch.equal(full.narrow(axis, 0, 1).expand_as(full), full):
                raise Unclear("a constant that differs from sequence to sequence")
        if axis not in steps:
            full = full.narrow(axis, 0, 1)
    if not steps or torch.equal(full.narrow(steps[0], 0, 1).expand_as(full), full):
        return full.movedim(place, -1).reshape(-1, shape[place])[0], None
    over = full.movedim((steps[0], place), (-2, -1)).reshape(scene.time, shape[place])
    return None, over
