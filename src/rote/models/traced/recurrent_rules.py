"""What torch's recurrent layers, their single steps, packed sequences and convolutions mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from rote.cells.cell import Biases, Cell
from rote.cells.elman import ElmanCell
from rote.cells.gru import GRUCell
from rote.cells.lstm import LSTMCell
from rote.models.traced.graph import Node
from rote.models.traced.meaning import At, Longer, Meaning, Scene, Series, Several, Unclear
from rote.models.traced.memories import ConvolutionCell
from rote.models.traced.rules import rule, value_of

KINDS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def cell_of(kind: str, weights: Sequence[Tensor], biased: bool) -> Cell:
    """The cell of torch's kernel ``kind`` with these very weights: ih, hh, both biases, hr."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if biased else ("weight_ih", "weight_hh")
    named: dict[str, Tensor | None] = dict(zip((*names, "weight_hr"), weights, strict=False))
    biases: Biases = "two" if biased else "none"
    inputs = weights[0].shape[1]
    if kind == "lstm":
        hr = named.get("weight_hr")
        proj = 0 if hr is None else len(hr)
        return LSTMCell(inputs, len(weights[0]) // 4, biases=biases, weights=named, proj_size=proj)
    if kind == "gru":
        return GRUCell(inputs, len(weights[0]) // 3, biases=biases, weights=named)
    nonlinearity = "relu" if kind.endswith("relu") else "tanh"
    return ElmanCell(inputs, len(weights[0]), biases=biases, weights=named, nonlinearity=nonlinearity)


def layer(
    scene: Scene, node: Node, cells: Sequence[Cell], keys: Sequence[Any], starts: Sequence[tuple[Tensor, ...] | None]
) -> list[Node]:
    """The memories of one layer, one for each direction."""
    return [
        scene.graph.memory(node, cell, key, scene.where, direction == 1, start)
        for direction, (cell, key, start) in enumerate(zip(cells, keys, starts, strict=True))
    ]


def stack(
    scene: Scene, node: Node, cells: Sequence[Cell], directions: int, starts: Sequence[tuple[Tensor, ...] | None]
) -> tuple[Node, list[Node]]:
    """The output of the top layer, and the memory of every cell."""
    memories: list[Node] = []
    for first in range(0, len(cells), directions):
        own = slice(first, first + directions)
        keys = [
            tuple(id(scene.graph.weight(weight)) for weight in cell.parameters()) or id(cell) for cell in cells[own]
        ]
        made = layer(scene, node, cells[own], keys, starts[own])
        memories += made
        node = made[0] if directions == 1 else scene.node("join", tuple(made), sum(memory.size for memory in made))
    return node, memories


def _starts(scene: Scene, hx: Any, cells: int) -> list[tuple[Tensor, ...] | None]:
    """The learned states of every cell; None for zeros."""
    values = (hx,) if isinstance(hx, Tensor) else tuple(hx)
    if not all(isinstance(value, Tensor) for value in values):
        raise Unclear("a recurrent layer that starts with what another one ended with")
    found: list[tuple[Tensor, ...] | None] = []
    for index in range(cells):
        own = [value[index] for value in values]
        if any(not torch.equal(rows[:1].expand_as(rows), rows) for rows in own):
            raise Unclear("a recurrent layer that starts differently for each sequence")
        found.append(tuple(rows[0] for rows in own) if any(bool(rows.any()) for rows in own) else None)
    return found


def is_packed(second: Any) -> bool:
    """Whether a recurrent layer's second argument is the batch sizes of packed inputs."""
    return isinstance(second, Tensor) and second.dtype == torch.int64 and second.dim() == 1


def _recurrent(kind: str, scene: Scene, found: Any, given: Any, *rest: Any) -> Any:
    packed = is_packed(rest[0])
    hx, flat, biased, layers, _, _, bidirectional = rest[1:8] if packed else rest[:7]
    directions = 2 if bidirectional else 1
    count = len(flat) // (layers * directions)
    weights = [flat[at : at + count] for at in range(0, len(flat), count)]
    cells = [cell_of(kind, own, biased) for own in weights]
    value = value_of(given)
    if not isinstance(value, Series):
        raise Unclear("a recurrent layer that is called step by step")
    if not packed and value.axes != (("B", "T", "F") if rest[7] else ("T", "B", "F")):
        raise Unclear("a recurrent layer that runs over another axis than that of the steps (batch_first?)")
    node, memories = stack(scene, value.node, cells, directions, _starts(scene, hx, len(cells)))
    last = [At(memory, 0 if memory.reverse else scene.time - 1, ("B", "F")) for memory in memories]
    ends = Several(tuple(last), ("D", "B", "F"), (len(last),))
    outputs = replace(value, node=node)
    return (outputs, ends, None) if kind == "lstm" else (outputs, ends)


for kind in KINDS:

    def _layers(scene: Scene, found: Any, *given: Any, kind: str = kind) -> Any:
        return _recurrent(kind, scene, found, *given)

    def _step(scene: Scene, found: Any, *given: Any, kind: str = kind) -> Any:
        return _one_step(kind, scene, *given)

    rule(kind)(_layers)
    rule(f"{kind}_cell")(_step)


def _one_step(kind: str, scene: Scene, given: Any, hx: Any, *weights: Any) -> Any:
    """One step of a loop: the state must be what the step before has left."""
    weights = tuple(weight for weight in weights if weight is not None)
    states = tuple(hx) if isinstance(hx, tuple | list) else (hx,)
    value = value_of(given)
    if not isinstance(value, At):
        raise Unclear("a step that is given the whole sequence")
    key = tuple(id(scene.graph.weight(weight)) for weight in weights)
    constant = all(isinstance(state, Tensor) for state in states)
    if constant != (value.time == 0):
        raise Unclear("a loop that does not go from the first step to the last")
    if constant:
        start = _starts(scene, tuple(state[None] for state in states), 1)[0]
        memory = scene.graph.memory(
            value.node, cell_of(kind, weights, len(weights) > 2), key, scene.where, False, start
        )
    else:
        known = scene.graph.known_memory(value.node, key)
        if known is None:
            raise Unclear("a loop that does not do the same at every step")
        memory = known
    wanted = [memory, *(scene.node("state", (memory,), 0, options=(n,)) for n in range(1, len(states)))]
    if not constant:
        before = [(id(s.node), s.time) if isinstance(s, At) else None for s in states]
        if before != [(id(node), value.time - 1) for node in wanted]:
            raise Unclear("a loop in which a step gets something else than its own last state")
    made = tuple(At(node, value.time, ("B", "F")) for node in wanted)
    return made[0] if len(made) == 1 else made


@rule("_pack_padded_sequence")
def pack(scene: Scene, found: Any, given: Any, lengths: Any, batch_first: bool) -> Any:
    value = value_of(given)
    if not isinstance(value, Series):
        raise Unclear("a packed value that is not over time")
    return replace(value, axes=("B", "T", "F"), packed=True), None


@rule("_pad_packed_sequence")
def pad(scene: Scene, found: Any, given: Any, sizes: Any, batch_first: bool, padding: float, total: int) -> Any:
    value = value_of(given)
    axes = ("B", "T", "F") if batch_first else ("T", "B", "F")
    if not isinstance(value, Series):
        raise Unclear("a packed value that is not over time")
    if found[0].shape[1 if batch_first else 0] != scene.time:
        raise Unclear("a sequence that is shorter after packing")
    return replace(value, axes=axes, packed=False), None


@rule("pad")
def pad_with_zeros(
    scene: Scene, found: Tensor, given: Any, pad: Any, mode: str = "constant", value: float | None = None
) -> Meaning:
    """Zeros before or after the steps; or every step one later, with a zero first."""
    series = value_of(given)
    if mode != "constant" or value or not isinstance(series, Series):
        raise Unclear("padding with something else than zeros")
    if tuple(pad) == (0, 0, 1, -1) and series.axes == ("B", "T", "F"):
        size = series.node.size
        cell = ConvolutionCell(
            size, size, biases="none", weights={"weight_1": scene.like.new_ones(size)}, now=False, single=True
        )
        return replace(series, node=scene.graph.memory(series.node, cell, "previous", scene.where))
    if len(pad) != 2 or series.axes[-1] != "T" or min(pad) < 0:
        raise Unclear("padding of another axis than time")
    return Longer(series.node, series.axes, *pad)


@rule("conv1d")
def conv1d(
    scene: Scene, found: Tensor, given: Any, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Meaning:  # fmt: skip
    """Over time: what lies behind is a memory, what lies ahead one that reads backward."""
    stride, dilation = (one[0] if isinstance(one, tuple | list) else one for one in (stride, dilation))
    if (stride, dilation) != (1, 1):
        raise Unclear("a convolution with strides or gaps")
    width = weight.shape[-1]
    behind = (width - 1) // 2 if padding == "same" else padding[0] if isinstance(padding, tuple | list) else padding
    value = given if isinstance(given, Longer) else value_of(given)
    behind = 0 if isinstance(behind, str) else behind + (value.before if isinstance(value, Longer) else 0)
    ahead, extra = width - 1 - behind, found.shape[-1] - scene.time
    if value.axes != ("B", "F", "T") or ahead < 0 or extra < 0 or isinstance(value, At):
        raise Unclear("a convolution that leaves steps out")
    single = groups > 1 and tuple(weight.shape[:2]) == (groups, 1)
    if single:
        weight = weight[:, 0]
    elif groups > 1:
        weight = torch.stack([torch.block_diag(*one.chunk(groups)) for one in weight.unbind(-1)], -1)
    node = _convolution(scene, value.node, weight, bias, behind, ahead)
    return Longer(node, value.axes, 0, extra, zeros=False) if extra else Series(node, value.axes)


def _convolution(scene: Scene, given: Node, weight: Tensor, bias: Tensor | None, behind: int, ahead: int) -> Node:
    key, size = (id(scene.graph.weight(weight)), behind), (given.size, len(weight))
    past = {"bias_ih": bias} | {f"weight_{ago}": weight[..., behind - ago] for ago in range(behind + 1)}
    single = weight.dim() == 2
    biases: Biases = "none" if bias is None else "one"
    cell = ConvolutionCell(*size, biases=biases, weights=past, width=behind + 1, single=single)
    node = scene.graph.memory(given, cell, ("past", *key), scene.where)
    if not ahead:
        return node
    later = {f"weight_{ago}": weight[..., behind + ago] for ago in range(1, ahead + 1)}
    cell = ConvolutionCell(*size, biases="none", weights=later, width=ahead + 1, now=False, single=single)
    other = scene.graph.memory(given, cell, ("ahead", *key), scene.where, reverse=True)
    return scene.node("add", (node, other), node.size)


def of_cells(scene: Scene, value: Any, cells: Sequence[Cell], directions: int = 1) -> tuple[Meaning, Meaning]:
    """Outputs and last states of a module whose cells are known."""
    given = value_of(value)
    if not isinstance(given, Series):
        raise Unclear("a recurrent layer that is called step by step")
    node, memories = stack(scene, given.node, cells, directions, [None] * len(cells))
    last = [At(memory, 0 if memory.reverse else scene.time - 1, ("B", "F")) for memory in memories]
    return replace(given, node=node), Several(tuple(last), ("D", "B", "F"), (len(last),))
