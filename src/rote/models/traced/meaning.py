"""What a tensor of a forward pass stands for: a series over time, one step of it, or something that is no series.

``axes`` says what each axis of the tensor is: "B" sequences, "T" steps, "F" units, "1" an axis of one, "BT" and "TB"
two of these in one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from rote.models.traced.graph import Graph, Node

Axes = tuple[str, ...]


class Unclear(Exception):  # noqa: N818 it is no error of the user's
    """An operation that is not one of the arithmetic; its message says what it is."""


@dataclass(frozen=True)
class Tokens:
    """The numbers of the tokens, at every step or at one."""

    axes: Axes
    time: int | None = None


@dataclass(frozen=True)
class Mask:
    """Which steps count: made by comparing the tokens with a number."""

    axes: Axes


@dataclass(frozen=True)
class Count:
    """How many steps count, for each sequence, less ``less``."""

    axes: Axes
    less: int = 0


@dataclass(frozen=True)
class Series:
    """A node at every step."""

    node: Node
    axes: Axes
    packed: bool = False


@dataclass(frozen=True)
class At:
    """A node at one step."""

    node: Node
    time: int
    axes: Axes


@dataclass(frozen=True)
class Several:
    """Values beside each other on the first axes, such as the last states of all layers: [*shape, B, F]."""

    items: tuple[At, ...]
    axes: Axes  # "D" for each axis of ``shape``
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Filled:
    """A tensor that is written step by step."""

    steps: tuple[tuple[int, At], ...]
    axes: Axes


@dataclass(frozen=True)
class Longer:
    """A series with zeros before it or after it, or one that goes on after the last step, until it is cut."""

    node: Node
    axes: Axes
    before: int = 0
    after: int = 0
    zeros: bool = True


@dataclass(frozen=True)
class Lost:
    """Something that the arithmetic cannot express."""

    reason: str


Meaning = Tokens | Mask | Count | Series | At | Several | Filled | Longer | Lost


@dataclass
class Scene:
    """What is known while a forward pass is followed."""

    graph: Graph
    batch: int
    time: int
    like: Tensor  # in the model's dtype, on its device
    where: str = ""
    leaf: Node | None = None
    embedding: dict[str, Any] | None = None  # of the leaf: weight and options of the look-up
    tables: list[str] = field(default_factory=list)  # modules that looked the tokens up, each table once
    lengths: Tensor | None = None  # of a packed sequence that was met
    padding: set[int] = field(default_factory=set)  # tokens that the module leaves out
    decisions: list[str] = field(default_factory=list)  # where the way depended on values
    positions: Tensor | None = None  # [time, unit], added to the embedding
    functions: dict[Any, Any] = field(default_factory=dict)  # with options that were given to them

    def __post_init__(self) -> None:
        self.lowest: Any = self.like.dtype  # the least precise dtype that was computed in

    def size(self, label: str) -> int:
        return {"B": self.batch, "T": self.time, "1": 1, "BT": self.batch * self.time, "TB": self.batch * self.time}[
            label
        ]

    def node(self, op: str, inputs: tuple[Node, ...], size: int, *weights: Tensor | None, options: Any = ()) -> Node:
        return self.graph.node(op, inputs, size, weights, tuple(options), self.where)


def same_place(value: Series | At, node: Node, axes: Axes | None = None) -> Series | At:
    """Another node at the same step or steps."""
    return replace(value, node=node, axes=value.axes if axes is None else axes)


def shape_of(scene: Scene, value: Series | At) -> tuple[int, ...]:
    return tuple(value.node.size if label == "F" else scene.size(label) for label in value.axes)


def together(scene: Scene, values: list[Series | At]) -> list[Series | At]:
    """Values at one step. What was kept from the first step is carried to the last one."""
    times = {value.time for value in values if isinstance(value, At)}
    if all(isinstance(value, Series) for value in values):
        return values
    if any(isinstance(value, Series) for value in values):
        raise Unclear("one step beside all steps")
    if len(times) == 1:
        return values
    if times != {0, scene.time - 1}:
        raise Unclear("different steps beside each other")
    return [first_kept(scene, value) if isinstance(value, At) and value.time == 0 else value for value in values]


def first_kept(scene: Scene, value: At) -> At:
    from rote.models.traced.memories import FirstCell

    kept = scene.graph.memory(value.node, FirstCell(value.node.size, scene.like), "first", scene.where)
    return replace(value, node=kept, time=scene.time - 1)
