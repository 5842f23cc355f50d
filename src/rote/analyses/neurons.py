"""Which weights belong to which neuron of a recurrent layer, in any module, and which neurons have the strongest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from rote.analyses.inputs import check_finite
from rote.analyses.weights import strongest_of
from rote.cells import Cell, Recurrent
from rote.cells.adapt import refuse_computed
from rote.config import one_of
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

Strength = Literal["edges", "mean", "max"]


@dataclass
class NeuronLayer:
    """One direction of one recurrent layer: its weights by name, and the matrices above that read its neurons."""

    name: str
    size: int
    weights: Mapping[str, Tensor]  # rows: each gate's neurons in turn
    inputs: str  # of the matrix whose columns are the layer's inputs; those of the others are its own neurons
    readers: list[tuple[Tensor, int]] = field(default_factory=list)  # with the column of the first neuron


def strong_neurons(
    model: nn.Module, keep: float = 0.05, *, by: Strength = "edges", strongest: float = 0.01
) -> dict[str, Tensor]:
    """Which neurons ``prune`` keeps: their numbers, strongest first, by the name of the layer."""
    if not 0 < keep <= 1:
        raise UsageError(f"'keep' must be a share above 0 and at most 1. Got {keep}.")
    one_of("by", by, ("edges", "mean", "max"))
    layers = list(neuron_layers(model))
    if not layers:
        raise UsageError(
            f"{type(model).__name__} has no recurrent layer to prune: no nn.RNN, nn.LSTM, nn.GRU, their cells, or rote "
            "Recurrent is among its modules."
        )
    found = {}
    for layer in layers:
        for name, weight in layer.weights.items():
            check_finite(f"{name!r} of {layer.name}", weight)
        order = _by_strength(layer, by, strongest)
        found[layer.name] = order[: max(1, round(keep * layer.size))]
    return found


def _by_strength(layer: NeuronLayer, by: Strength, strongest: float) -> Tensor:
    """All neurons, strongest first; equals in the order of their numbers."""
    absolute, receiver, sender = _links(layer)
    sent = sender >= 0
    neuron = torch.cat([receiver, sender[sent]])
    amount = torch.cat([absolute, absolute[sent]])
    mean = neuron.bincount(amount, minlength=layer.size) / neuron.bincount(minlength=layer.size)
    order = mean.argsort(descending=True, stable=True)
    if by == "mean":
        return order
    if by == "max":
        largest = torch.zeros(layer.size, dtype=torch.double).scatter_reduce(0, neuron, amount, "amax")
        return largest.argsort(descending=True, stable=True)
    strong = torch.zeros_like(sent)
    strong[strongest_of(absolute, strongest)] = True
    edges = neuron[torch.cat([strong, strong[sent]])].bincount(minlength=layer.size)
    return order[edges[order].argsort(descending=True, stable=True)]


def _links(layer: NeuronLayer) -> tuple[Tensor, Tensor, Tensor]:
    """Every weight between neurons or from an input: absolute value, receiving neuron, sending one (-1: an input)."""
    found = []
    for name, weight in layer.weights.items():
        if weight.dim() == 2:
            receiver = (torch.arange(len(weight)) % layer.size)[:, None].expand(weight.shape)
            own = torch.arange(weight.shape[1]) if name != layer.inputs else torch.full((weight.shape[1],), -1)
            found.append((weight.detach().cpu().double().abs(), receiver, own.expand(weight.shape)))
    absolute, receiver, sender = (torch.cat([part.flatten() for part in parts]) for parts in zip(*found, strict=True))
    return absolute, receiver, sender


def neuron_layers(model: nn.Module) -> Iterator[NeuronLayer]:
    """Every recurrent layer among the modules, lower before upper."""
    inside: set[int] = set()
    for name, module in model.named_modules():
        lead = f"{name}." if name else ""
        if isinstance(module, Recurrent):
            stack = [_cell_layer(f"{lead}cells.{index}", cell) for index, cell in enumerate(module.all_cells())]
            inside.update(map(id, module.cells))
            own = model if isinstance(model, SequenceModel) and model.recurrent is module else None
            yield from _connected(stack, module.directions, None if own is None else own.linear_readout)
        elif isinstance(module, Cell | nn.RNNCellBase) and id(module) not in inside:
            yield _cell_layer(name, module)
        elif isinstance(module, nn.RNNBase):
            if getattr(module, "proj_size", 0):
                raise UsageError(
                    f"{name or 'The LSTM'} has proj_size={module.proj_size} and cannot be pruned. "
                    "Only an LSTM with proj_size=0 can."
                )
            yield from _connected(_module_layers(lead, module), 2 if module.bidirectional else 1, None)


def _cell_layer(name: str, cell: Cell | nn.RNNCellBase) -> NeuronLayer:
    size = cell.hidden_size
    if isinstance(cell, Cell) and (set(cell.state_sizes) != {size} or cell.weight_ih is None):
        raise UsageError(
            f"{name} has states of different size, {dict(zip(cell.state_names, cell.state_sizes, strict=True))}, or no "
            "matrix for its input, and cannot be pruned: a unit of its output is no neuron with weights of its own."
        )
    declared = cell.shapes() if isinstance(cell, Cell) else {}  # a cell's weights may be another module's tensors
    weights: dict[str, Tensor] = {key: getattr(cell, key) for key, shape in declared.items() if shape is not None}
    weights.update(cell.named_parameters(recurse=False))
    for key, weight in weights.items():
        columns = weight.shape[1] if weight.dim() == 2 and key != "weight_ih" else size
        if weight.dim() not in (1, 2) or len(weight) % size or columns != size:
            raise UsageError(
                f"What of {name}.{key} {tuple(weight.shape)} belongs to which neuron cannot be told: it needs a row "
                f"for each of the {size} neurons and each gate, and a column for each neuron."
            )
    return NeuronLayer(name, size, weights, "weight_ih")


def _module_layers(lead: str, module: nn.RNNBase) -> list[NeuronLayer]:
    layers = []
    for number in range(module.num_layers):
        for end in ("", "_reverse")[: 2 if module.bidirectional else 1]:
            suffix = f"_l{number}{end}"
            names = [f"{kind}{suffix}" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            weights = {name: getattr(module, name) for name in names if hasattr(module, name)}
            refuse_computed("model", weights)
            layers.append(NeuronLayer(f"{lead}l{number}{end}", module.hidden_size, weights, names[0]))
    return layers


def _connected(layers: list[NeuronLayer], directions: int, readout: nn.Linear | None) -> list[NeuronLayer]:
    """Each layer with what reads it: the next one's input weights, or the readout."""
    for index, layer in enumerate(layers):
        above = layers[(index // directions + 1) * directions :][:directions]
        first = index % directions * layer.size
        layer.readers = [(upper.weights[upper.inputs], first) for upper in above]
        if not above and readout is not None:
            layer.readers = [(readout.weight, first)]
    return layers
