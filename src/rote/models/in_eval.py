"""A user's module as it computes in eval mode, without a change to it."""

from __future__ import annotations

from typing import TypeVar, cast

import torch
from torch import Tensor, nn

from rote.cells.adapt import unwrapped

Module = TypeVar("Module", bound=nn.Module)


def in_eval(module: Module, twins: dict[int, nn.Module] | None = None) -> Module:
    """A twin with the same weight tensors, in eval mode. What it sets on itself when it is called, in attributes or in
    buffers, stays with the twin; the module is not touched, so that several threads may do this at once.

    ``twins`` collects the twin of each part by the part's id."""
    return _twin(module, {} if twins is None else twins)


def _twin(module: Module, known: dict[int, nn.Module]) -> Module:
    if isinstance(module, torch.jit.ScriptModule):  # nothing of it lies in Python
        return module
    if id(module) not in known:
        made = known[id(module)] = object.__new__(module.__class__)
        # Straight into the dictionary: setting an attribute of a module registers it.
        of = made.__dict__
        of.update(vars(module), training=False)
        of.pop("_compiled_call_impl", None)  # of module.compile(): bound to the module itself
        only_reads = getattr(module, "only_reads", False)
        of["_buffers"] = {name: v if only_reads else _copied(v) for name, v in module._buffers.items()}
        of["_parameters"] = dict(module._parameters)
        if getattr(module, "max_norm", None) is not None:  # an embedding that changes its weights when they are read
            of["_parameters"] = {name: _copied(value) for name, value in module._parameters.items()}
        of["_modules"] = {
            name: None if part is None else _twin(_bare(part), known) for name, part in module._modules.items()
        }
    return cast(Module, known[id(module)])


def _bare(part: nn.Module) -> nn.Module:
    bare: nn.Module = part if isinstance(part, torch.jit.ScriptModule) else unwrapped(part)
    return bare


def _copied(value: Tensor | None) -> Tensor | None:
    return None if value is None else value.clone()
