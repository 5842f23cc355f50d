"""What a recurrent unit does on a text, operation by operation; and how a loss reaches back in an unrolled network.

The operations are those of the cell's own step (``rote.cells.diagram``), so that any cell can be shown, also a user's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rote.analyses import gradient_flow, trace
from rote.cells import Recurrent
from rote.cells.diagram import Diagram, diagram
from rote.errors import UnknownNameError, UsageError
from rote.explorer.reading import Reader
from rote.explorer.text_connectivity import packed
from rote.models import AutocompleteConfig, AutocompleteModel, SequenceModel
from rote.tasks.alphabet import CHARACTERS
from rote.tasks.autocomplete import WORDS_BEFORE

SHORT = 48  # symbols of a text whose every output's gradient is computed
UNITS, WORDS, SEED = 100, 1000, 0  # of the untrained networks
UNTRAINED = {"elman": 2, "gru": 2, "lstm": 2, "nested_lstm": 1}  # cell -> layers, as the source has them
DIGITS = 4  # of a probability


def watched(reader: Reader, text: str, layer: int, unit: int) -> dict[str, Any]:
    """For the page: the diagram of one layer's cell, with the value of one unit at every step and every operation."""
    model = _forward(reader.model)
    recurrent = model.recurrent
    if not 0 <= layer < recurrent.layers:
        raise UsageError(f"'layer' must lie in 0 to {recurrent.layers - 1}. Got {layer}.")
    cell = recurrent.cell(layer)
    if not 0 <= unit < cell.hidden_size:
        raise UsageError(f"'unit' must lie in 0 to {cell.hidden_size - 1}. Got {unit}.")
    reading = reader.read(text or " ")
    found = trace(model, reading.tokens)
    hidden = [found.states[number][_first(recurrent, number)][0] for number in range(recurrent.layers)]
    with torch.no_grad():
        inputs = hidden[layer - 1] if layer else model.embed(reading.tokens)[0]
        before = [_shifted(found.states[layer][name][0]) for name in cell.state_names]
        made = diagram(cell, inputs, before)
    chances = found.logits[0].softmax(-1)
    best = chances.argmax(-1).tolist()
    return reading.facts() | {
        "cell": type(cell).__name__,
        "layers": recurrent.layers,
        "units": cell.hidden_size,
        "nodes": [
            {"kind": node.kind, "name": node.name, "inputs": node.inputs, "weights": node.weights}
            for node in made.nodes
        ],
        "outputs": made.outputs,
        "values": packed(_of_unit(made, unit)),
        "hidden": packed(torch.stack([_column(state, unit) for state in hidden]).cpu().numpy()),
        "said": [reader.outputs[number] for number in best],
        "chances": [round(value, DIGITS) for value in chances.max(-1).values.tolist()],
    }


def reached(reader: Reader, text: str) -> dict[str, Any]:
    """For the page: |d loss at t / d state at s| of every layer, all its states together (a gradient takes the way
    through an LSTM's memory cell, not only through its hidden state), for every output t: [output, layer, step]."""
    model = _forward(reader.model)
    reading = reader.read(text or " ", SHORT)
    rows = []
    for at in range(reading.time):
        flow = gradient_flow(model, reading.tokens, at, jacobians=False)
        layers = [torch.stack([*flow.states[layer].values()])[:, 0] for layer in range(model.recurrent.layers)]
        rows.append(torch.stack([norms.double().square().sum(0).sqrt() for norms in layers]))
    values = torch.stack(rows).cpu().numpy()
    return reading.facts() | {"layers": model.recurrent.layers, "values": packed(values)}


@cache
def untrained(cell: str) -> Reader:
    """A network of this cell before any training, with the source's initialization."""
    if cell not in UNTRAINED:
        raise UnknownNameError("untrained network", cell, UNTRAINED)
    words = [*WORDS_BEFORE, *(f"word {number}" for number in range(WORDS))]
    model = AutocompleteModel(AutocompleteConfig(cell, UNITS, UNTRAINED[cell]), words, SEED).eval()
    return Reader(model, CHARACTERS, model.vocabulary)


def _forward(model: SequenceModel) -> SequenceModel:
    if model.recurrent.directions != 1 or model.embedding is None:
        raise UsageError("A unit is shown in networks that embed symbols and read them in one direction.")
    return model


def _first(recurrent: Recurrent, layer: int) -> str:
    """The name of the state that a layer gives to the one above."""
    return recurrent.cell(layer).state_names[0]


def _shifted(states: Tensor) -> Tensor:
    """The state before each step, from those after it."""
    return torch.cat([torch.zeros_like(states[:1]), states[:-1]])


def _of_unit(made: Diagram, unit: int) -> np.ndarray:
    """[step, node]; NaN where a node has no such unit, as the input."""
    columns = [
        torch.full_like(node.value[..., 0], torch.nan) if node.kind == "input" else _column(node.value, unit)
        for node in made.nodes
    ]
    return torch.stack(columns, -1).cpu().numpy()


def _column(values: Tensor, unit: int) -> Tensor:
    if unit >= values.shape[-1]:
        return torch.full_like(values[..., 0], torch.nan)
    return values[..., unit]
