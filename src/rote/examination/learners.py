"""What is examined: a registered cell or architecture by its name, or a function of the user's that makes a module.

A learner is ``make(vocabulary_size)``, which gives a module from tokens [batch, time] to logits [batch, time, symbol],
or an object that is no network and is fitted (``rote.examination.fitted``); other modules: ``rote.examination.forms``.
Cells become language models of about ``PARAMETERS`` weights: recurrent ones as a single layer, those whose step is
linear in the state as two blocks with norms and feed-forward layers between, without which they could not compute.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rote.cells.cell import cells
from rote.errors import UnknownNameError, UsageError
from rote.models.architecture import architectures
from rote.registry import Registry
from rote.sources import ALIAS, MAIN

if TYPE_CHECKING:
    from torch import nn

    from rote.cells import Cell
    from rote.examination.fitted import Fitted

Make = Callable[..., "nn.Module | Fitted"]  # of one size, or for an encoder and a decoder of two
PARAMETERS = 35_000  # of a cell's language model, with the vocabulary of SYMBOLS
SYMBOLS = 25
EMBEDDING = 48
BLOCKS, WIDTH = 2, 48  # of cells that are linear in their state
WIDEST = 1024

# Entries are users' own, under the name by which they were given: my_model:make.
learners: Registry[Make] = Registry("learner", "rote.examination.learners", "learners")


def known_learners() -> list[str]:
    """The names that ``rote examine`` takes."""
    ready = [name for name, kind in architectures.items() if kind.reads == "tokens" and name in READY]
    return [*cells, *ready, *FITTED]


FITTED = ("ngram", "rote")  # that are no networks: rote.examination.fitted
READY = ("transformer",)  # architectures that give the next symbol at every step, at their default size


def learner(name: str) -> Make:
    """The function behind a name: a cell, an architecture, or ``module:function``."""
    if name in learners:
        return learners[name]
    if name in cells:
        return _cell_model(name)
    if name in READY:
        return _architecture(name)
    if name in FITTED:
        return _fitted(name)
    if ":" in name:
        return _function(name)
    raise UnknownNameError("learner", name, known_learners())


def from_file(named: str) -> str:
    """The name under which ``my_model.py:make`` or ``package.module:make`` is known from here on, also to workers."""
    from rote.plugins import load

    place, _, function = named.rpartition(":")
    if not place or not function.isidentifier():
        raise UsageError(f"{named!r} must name a file or module and a function: my_model.py:make. Got {function!r}.")
    try:
        (module,) = load([place])
    except UsageError as error:
        raise UsageError(
            str(error).replace("'--import", f"'{named}").replace(f"'{named} {place}'", f"{named!r}")
        ) from None
    name = f"{module}:{function}"
    enter(name)
    return name


def enter(name: str, make: Make | None = None) -> None:
    """Enter a user's own function, so that what it rests on is part of the identity of its trainings."""
    if name not in learners:
        learners.register(name)(make or _function(name))


def _function(name: str) -> Make:
    module, _, function = name.partition(":")
    here = ALIAS if module == MAIN and ALIAS in sys.modules else module  # in a worker a script has another name
    found = sys.modules.get(here) or importlib.import_module(here)
    make = getattr(found, function, None)
    if not callable(make):
        known = [one for one, value in vars(found).items() if callable(value) and not one.startswith("_")]
        raise UsageError(f"{module} has no function {function!r}. It has: {', '.join(known) or 'none'}.")
    made: Make = make
    return made


def _fitted(name: str) -> Make:
    def make(vocabulary_size: int) -> Fitted:
        from rote.examination.fitted import NGram, RoteLearner

        return RoteLearner(vocabulary_size) if name == "rote" else NGram(vocabulary_size)

    return make


def _architecture(name: str) -> Make:
    def make(vocabulary_size: int) -> nn.Module:
        import torch

        seed = int(torch.randint(2**31, ()))  # of torch's own numbers, as for every learner
        return architectures[name]().build(vocabulary_size, seed=seed)

    return make


def _cell_model(name: str) -> Make:
    def make(vocabulary_size: int) -> nn.Module:
        return (_single if cells[name].recurrent_matrix else _blocks)(name, vocabulary_size)

    return make


def _single(name: str, symbols: int) -> nn.Module:
    """Embedding, one layer, readout; as many units as keep it within ``PARAMETERS``."""
    from torch import nn

    from rote.cells import Recurrent
    from rote.models import SequenceModel

    kind, units = cells[name], 8
    while units < WIDEST and _size(kind(EMBEDDING, units + 8)) + SYMBOLS * (EMBEDDING + units + 9) <= PARAMETERS:
        units += 8
    recurrent = Recurrent(name, EMBEDDING, units)
    return SequenceModel(recurrent, nn.Embedding(symbols, EMBEDDING), nn.Linear(recurrent.output_size, symbols))


def _size(cell: Cell) -> int:
    return sum(weight.numel() for weight in cell.parameters())


def _blocks(name: str, symbols: int) -> nn.Module:
    from rote.examination.blocks import BlockModel

    return BlockModel(name, symbols, WIDTH, BLOCKS)


def names_of(text: Sequence[str] | str) -> list[str]:
    """Several learners, separated by commas or given one by one."""
    parts = text.split(",") if isinstance(text, str) else text
    return [part.strip() for part in parts if part.strip()]
