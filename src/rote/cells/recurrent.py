"""Layers of cells over time: one or both directions, padded batches, initial states, dropout between layers.

Where torch has a fused kernel for the same equations, ``forward`` uses it with the cells' own weights; the steps that
the analyses take apart are the cells'. Both are tested to be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from rote.cells.arithmetic import Plain
from rote.cells.cell import Biases, Cell, Initialization, cells
from rote.cells.elman import ElmanCell
from rote.cells.gru import GRUCell
from rote.cells.lstm import LSTMCell
from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

State = tuple[Tensor, ...]  # one tensor [batch, unit] per state of the cell
States = Sequence[State]  # for each layer, and in it for each direction


class Unrolled(NamedTuple):
    """One cell over a sequence: every state by name [batch, time, unit], every gate, and the state at the end."""

    states: dict[str, Tensor]
    gates: dict[str, Tensor]
    final: State


class Recurrent(nn.Module):
    """``cells[layer * directions + direction]`` run over [batch, time, input]."""

    def __init__(
        self,
        cell: str | Sequence[Cell],
        input_size: int = 0,
        hidden_size: int = 0,
        *,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        biases: Biases = "two",
        initialization: Initialization | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise UsageError(f"'dropout' must be at least 0 and below 1. Got {dropout}.")
        self.directions, self.dropout = 2 if bidirectional else 1, dropout
        if isinstance(cell, str):
            if layers < 1:
                raise UsageError(f"'layers' must be at least 1. Got {layers}.")
            kind, made = cells[cell], []
            for layer in range(layers):
                size = input_size if layer == 0 else hidden_size * self.directions
                for _ in range(self.directions):
                    made.append(kind(size, hidden_size, biases=biases, initialization=initialization, **options))
            cell = made
        self.cells = nn.ModuleList(cell)
        self.layers = len(cell) // self.directions
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Cells from outside must fit on each other."""
        if not self.layers or len(self.cells) % self.directions:
            raise UsageError(
                f"'cell' must hold {self.directions} per layer, at least one layer. Got {len(self.cells)}."
            )
        for index in range(len(self.cells)):
            layer, direction = divmod(index, self.directions)
            cell, wanted = self.cell(layer, direction), self.output_size if layer else self.cell(0).input_size
            if cell.hidden_size != self.hidden_size or cell.input_size != wanted:
                raise UsageError(
                    f"The cell of layer {layer}, direction {direction} must take {wanted} inputs and have "
                    f"{self.hidden_size} units. Got {cell.input_size} and {cell.hidden_size}."
                )

    def cell(self, layer: int, direction: int = 0) -> Cell:
        cell = self.cells[layer * self.directions + direction]
        if not isinstance(cell, Cell):
            raise UsageError(f"'cell' must hold rote cells. Got {type(cell).__name__}: subclass rote.cells.Cell.")
        return cell

    @property
    def hidden_size(self) -> int:
        return self.cell(0).hidden_size

    @property
    def output_size(self) -> int:
        return self.hidden_size * self.directions

    def zero_states(self, batch: int) -> list[State]:
        made = []
        for index in range(len(self.cells)):
            cell = self.cell(*divmod(index, self.directions))
            zeros = cell.weight_hh.new_zeros(batch, cell.hidden_size)
            made.append(tuple(zeros for _ in cell.state_names))
        return made

    def forward(
        self,
        inputs: Float[Tensor, "batch time input"],
        lengths: Tensor | None = None,
        initial: States | None = None,
    ) -> tuple[Float[Tensor, "batch time output"], list[State]]:
        """Outputs of the top layer (zero after a row's end) and the final states."""
        states = list(initial) if initial is not None else self.zero_states(len(inputs))
        mask = mask_of(lengths, inputs.shape[1]) if lengths is not None else None
        final: list[State] = []
        for layer in range(self.layers):
            outputs = []
            for direction in range(self.directions):
                cell = self.cell(layer, direction)
                run = fused if is_fusable(cell) and inputs.shape[1] > 0 else _hidden
                output, end = run(cell, inputs, states[layer * self.directions + direction], mask, direction == 1)
                outputs.append(output)
                final.append(end)
            inputs = torch.cat(outputs, dim=-1) if len(outputs) > 1 else outputs[0]
            if self.dropout and self.training and layer < self.layers - 1:
                inputs = nn.functional.dropout(inputs, self.dropout)
        return inputs, final


def mask_of(lengths: Tensor, time: int) -> Bool[Tensor, "batch time"]:
    return torch.arange(time, device=lengths.device) < lengths[:, None]


def unroll(
    cell: Cell,
    inputs: Float[Tensor, "batch time input"],
    state: State,
    mask: Bool[Tensor, "batch time"] | None = None,
    reverse: bool = False,
) -> Unrolled:
    """Step by step with plain tensors. Rows that have ended, or have not begun (reverse), keep their state;
    what is recorded for them is zero."""
    projected, times = cell.project(inputs), range(inputs.shape[1])
    states: list[list[Tensor]] = [[] for _ in cell.state_names]
    gates: dict[str, list[Tensor]] = {}
    a = Plain()
    for t in reversed(times) if reverse else times:
        new = cell.step(a, projected[:, t], state)
        keep = None if mask is None else mask[:, t, None]
        if keep is not None:
            state = tuple(torch.where(keep, fresh, old) for fresh, old in zip(new, state, strict=True))
        else:
            state = new
        for series, value in zip(states, new, strict=True):
            series.append(value if keep is None else value * keep)
        for name, value in a.gates.items():
            gates.setdefault(name, []).append(value if keep is None else value * keep)
    shown = slice(None, None, -1) if reverse else slice(None)
    named = {name: torch.stack(series[shown], dim=1) for name, series in zip(cell.state_names, states, strict=True)}
    return Unrolled(named, {name: torch.stack(series[shown], dim=1) for name, series in gates.items()}, state)


def is_fusable(cell: Cell) -> bool:
    """Whether torch has a kernel of these equations. A subclass may have changed them: only the classes."""
    return type(cell) in (ElmanCell, LSTMCell) or (type(cell) is GRUCell and cell.reset == "after")


def fused(
    cell: Cell, inputs: Tensor, state: State, mask: Tensor | None = None, reverse: bool = False
) -> tuple[Tensor, State]:
    """torch's kernel with this cell's weights: outputs and final state; padded rows are packed, not computed."""
    weights = [cell.weight_ih, cell.weight_hh]
    if cell.bias_ih is not None:
        weights += [cell.bias_ih, torch.zeros_like(cell.bias_ih) if cell.bias_hh is None else cell.bias_hh]
    if isinstance(cell, LSTMCell):
        kernel: Any = torch.lstm
    elif isinstance(cell, GRUCell):
        kernel = torch.gru
    else:
        kernel = torch.rnn_relu if getattr(cell, "nonlinearity", "tanh") == "relu" else torch.rnn_tanh
    start: Any = [value[None].contiguous() for value in state]
    start = start if isinstance(cell, LSTMCell) else start[0]
    # weights, has biases, layers, dropout, train, bidirectional
    rest = (weights, cell.bias_ih is not None, 1, 0.0, torch.is_grad_enabled(), False)
    if mask is None:
        output, *end = kernel(inputs.flip(1) if reverse else inputs, start, *rest, True)
        return output.flip(1) if reverse else output, tuple(value[0] for value in end)
    return _fused_ragged(kernel, inputs, start, rest, mask, reverse)


def _fused_ragged(
    kernel: Any, inputs: Tensor, start: Any, rest: tuple[Any, ...], mask: Tensor, reverse: bool
) -> tuple[Tensor, State]:
    """Rows sorted by length, so that those that have ended are no longer computed."""
    lengths = mask.sum(1)
    order = lengths.argsort(descending=True, stable=True)
    back = order.argsort()
    times = torch.arange(inputs.shape[1], device=inputs.device).expand(len(inputs), -1)
    turned = torch.where(mask, lengths[:, None] - 1 - times, times)  # each row backward within its own length

    def turn(values: Tensor) -> Tensor:
        return values.gather(1, turned[:, :, None].expand(-1, -1, values.shape[2])) if reverse else values

    packed = nn.utils.rnn.pack_padded_sequence(turn(inputs)[order], lengths[order].cpu(), batch_first=True)
    begin = [value[:, order] for value in start] if isinstance(start, list) else start[:, order]
    data, *end = kernel(packed.data, packed.batch_sizes, begin, *rest)
    padded = nn.utils.rnn.PackedSequence(data, packed.batch_sizes)
    output, _ = nn.utils.rnn.pad_packed_sequence(padded, batch_first=True, total_length=inputs.shape[1])
    return turn(output[back]), tuple(value[0, back] for value in end)


def _hidden(cell: Cell, inputs: Tensor, state: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
    if inputs.shape[1] == 0:
        return inputs.new_zeros(len(inputs), 0, cell.hidden_size), state
    unrolled = unroll(cell, inputs, state, mask, reverse)
    return unrolled.states["hidden"], unrolled.final
