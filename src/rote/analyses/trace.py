"""Everything a model computes on a sequence: states, gates, logits.

Of a model in the arithmetic all of it, step by step. Of another one with states what its ``layer_states`` gives; it is
run on sequences of one length at a time, so that padding is no input of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.inputs import as_model, check_initial, check_inputs, check_lengths, shown, unpacked
from rote.analyses.memory import check_memory
from rote.analyses.plain_autograd import outputs_of
from rote.analyses.result import OverTokens, analyses, needs, rows_of
from rote.cells import Recurrent, mask_of, unroll
from rote.errors import UsageError
from rote.models.architecture import Capability
from rote.models.calling import tensor_of
from rote.models.capabilities import WithStates, require
from rote.models.in_eval import in_eval
from rote.models.inputs import WHOLE, check_token_ids, check_vectors
from rote.models.sequence import SequenceModel
from rote.models.traced.stages import Stage
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

Key = int | tuple[int, int]  # layer, or (layer, direction) when there are two directions


def keys_of(recurrent: Recurrent) -> list[Key]:
    """Of every cell, layer by layer."""
    layers, directions = range(recurrent.layers), range(recurrent.directions)
    return [layer if len(directions) == 1 else (layer, direction) for layer in layers for direction in directions]


def remembering(recurrent: Recurrent) -> list[Key]:
    """Of the cells that have states of their own; others only pass on what later layers need."""
    pairs = zip(keys_of(recurrent), recurrent.all_cells(), strict=True)
    return [key for key, cell in pairs if not isinstance(cell, Stage) or cell.own_size]


def place_of(key: Key) -> dict[str, int]:
    """A key as labels of a table's row."""
    layer, direction = key if isinstance(key, tuple) else (key, 0)
    return {"layer": layer, "direction": direction}


@dataclass(frozen=True, repr=False)
class Trace(OverTokens):
    """States and gates [batch, time, unit] by layer and name; zero where a row has ended."""

    states: dict[Key, dict[str, Tensor]]
    gates: dict[Key, dict[str, Tensor]]
    logits: Float[Tensor, "batch time output"]  # the top layer's hidden states when the model has no readout
    mask: Bool[Tensor, "batch time"]  # true where there is an input
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "states": ("batch", "time", "unit"),
        "gates": ("batch", "time", "unit"),
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
@needs("states")
def trace(
    model: SequenceModel | WithStates, tokens: Tensor | PackedSequence, *, lengths: Any = None, initial: Any = None
) -> Trace:
    """States, gates and logits at every step of every layer. Dropout does not act, whatever the model's mode.

    - model: what ``rote.adapt`` gives; or any module with a method ``layer_states(tokens)`` that gives its states
      [batch, time, unit] by layer and name, which then has no gates.
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
    require("trace", model, "states")
    if isinstance(model, SequenceModel):
        return _of_steps(as_model(model, "trace"), tokens, lengths, initial)
    if initial is not None:
        raise UsageError("'initial' is for models that rote.adapt gives. Leave it out.")
    return _of_states(model, tokens, lengths)


def as_trace(trace: Any, analysis: str, needed: Capability, or_else: str = "") -> Trace:
    """A trace. What was given in its place is refused, a model of which none can be made with the reason.

    ``or_else``: what the analysis takes as well.
    """
    if isinstance(trace, Trace):
        return trace
    if callable(trace):
        require(analysis, trace, needed)
    remedy = " Give rote.trace(model, tokens)." if callable(trace) else ""
    raise UsageError(f"'trace' must be what rote.trace() returns{or_else}. Got {type(trace).__name__}.{remedy}")


def _of_steps(model: SequenceModel, tokens: Tensor | PackedSequence, lengths: Any, initial: Any) -> Trace:
    inputs = check_inputs(model, tokens, lengths)
    recurrent, start = model.recurrent, check_initial(model, inputs, initial)
    check_memory(
        _numbers(model, recurrent) * inputs.mask.numel() * inputs.vectors.element_size(),
        f"trace() of {inputs.batch} x {inputs.time} steps",
        "Take fewer sequences at a time, or shorter ones.",
    )
    keys = keys_of(recurrent)
    states: dict[Key, dict[str, Tensor]] = {}
    gates: dict[Key, dict[str, Tensor]] = {}
    with torch.no_grad():
        values, mask = inputs.vectors, None if inputs.lengths is None else inputs.mask
        for layer in range(recurrent.layers):
            outputs = []
            for direction in range(recurrent.directions):
                index = layer * recurrent.directions + direction
                cell = recurrent.cell(layer, direction)
                run = unroll(cell, values, start[index], mask, reverse=direction == 1)
                outputs.append(run.states["hidden"])
                units = cell.own_size if isinstance(cell, Stage) else cell.output_size
                if units:  # else it only passes on what later layers need
                    states[keys[index]] = run.states | {"hidden": run.states["hidden"][..., :units]}
                    gates[keys[index]] = run.gates
            values = torch.cat(outputs, dim=-1)
        logits = outputs_of(model, values)
    return Trace(states, gates, logits, inputs.mask, tokens=inputs.tokens)


@torch.no_grad()
def _of_states(model: WithStates, tokens: Tensor | PackedSequence, lengths: Any) -> Trace:
    padded, lengths = unpacked(tokens, lengths)
    is_ids = padded.dtype in WHOLE
    inputs = check_token_ids(padded, torch.iinfo(torch.int64).max) if is_ids else check_vectors(padded)
    batch, time = inputs.shape[:2]
    counts = check_lengths(lengths, batch, time)
    counts = torch.full((batch,), time) if counts is None else counts
    called: Any = in_eval(model) if isinstance(model, nn.Module) else model
    states: dict[Key, dict[str, Tensor]] = {}
    logits: Tensor | None = None
    for count in counts.unique().tolist():
        rows = (counts == count).nonzero().flatten().to(inputs.device)
        for layer, named in _checked_states(called.layer_states(inputs[rows, :count]), len(rows), count).items():
            for name, values in named.items():
                whole = states.setdefault(layer, {}).setdefault(name, _zeros(values, batch, time))
                whole[rows, :count] = values
        outputs = tensor_of(called(inputs[rows, :count]))
        if outputs is None or outputs.shape[:2] != (len(rows), count):
            raise UsageError(f"'model' must give outputs [batch, time, output]. Got {shown(outputs)}.")
        logits = _zeros(outputs, batch, time) if logits is None else logits
        logits[rows, :count] = outputs
    assert logits is not None
    mask = mask_of(counts, time).to(inputs.device)
    return Trace(states, {key: {} for key in states}, logits, mask, tokens=inputs if is_ids else None)


def _zeros(like: Tensor, batch: int, time: int) -> Tensor:
    return like.new_zeros(batch, time, *like.shape[2:])


def _checked_states(found: Any, batch: int, time: int) -> dict[int, dict[str, Tensor]]:
    """What ``layer_states`` gave, if it is what it should be."""
    try:
        states = {int(layer): dict(named) for layer, named in found.items()}
    except (AttributeError, TypeError, ValueError):
        states = {}
    if not states or any("hidden" not in named for named in states.values()):
        raise UsageError(
            "layer_states() of 'model' must give {layer: {name: states}} with a state 'hidden' in every layer. "
            f"Got {found!r:.80}."
        )
    for layer, named in states.items():
        for name, values in named.items():
            if not isinstance(values, Tensor) or values.dim() != 3 or values.shape[:2] != (batch, time):
                raise UsageError(
                    f"layer_states() of 'model' must give states [batch={batch}, time={time}, unit]. "
                    f"Got {shown(values)} for {name!r} of layer {layer}."
                )
    return states


def _numbers(model: SequenceModel, recurrent: Recurrent) -> int:
    """Held of each step: states and gates of all layers, those of one of them twice, its projected input, outputs."""
    series = [sum(cell.state_sizes) + len(cell.gate_names) * cell.hidden_size for cell in recurrent.all_cells()]
    return sum(series) + max(series) + len(recurrent.cell(0).input_matrix) + model.output_size
