"""Pairs of sequences laid out for a model that computes nothing for padding, and cells that run on them.

Rows are sorted, the longest first. Tokens are packed: those of step 0 of all rows, then those of step 1 of the rows
that go on, and so on; token (row, step) stands at ``starts[step] + row``. Replicas have their own rows but share the
sizes of the steps, so that a row may compute a few tokens more than it has: these count nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding

from rote.cells import Cell, GRUCell, LSTMCell, NestedLSTMCell, Stacked
from rote.cells.gru_training import run_gru
from rote.cells.lstm_training import run_lstm
from rote.cells.nested_lstm_training import run_nested_lstm
from rote.cells.stacked import with_equal_states, with_weights

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Shaped

Numbers = NDArray[np.int64]
VECTOR = 16  # positions are filled up to a multiple: torch's softmax is several times as fast on whole vectors
NO_TARGET = -100  # what torch's cross entropy leaves out


@dataclass(frozen=True)
class Packing:
    """Which rows, sorted by length, are still there at each step."""

    order: Numbers  # [replica, row]: which row of the batch is the first, second, ...
    sizes: tuple[int, ...]  # rows of each step
    starts: Numbers  # [step]: first token

    @classmethod
    def of(cls, lengths: Numbers) -> Packing:
        order = np.argsort(-lengths, axis=1, kind="stable")
        sizes = np.array([(lengths > step).sum(1).max() for step in range(lengths.max())])
        return cls(order, tuple(sizes.tolist()), np.cumsum(sizes) - sizes)

    @property
    def places(self) -> tuple[Numbers, Numbers]:
        """Row and step of every token, for one replica: what indexes an array [row, step]."""
        return (
            np.concatenate([self.order[0, :size] for size in self.sizes]),
            np.repeat(np.arange(len(self.sizes)), self.sizes),
        )

    def pack(self, sequences: Numbers) -> Numbers:
        """[replica, row, step] as [replica, token]."""
        rows = np.take_along_axis(sequences, self.order[..., None], 1)
        return np.concatenate([rows[:, :size, step] for step, size in enumerate(self.sizes)], 1)


@dataclass(frozen=True)
class Block:
    """Rows of similar length, for what is computed row by row: attention. Its places follow each other row by row."""

    rows: int
    steps: int


@dataclass(frozen=True)
class Pairs:
    """A batch of pairs for every replica. Rows are in the order of the outputs' lengths; ``order`` undoes it."""

    order: Int[Tensor, "replica row"]
    forward: Int[Tensor, "replica word"]  # inputs, packed
    backward: Int[Tensor, "replica word"]  # the same, each row from its end
    input_sizes: tuple[int, ...]
    forward_at: Int[Tensor, "replica row position"]  # the token of ``forward`` that has read up to a position
    backward_at: Int[Tensor, "replica row position"]
    ends: Int[Tensor, "replica row"]  # last position of the inputs
    mask: Bool[Tensor, "replica row position"]
    fed: Int[Tensor, "replica token"]  # what the decoder is fed, packed
    output_sizes: tuple[int, ...]
    blocks: tuple[Block, ...]
    output_at: Int[Tensor, "replica place"]  # the decoder's token at each place of the blocks
    targets: Int[Tensor, "replica place"]  # NO_TARGET behind the end of a row

    def to(self, device: torch.device) -> Pairs:
        moved: dict[str, Any] = {name: part.to(device) for name, part in vars(self).items() if isinstance(part, Tensor)}
        return replace(self, **moved)

    def in_order(self, values: Shaped[Tensor, "replica row ..."]) -> Shaped[Tensor, "replica row ..."]:
        """Values by row, in the order in which the batch was given."""
        back = self.order.argsort(1)
        return values[torch.arange(len(back), device=back.device)[:, None], back]

    def by_row(self, values: Shaped[Tensor, "replica place"]) -> list[Shaped[Tensor, "replica row step"]]:
        """Values by place as blocks of rows."""
        parts = values.split([block.rows * block.steps for block in self.blocks], 1)
        return [part.view(len(part), block.rows, -1) for part, block in zip(parts, self.blocks, strict=True)]


def arrange(
    inputs: Numbers, input_lengths: Numbers, outputs: Numbers, output_lengths: Numbers, start: int, blocks: int = 16
) -> Pairs:
    """From arrays [replica, row, step] and [replica, row]; ``start``: the symbol that a decoder is fed first."""
    out, into = Packing.of(output_lengths), Packing.of(input_lengths)
    lengths = np.take_along_axis(input_lengths, out.order, 1)[..., None]
    rank = np.take_along_axis(np.argsort(into.order, axis=1), out.order, 1)[..., None]  # a row's place among the inputs
    position = np.arange(-(-input_lengths.max() // VECTOR) * VECTOR)
    mask = position < lengths
    turned = np.maximum(input_lengths[..., None] - 1 - np.arange(inputs.shape[2]), 0)
    fed = np.concatenate([np.full_like(outputs[..., :1], start), outputs[..., :-1]], 2)
    made, output_at, targets = _blocks(out, outputs, output_lengths, blocks)
    arrays = {
        "order": out.order,
        "forward": into.pack(inputs),
        "backward": into.pack(np.take_along_axis(inputs, turned, 2)),
        "forward_at": into.starts[np.where(mask, position, 0)] + rank,
        "backward_at": into.starts[np.where(mask, lengths - 1 - position, 0)] + rank,
        "ends": lengths[..., 0] - 1,
        "mask": mask,
        "fed": out.pack(fed),
        "output_at": output_at,
        "targets": targets,
    }
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return Pairs(input_sizes=into.sizes, output_sizes=out.sizes, blocks=made, **tensors)


def _blocks(out: Packing, outputs: Numbers, lengths: Numbers, count: int) -> tuple[tuple[Block, ...], Numbers, Numbers]:
    sorted_lengths = np.take_along_axis(lengths, out.order, 1)
    sorted_outputs = np.take_along_axis(outputs, out.order[..., None], 1)
    replicas, rows = lengths.shape
    made, at, targets = [], [], []
    for part in np.array_split(np.arange(rows), min(count, rows)):
        longest = int(sorted_lengths[:, part[0]].max())
        step = np.arange(longest)
        inside = step < sorted_lengths[:, part, None]
        at.append(np.where(inside, out.starts[step] + part[:, None], 0).reshape(replicas, -1))
        targets.append(np.where(inside, sorted_outputs[:, part, :longest], NO_TARGET).reshape(replicas, -1))
        made.append(Block(len(part), longest))
    return tuple(made), np.concatenate(at, 1), np.concatenate(targets, 1)


def run_ragged(
    cell: Cell,
    symbols: Float[Tensor, "replica symbol size"],
    tokens: Int[Tensor, "replica token"],
    sizes: Sequence[int],
    start: Float[Tensor, "replica row unit"],
) -> Float[Tensor, "replica token unit"]:
    """Hidden states of a stacked cell over packed tokens; ``symbols``: the vector of each symbol. Every part of the
    cell's state is ``start`` at the beginning."""
    a = Stacked()
    projected = with_equal_states(cell).enter(a, symbols)
    entries = tokens + torch.arange(len(tokens), device=tokens.device)[:, None] * symbols.shape[1]
    written_out = _written_out(cell)
    if written_out is not None:
        return written_out((projected + a.constant(cell.bias)).flatten(0, 1), entries, start, sizes)
    inputs = embedding(entries, projected.flatten(0, 1))
    state, hidden = tuple(start for _ in cell.state_names), []
    for now in inputs.split(tuple(sizes), 1):
        state = cell.step(a, now, tuple(part[:, : now.shape[1]] for part in state))
        hidden.append(state[0])
    return torch.cat(hidden, 1)


def _written_out(cell: Cell) -> Callable[[Tensor, Tensor, Tensor, Sequence[int]], Tensor] | None:
    """From the inputs' part of the gates, the entries that tokens read of it, the start and the sizes of the steps: the
    hidden states. None for other cells; a subclass may have changed the equations: only the classes themselves."""
    if type(cell) is LSTMCell:
        return lambda table, entries, start, sizes: run_lstm(table, entries, cell.weight_hh, start, start, sizes)[0]
    if type(cell) is GRUCell and cell.reset == "before":
        return lambda table, entries, start, sizes: run_gru(table, entries, cell.weight_hh, start, sizes)
    if type(cell) is NestedLSTMCell and cell.depth == 2:
        inner = torch.cat([cell.level_weight(name, 1) for name in ("weight_ih", "weight_hh")], -1)
        weights = (cell.weight_hh, inner, cell.level_bias(1))
        return lambda table, entries, start, sizes: run_nested_lstm(table, entries, *weights, start, sizes)
    return None


def join(one: Cell, other: Cell) -> Cell:
    """Two stacked cells of one kind and size as one, the replicas of the first before those of the second."""
    return with_weights(one, lambda name, weight: torch.cat([weight, other.get_parameter(name)]))


def gather(values: Float[Tensor, "replica token unit"], at: Tensor) -> Tensor:
    """The tokens at ``at`` [replica, ...], with their vectors as the last axis."""
    replica = torch.arange(len(values), device=values.device).view(-1, *[1] * (at.dim() - 1))
    return embedding(at + replica * values.shape[1], values.flatten(0, 1))
