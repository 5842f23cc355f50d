"""A user's nn.RNN, nn.LSTM or nn.GRU seen as cells: the same weight tensors, nothing on the module is touched."""

from __future__ import annotations

from torch import nn

from rote.cells.cell import Biases, Cell
from rote.cells.elman import ElmanCell
from rote.cells.gru import GRUCell
from rote.cells.lstm import LSTMCell
from rote.cells.recurrent import Recurrent
from rote.errors import UsageError

OWN_CELL = (
    "Describe the cell yourself: subclass rote.cells.Cell with its row_groups, gate_names and step() "
    "(about 20 lines, see the top of rote/cells/cell.py), and pass rote.cells.Recurrent([cell, ...])."
)


def as_recurrent(module: nn.Module) -> Recurrent:
    """``module`` as a stack of cells that share its weights; a ``Recurrent`` is returned as it is."""
    if isinstance(module, Recurrent):
        return module
    if not isinstance(module, nn.RNN | nn.LSTM | nn.GRU):
        kind = f"{type(module).__module__}.{type(module).__qualname__}"
        raise UsageError(
            f"'recurrent' must be an nn.RNN, nn.LSTM or nn.GRU, or a rote Recurrent. Got {kind}. {OWN_CELL}"
        )
    if getattr(module, "proj_size", 0):
        raise UsageError(f"An LSTM with proj_size={module.proj_size} cannot be taken apart yet. {OWN_CELL}")
    directions = 2 if module.bidirectional else 1
    made = [_cell(module, layer, direction) for layer in range(module.num_layers) for direction in range(directions)]
    adapted = Recurrent(made, bidirectional=module.bidirectional, dropout=float(module.dropout))
    return adapted.train(module.training)


def _cell(module: nn.RNN | nn.LSTM | nn.GRU, layer: int, direction: int) -> Cell:
    suffix = f"_l{layer}{'_reverse' if direction else ''}"
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights = {name: getattr(module, name + suffix, None) for name in names}
    biases: Biases = "two" if module.bias else "none"
    sizes = (int(getattr(module, "weight_ih" + suffix).shape[1]), module.hidden_size)
    if isinstance(module, nn.LSTM):
        return LSTMCell(*sizes, biases=biases, weights=weights)
    if isinstance(module, nn.GRU):
        return GRUCell(*sizes, biases=biases, weights=weights)
    return ElmanCell(*sizes, biases=biases, weights=weights, nonlinearity=module.nonlinearity)
