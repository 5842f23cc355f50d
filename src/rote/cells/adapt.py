"""A user's nn.RNN, nn.LSTM or nn.GRU seen as cells: the same weight tensors, nothing on the module is touched."""

from __future__ import annotations

from collections.abc import Mapping

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
ONE_STEP = {nn.RNNCell: "ElmanCell", nn.LSTMCell: "LSTMCell", nn.GRUCell: "GRUCell"}


def as_recurrent(module: nn.Module) -> Recurrent:
    """``module`` as a stack of cells that share its weights; a ``Recurrent`` is returned as it is."""
    if isinstance(module, Recurrent):
        return module
    if not isinstance(module, nn.RNN | nn.LSTM | nn.GRU):
        raise UsageError(
            f"'recurrent' must be an nn.RNN, nn.LSTM or nn.GRU, or a rote Recurrent. Got {_kind(module)}. "
            + _advice(module)
        )
    if getattr(module, "proj_size", 0):
        raise UsageError(f"An LSTM with proj_size={module.proj_size} cannot be taken apart yet. {OWN_CELL}")
    torch_class = next(known for known in (nn.RNN, nn.LSTM, nn.GRU) if isinstance(module, known))
    refuse_own_forward("recurrent", module, torch_class, OWN_CELL)
    directions = 2 if module.bidirectional else 1
    made = [_cell(module, layer, direction) for layer in range(module.num_layers) for direction in range(directions)]
    adapted = Recurrent(made, bidirectional=module.bidirectional, dropout=float(module.dropout))
    return adapted.train(module.training)


def refuse_own_forward(argument: str, module: nn.Module, torch_class: type[nn.Module], remedy: str) -> None:
    if type(module).forward is not torch_class.forward:
        raise UsageError(
            f"'{argument}' is a {_kind(module)} with a forward() of its own, so that Rote cannot know what it "
            f"computes. {remedy}"
        )


def refuse_computed(argument: str, weights: Mapping[str, object]) -> None:
    """Refuse tensors that a module makes anew from others, which may be stale and are not what is trained."""
    for name, weight in weights.items():
        if weight is not None and not isinstance(weight, nn.Parameter):
            raise UsageError(
                f"{name!r} of '{argument}' is computed from other weights (weight_norm, parametrize, prune). "
                "Make it plain first: torch.nn.utils.parametrize.remove_parametrizations, .remove_weight_norm or "
                ".prune.remove."
            )


def _kind(module: nn.Module) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def _advice(module: nn.Module) -> str:
    for one_step, ours in ONE_STEP.items():
        if isinstance(module, one_step):
            return (
                f"Make it a layer that shares its weights: rote.cells.Recurrent([rote.cells.{ours}("
                "cell.input_size, cell.hidden_size, weights=dict(cell.named_parameters()))])."
            )
    return OWN_CELL


def _cell(module: nn.RNN | nn.LSTM | nn.GRU, layer: int, direction: int) -> Cell:
    suffix = f"_l{layer}{'_reverse' if direction else ''}"
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights = {name: getattr(module, name + suffix, None) for name in names}
    refuse_computed("recurrent", {name + suffix: weight for name, weight in weights.items()})
    biases: Biases = "two" if module.bias else "none"
    sizes = (int(getattr(module, "weight_ih" + suffix).shape[1]), module.hidden_size)
    if isinstance(module, nn.LSTM):
        return LSTMCell(*sizes, biases=biases, weights=weights)
    if isinstance(module, nn.GRU):
        return GRUCell(*sizes, biases=biases, weights=weights)
    return ElmanCell(*sizes, biases=biases, weights=weights, nonlinearity=module.nonlinearity)
