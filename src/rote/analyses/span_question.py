"""What is asked of a decomposition, what it fills in, and the run on inputs of zero that it may be measured from."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.inputs import Inputs
from rote.analyses.spans import bias_positions
from rote.analyses.splitting import Rules
from rote.cells import Cell, Recurrent, State, unroll
from rote.cells.arithmetic import Plain

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Question:
    """What is asked of a model: the part of its states that comes from each span."""

    recurrent: Recurrent
    inputs: Inputs
    inside: Bool[Tensor, "batch span time"]  # the positions of each span; one row if all sequences have the same
    steps: Int[Tensor, " step"]  # those whose parts are wanted
    rules: Rules
    initial: list[State]
    marked: bool  # the initial states are relevant

    @cached_property
    def bias(self) -> Bool[Tensor, "batch span time"]:
        """Where products of biases count as the span's."""
        inside = self.inside
        if self.rules.bias == "exclusive_end" and self.inputs.lengths is not None:
            inside = inside & self.inputs.mask[:, None]  # a span that reaches beyond its row ends with the row
        return bias_positions(inside, self.rules.bias)

    @cached_property
    def references(self) -> list[list[Tensor]] | None:
        """By layer and direction, then by state: the reference run [batch or 1, time, unit], in double precision. None
        if there is none, or if it is carried along."""
        return reference_run(self.recurrent, self.inputs) if self.rules.reference and not self.carries_bias else None

    @cached_property
    def carries_bias(self) -> bool:
        """Whether what comes from no input is carried along with the parts. It is a run on inputs of zero, unless some
        value is used whole: then it goes through the gates that the inputs have set."""
        return self.rules.reference and (
            self.rules.gates == "whole" or any(map(uses_whole, self.recurrent.all_cells()))
        )

    @property
    def spans(self) -> int:
        return self.inside.shape[1]

    def block(self, rows: slice, spans: slice = slice(None)) -> Question:
        """The same question about some sequences and spans."""
        return replace(
            self,
            inputs=self.inputs.rows(rows),
            inside=(self.inside if len(self.inside) == 1 else self.inside[rows])[:, spans],
            initial=[tuple(value[rows] for value in state) for state in self.initial],
        )

    def times(self, direction: int) -> range:
        return range(self.inputs.time) if direction == 0 else range(self.inputs.time - 1, -1, -1)

    def state(self, layer: int, direction: int) -> State:
        return self.initial[layer * self.recurrent.directions + direction]

    def reference(self, layer: int, direction: int, dtype: torch.dtype) -> list[Tensor] | None:
        if self.references is None:
            return None
        return [value.to(dtype) for value in self.references[layer * self.recurrent.directions + direction]]


@dataclass(frozen=True)
class States:
    """The top layer's states at the wanted steps, in parts."""

    hidden: Float[Tensor, "batch step unit"]
    relevant: Float[Tensor, "batch span step unit"]
    reference: Float[Tensor, "batch step unit"] | None  # what comes from no input; None where that has been shared out
    growth: Float[Tensor, "batch span"]  # of any layer's states: the largest part over the largest state


def reference_run(recurrent: Recurrent, inputs: Inputs) -> list[list[Tensor]]:
    """The states on inputs of zero from a state of zero, [batch or 1, time, unit] by layer, direction and state.

    In double precision: it is one sequence, so that this costs nothing, and its rounding would be in every part. Rows
    of different lengths differ only where they are read from their end.
    """
    own = inputs.lengths is not None and recurrent.directions == 2
    rows, mask = (inputs.batch, inputs.mask) if own else (1, None)
    vectors = inputs.vectors.new_zeros(rows, inputs.time, inputs.vectors.shape[-1], dtype=torch.float64)
    found: list[list[Tensor]] = []
    for layer in range(recurrent.layers):
        outputs = []
        for direction in range(recurrent.directions):
            cell = in_double_precision(recurrent.cell(layer, direction))
            states = list(unroll(cell, vectors, cell.zero_state(rows), mask, direction == 1).states.values())
            found.append(states)
            outputs.append(states[0])
        vectors = torch.cat(outputs, dim=-1)
    return found


class _Marks(Plain):
    """Remembers whether a step uses a value whole."""

    found = False

    def whole(self, value: Tensor) -> Tensor:
        self.found = True
        return value

    def maximum(self, first: Tensor, second: Tensor) -> Tensor:
        return super().maximum(self.whole(first), second)


def uses_whole(cell: Cell) -> bool:
    """Whether a step uses some value whole, by whatever rule."""
    marks, start = _Marks(), cell.zero_state(1)
    cell.step(marks, cell.project(start[0].new_zeros(1, cell.input_size)), start)
    return marks.found


def in_double_precision(cell: Cell) -> Cell:
    """A copy of the cell; its weights are no parameters any more."""
    weights = (*cell.parameters(), *cell.buffers())
    return copy.deepcopy(cell, {id(weight): weight.detach().double() for weight in weights})
