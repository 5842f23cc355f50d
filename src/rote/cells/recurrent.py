"""Layers of cells over time: one or both directions, padded batches, initial states, dropout between layers.

Where torch has a fused kernel for the same equations, ``forward`` uses it with the cells' own weights, and where a step
is linear in its state it is run for all of time at once (``over_time``); the steps that the analyses take apart are the
cells'. All are tested to be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from rote.cells.arithmetic import Plain
from rote.cells.cell import Biases, Cell, Initialization, cells
from rote.cells.fused import State, is_fusable, run_fused
from rote.cells.over_time import dry_step, hidden_over_time, turned
from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

States = Sequence[State]  # one tensor [batch, unit] per state of the cell, for each layer and in it each direction


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
            kind, made = cells[cell], list[Cell]()
            for layer in range(layers):
                size = input_size if layer == 0 else made[0].output_size * self.directions
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
        for index, cell in enumerate(self.all_cells()):
            layer, direction = divmod(index, self.directions)
            wanted = self.output_size if layer else self.cell(0).input_size
            sizes, below = (cell.hidden_size, cell.output_size), (self.hidden_size, self.cell(0).output_size)
            if cell.input_size != wanted or sizes != below:
                raise UsageError(
                    f"The cell of layer {layer}, direction {direction} must take {wanted} inputs, have "
                    f"{below[0]} units and give {below[1]}. Got {cell.input_size}, {sizes[0]} and {sizes[1]}."
                )
            _check_states(cell)

    def cell(self, layer: int, direction: int = 0) -> Cell:
        cell = self.cells[layer * self.directions + direction]
        if not isinstance(cell, Cell):
            raise UsageError(f"'cell' must hold rote cells. Got {type(cell).__name__}: subclass rote.cells.Cell.")
        return cell

    def all_cells(self) -> list[Cell]:
        """Every cell, layer by layer and in a layer direction by direction."""
        return [self.cell(*divmod(index, self.directions)) for index in range(len(self.cells))]

    @property
    def hidden_size(self) -> int:
        return self.cell(0).hidden_size

    @property
    def output_size(self) -> int:
        return self.cell(0).output_size * self.directions

    def zero_states(self, batch: int) -> list[State]:
        return [cell.zero_state(batch) for cell in self.all_cells()]

    def forward(
        self,
        inputs: Float[Tensor, "batch time input"],
        *,
        lengths: Tensor | None = None,
        initial: States | None = None,
    ) -> tuple[Float[Tensor, "batch time output"], list[State]]:
        """Outputs of the top layer (zero after a row's end) and the final states."""
        states = list(initial) if initial is not None else self.zero_states(len(inputs))
        stack = self.all_cells()
        dropout = self.dropout if self.training else 0.0
        if is_fusable(stack) and inputs.shape[1] > 0:
            return run_fused(stack, self.directions, inputs, lengths, states, dropout)
        mask = mask_of(lengths, inputs.shape[1]) if lengths is not None else None
        final: list[State] = []
        for layer in range(self.layers):
            if dropout and layer > 0:
                inputs = nn.functional.dropout(inputs, dropout)
            outputs = []
            for direction in range(self.directions):
                index = layer * self.directions + direction
                output, end = _hidden(stack[index], inputs, states[index], mask, direction == 1)
                outputs.append(output)
                final.append(end)
            inputs = torch.cat(outputs, dim=-1) if len(outputs) > 1 else outputs[0]
        return inputs, final


@torch.no_grad()
def _check_states(cell: Cell) -> None:
    """The states that one step gives must have the declared sizes: the analyses would be wrong without a word."""
    start, new = dry_step(cell)
    declared = dict(zip(cell.state_names, cell.state_sizes, strict=True))
    for states in (start, new):
        found = dict(zip(cell.state_names, (value.shape[-1] for value in states), strict=False))
        if len(states) != len(declared) or found != declared:
            raise UsageError(
                f"The states of {type(cell).__name__} must have the units {declared}, as it declares. Got {found}. "
                "Where they differ from hidden_size, give the cell the property state_sizes, one number for each state."
            )


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


def _hidden(cell: Cell, inputs: Tensor, state: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
    if inputs.shape[1] == 0:
        return inputs.new_zeros(len(inputs), 0, cell.output_size), state
    found = read_over_time(cell, inputs, state, mask, reverse)
    if found is not None:
        return found
    unrolled = unroll(cell, inputs, state, mask, reverse)
    return unrolled.states["hidden"], unrolled.final


def read_over_time(
    cell: Cell, inputs: Tensor, state: State, mask: Tensor | None, reverse: bool, a: Plain | None = None
) -> tuple[Tensor, State] | None:
    """What a cell gives at every step and its states at the end; None if it has to go step by step."""
    read = turned(inputs, mask) if reverse else inputs
    found = hidden_over_time(cell, a or Plain(), cell.project(read), state, mask)
    if found is None or not reverse:
        return found
    return turned(found[0], mask), found[1]
