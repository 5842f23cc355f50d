"""A user's nn.RNN, nn.LSTM or nn.GRU seen as cells: the same weight tensors, nothing on the module is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
WRAPPING = ("torch", "lightning", "lightning_fabric", "pytorch_lightning", "accelerate", "deepspeed")  # packages
WRAPPED = ("_orig_mod", "_forward_module", "module", "_original_module")  # where their wrappers keep what they wrap
ONE_STEP = {nn.RNNCell: "ElmanCell", nn.LSTMCell: "LSTMCell", nn.GRUCell: "GRUCell"}


def as_recurrent(module: nn.Module | None) -> Recurrent:
    """``module`` as a stack of cells that share its weights; a ``Recurrent`` is returned as it is."""
    module = unwrapped(module)
    if isinstance(module, Recurrent):
        return module
    if not isinstance(module, nn.RNN | nn.LSTM | nn.GRU):
        raise UsageError(
            f"'recurrent' must be an nn.RNN, nn.LSTM or nn.GRU, or a rote Recurrent. Got {_kind(module)}. "
            + _advice(module)
        )
    torch_class = next(known for known in (nn.RNN, nn.LSTM, nn.GRU) if isinstance(module, known))
    refuse_own_forward("recurrent", module, torch_class, OWN_CELL)
    directions = 2 if module.bidirectional else 1
    made = [_cell(module, layer, direction) for layer in range(module.num_layers) for direction in range(directions)]
    adapted = Recurrent(made, bidirectional=module.bidirectional, dropout=float(module.dropout))
    return adapted.train(module.training)


def unwrapped(module: Any) -> Any:
    """What torch.compile, DataParallel, DistributedDataParallel or the wrappers of Lightning and Accelerate wrap, which
    compute the same. A wrapper of the user's own may compute something else: it stays as it is."""
    while isinstance(module, nn.Module):
        author = getattr(type(module).forward, "__module__", "").split(".")[0]
        parts = dict(module.named_children())
        if author not in WRAPPING or not parts or not set(parts) <= set(WRAPPED):
            break
        module = next(parts[name] for name in WRAPPED if name in parts)
    return module


def computes_as(module: nn.Module, torch_class: type[nn.Module]) -> bool:
    """Whether it has the class's own forward, neither overridden nor replaced on the module itself."""
    return type(module).forward is torch_class.forward and "forward" not in vars(module)


def refuse_own_forward(argument: str, module: nn.Module, torch_class: type[nn.Module], remedy: str) -> None:
    if not computes_as(module, torch_class):
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


def _kind(module: object) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def _advice(module: object) -> str:
    for one_step, ours in ONE_STEP.items():
        if isinstance(module, one_step):
            return (
                f"Make it a layer that shares its weights: rote.cells.Recurrent([rote.cells.{ours}("
                "cell.input_size, cell.hidden_size, weights=dict(cell.named_parameters()))])."
            )
    return OWN_CELL


def _cell(module: nn.RNN | nn.LSTM | nn.GRU, layer: int, direction: int) -> Cell:
    suffix = f"_l{layer}{'_reverse' if direction else ''}"
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
    weights = {name: getattr(module, name + suffix, None) for name in names}
    refuse_computed("recurrent", {name + suffix: weight for name, weight in weights.items()})
    biases: Biases = "two" if module.bias else "none"
    sizes = (int(getattr(module, "weight_ih" + suffix).shape[1]), module.hidden_size)
    if isinstance(module, nn.LSTM):
        return LSTMCell(*sizes, biases=biases, weights=weights, proj_size=module.proj_size)
    if isinstance(module, nn.GRU):
        return GRUCell(*sizes, biases=biases, weights=weights)
    return ElmanCell(*sizes, biases=biases, weights=weights, nonlinearity=module.nonlinearity)
