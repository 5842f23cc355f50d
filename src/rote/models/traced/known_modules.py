"""Modules that are not looked into, because their cells are known: Rote's own layers, and those of other packages.

A package's module is entered by its full name, in a file of ``rote.models.hub``, so that the package need not be
imported. A reader gives the module's cells, or None where the module has an option that they do not have. It is given
the whole model too, for what stands elsewhere in it:

    @known("transformers.models.mamba.modeling_mamba.MambaMixer")
    def mamba(mixer, model): return [S6Cell(...)]
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import torch
from torch import nn

from rote.cells import Cell, Recurrent

Reader = Callable[[Any, nn.Module], Sequence[Cell] | None]
KNOWN: dict[str, Reader] = {}
TRAPS: dict[str, Callable[[Any], None]] = {}
PACKAGES = ("transformers",)


def known(*names: str) -> Callable[[Reader], Reader]:
    def enter(reader: Reader) -> Reader:
        KNOWN.update(dict.fromkeys(names, reader))
        return reader

    return enter


def trap(name: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """What must be refused before a module of this name is called at all."""

    def enter(check: Callable[[Any], None]) -> Callable[[Any], None]:
        TRAPS[name] = check
        return check

    return enter


def cells_in(module: nn.Module, model: nn.Module) -> Sequence[Cell] | None:
    """The cells of a module of ``model`` by layer and direction; None for one that is to be followed inside."""
    if isinstance(module, Recurrent):
        return module.all_cells()
    reader = KNOWN.get(_name(module))
    with torch.no_grad():  # pieces of weights are seen as they are
        return None if reader is None else reader(module, model)


def refuse_traps(model: nn.Module) -> None:
    for module in model.modules():
        check = TRAPS.get(_name(module))
        if check is not None:
            check(module)


def _name(module: nn.Module) -> str:
    kind = type(module)
    if kind.__module__.split(".")[0] in PACKAGES:
        _read_all()
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def _read_all() -> None:
    from rote.models import hub

    for found in pkgutil.iter_modules(hub.__path__):
        import_module(f"{hub.__name__}.{found.name}")
