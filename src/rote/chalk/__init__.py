"""Chalk: a teaching autograd engine on NumPy alone, to be read in one sitting (source 004).

    from rote.chalk import Tensor, ops

    x = Tensor(3.0)
    (x * x + 2 * x).backward()
    x.grad                                # 8.0

Start with tensor.py (what a graph is), then ops.py, nn.py, optim.py. Code written for the lecture's engine runs on it
after ``rote.chalk.install_as("edugrad")``.
"""

import sys

from rote.chalk import check, data, fused, graph, nn, ops, optim, stepping, tensor, through_time
from rote.chalk.check import gradcheck
from rote.chalk.graph import to_dot, to_svg
from rote.chalk.stepping import show
from rote.chalk.tensor import Operation, Tensor, no_grad, tensor_op
from rote.chalk.through_time import bptt_terms

__all__ = [
    "Operation",
    "Tensor",
    "bptt_terms",
    "gradcheck",
    "install_as",
    "no_grad",
    "show",
    "tensor_op",
    "to_dot",
    "to_svg",
]
_MODULES = (check, data, fused, graph, nn, ops, optim, stepping, tensor, through_time)


def install_as(name: str) -> None:
    """Let ``import name``, ``from name.ops import ...`` and so on give this engine, in this process."""
    if not name.isidentifier():
        raise ValueError(f"install_as takes the name of a module, such as 'edugrad'. Got {name!r}.")
    this = sys.modules[__name__]
    if sys.modules.get(name, this) is not this:
        raise RuntimeError(f"{name!r} is already imported: call install_as({name!r}) before importing it.")
    sys.modules[name] = this
    for module in _MODULES:
        sys.modules[f"{name}.{module.__name__.rpartition('.')[2]}"] = module
