"""Modules that are not looked into, because their cells are known: Rote's own layers, and those of other packages.

A package's module is entered by its full name, so that the package need not be imported:

    @known("transformers.models.mamba.modeling_mamba.MambaMixer")
    def mamba(mixer): return [S6Cell(...)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from rote.cells import Cell, Recurrent

Reader = Callable[[Any], Sequence[Cell]]
KNOWN: dict[str, Reader] = {}


def known(*names: str) -> Callable[[Reader], Reader]:
    def enter(reader: Reader) -> Reader:
        KNOWN.update(dict.fromkeys(names, reader))
        return reader

    return enter


def cells_in(module: nn.Module) -> Sequence[Cell] | None:
    """The cells of a module by layer and direction; None for one that is to be followed inside."""
    if isinstance(module, Recurrent):
        return module.all_cells()
    name = f"{type(module).__module__}.{type(module).__qualname__}"
    return KNOWN[name](module) if name in KNOWN else None
