"""Everything a recurrent model computes on a sequence: states, gates, logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.inputs import as_model, check_initial, check_inputs
from rote.analyses.plain_autograd import outputs_of
from rote.analyses.result import Result, analyses, rows_of
from rote.cells import Recurrent, unroll
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

Key = int | tuple[int, int]  # layer, or (layer, direction) when there are two directions


def keys_of(recurrent: Recurrent) -> list[Key]:
    """Of every cell, layer by layer."""
    layers, directions = range(recurrent.layers), range(recurrent.directions)
    return [layer if len(directions) == 1 else (layer, direction) for layer in layers for direction in directions]


def place_of(key: Key) -> dict[str, int]:
    """A key as labels of a table's row."""
    layer, direction = key if isinstance(key, tuple) else (key, 0)
    return {"layer": layer, "direction": direction}


@dataclass(frozen=True, repr=False)
class Trace(Result):
    """States and gates [batch, time, unit] by layer and name; zero where a row has ended."""

    states: dict[Key, dict[str, Tensor]]
    gates: dict[Key, dict[str, Tensor]]
    logits: Float[Tensor, "batch time output"]  # the top layer's hidden states when the model has no readout
    mask: Bool[Tensor, "batch time"]  # true where there is an input
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "states": ("batch", "time", "unit"),
        "gates": ("batch", "time", "unit"),
        "logits": ("batch", "time", "output"),
        "mask": ("batch", "time"),
    }

    @property
    def hidden(self) -> dict[Key, Tensor]:
        return {key: states["hidden"] for key, states in self.states.items()}

    @property
    def cell(self) -> dict[Key, Tensor]:
        """The memory cell of LSTM layers (the outermost one of a Nested LSTM); empty for units without one."""
        return {key: states["cell"] for key, states in self.states.items() if "cell" in states}

    def to_table(self) -> Table:
        rows: list[dict[str, Any]] = []
        for kind, values in (("state", self.states), ("gate", self.gates)):
            for key, named in values.items():
                for name, series in named.items():
                    labels = place_of(key) | {"kind": kind, "name": name}
                    found = rows_of(series, ("batch", "time", "unit"), "value", self.mask[..., None])
                    rows += [labels | row for row in found]
        names = ("layer", "direction", "kind", "name", "batch", "time", "unit")
        columns = (*(Column(name, role="label") for name in names), Column("value", "activation"))
        return Table.make("trace", "States and gates", columns, rows, figure="trace", details=True)


@analyses.register("trace")
def trace(model: SequenceModel, tokens: Tensor | PackedSequence, lengths: Any = None, *, initial: Any = None) -> Trace:
    """States, gates and logits at every step of every layer. Dropout does not act, whatever the model's mode.

    - tokens: whole numbers [batch, time] or [time], or packed; vectors [batch, time, input] if there is no embedding.
    - lengths: how many steps of each row count, where rows are padded.
    - initial: the states before the first step, by layer and direction, or in the form that torch's module takes.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.LSTM(3, 5, num_layers=2, batch_first=True))
    >>> found = rote.trace(model, torch.randn(2, 7, 3), lengths=[7, 4])
    >>> found.hidden[1].shape, sorted(found.gates[0])
    (torch.Size([2, 7, 5]), ['candidate', 'forget', 'input', 'output'])
    >>> found.mask.sum(1).tolist()
    [7, 4]
    """
    model = as_model(model)
    inputs = check_inputs(model, tokens, lengths)
    recurrent, start = model.recurrent, check_initial(model, inputs, initial)
    keys = keys_of(recurrent)
    states: dict[Key, dict[str, Tensor]] = {}
    gates: dict[Key, dict[str, Tensor]] = {}
    with torch.no_grad():
        values, mask = inputs.vectors, None if inputs.lengths is None else inputs.mask
        for layer in range(recurrent.layers):
            outputs = []
            for direction in range(recurrent.directions):
                index = layer * recurrent.directions + direction
                run = unroll(recurrent.cell(layer, direction), values, start[index], mask, reverse=direction == 1)
                states[keys[index]], gates[keys[index]] = run.states, run.gates
                outputs.append(run.states["hidden"])
            values = torch.cat(outputs, dim=-1)
        logits = outputs_of(model, values)
    return Trace(states, gates, logits, inputs.mask)
