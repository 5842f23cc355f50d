"""Opened models by key: those that come with the package, those in the store, and those that a user brings.

The list is made from descriptions alone; weights are read at first use and kept, the latest few of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rote.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from rote.models import SequenceModel
    from rote.store import Store

Unit = Literal["character", "word"]
KEPT = 24  # models in memory


@dataclass(frozen=True)
class Listing:
    """What can be said about a model without reading its weights."""

    key: str
    title: str
    kind: str  # "autocomplete": characters in, the word that is being typed out; "sequence": the next of its symbols
    cell: str
    unit: Unit  # what one step reads
    vocabulary_size: int  # outputs
    group: str  # where it comes from: "bundled", "store", "yours"
    checkpoints: tuple[int, ...] = ()  # steps of training at which it can be opened; empty: only as it is
    about: str = ""

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Opened:
    """A model with its weights, and how text goes into it."""

    listing: Listing
    model: SequenceModel
    inputs: tuple[str, ...]  # name of each symbol that it reads
    outputs: tuple[str, ...]  # name of each output
    _numbers: dict[str, int] = field(default_factory=dict, repr=False)

    def symbols(self, text: str) -> list[str]:
        """The text, cut into what each step shows."""
        if self.listing.kind == "autocomplete":
            return list(self.model.shown(text))  # type: ignore[operator]
        return list(text) if self.listing.unit == "character" else text.split()

    def tokens(self, text: str) -> Tensor:
        """[1, time]: what the model reads, one number for each of ``symbols``."""
        import torch

        if not text:
            raise UsageError("The text is empty. Type at least one character.")
        if self.listing.kind == "autocomplete":
            tokens: Tensor = self.model.encode(text)  # type: ignore[operator]
            return tokens
        known = self._numbers or {name: index for index, name in enumerate(self.inputs)}
        spare = next((known[name] for name in ("<unk>", "<unknown>") if name in known), None)
        found = [known.get(symbol, spare) for symbol in self.symbols(text)]
        if not found:
            raise UsageError("The text has no words. Type at least one.")
        if None in found:
            missing = self.symbols(text)[found.index(None)]
            raise UsageError(f"The {self.listing.unit} {missing!r} is not in the vocabulary of {self.listing.title}.")
        device = next(self.model.parameters()).device
        return torch.tensor([found], device=device)

    def targets(self, text: str) -> Tensor | None:
        """[1, time]: the output that is right at each step (the word being typed, the next symbol); None if unknown."""
        if self.listing.kind == "autocomplete":
            targets: Tensor = self.model.targets(text)  # type: ignore[operator]
            return targets
        return None


Loader = Callable[[int | None], Opened]


class Shelf:
    """``listing()`` is cheap; ``open(key)`` reads the model, once. Safe to use from several threads."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store
        self._own: dict[str, tuple[Listing, Loader]] = dict(bundled())
        self._kept: OrderedDict[tuple[str, int | None], Opened] = OrderedDict()
        self._lock = threading.Lock()

    def listing(self) -> list[Listing]:
        return [listing for listing, _ in self._own.values()]

    def add(self, listing: Listing, load: Loader) -> None:
        """Put a model on the shelf under its key."""
        self._own = {listing.key: (listing, load), **self._own}  # what a user brings comes first

    def open(self, key: str, checkpoint: int | None = None) -> Opened:
        found = self._own.get(key)
        if found is None:
            raise UnknownNameError("model", key, self._own)
        listing, load = found
        if checkpoint is not None and checkpoint not in listing.checkpoints:
            known = ", ".join(map(str, listing.checkpoints)) or "none"
            raise UsageError(f"The model {key!r} has no checkpoint of step {checkpoint}. It has: {known}.")
        with self._lock:
            if (key, checkpoint) not in self._kept:
                self._kept[key, checkpoint] = load(checkpoint)
            self._kept.move_to_end((key, checkpoint))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[key, checkpoint]


def bundled() -> list[tuple[str, tuple[Listing, Loader]]]:
    """The autocomplete models that come with the package."""
    titles = {"gru": "GRU", "lstm": "LSTM", "nested_lstm": "Nested LSTM"}
    found = []
    for name, title in titles.items():
        listing = _autocomplete_listing(name, title, "bundled", name)
        found.append((name, (listing, _autocomplete_loader(listing, name))))
    return found


def _autocomplete_listing(key: str, title: str, group: str, path: str) -> Listing:
    from rote.models.saved_autocomplete import describe_autocomplete

    config, vocabulary = describe_autocomplete(path)
    about = f"{config.layers} layer{'s' * (config.layers > 1)} of {config.units} units"
    return Listing(key, title, "autocomplete", config.cell, "character", len(vocabulary), group, about=about)


def _autocomplete_loader(listing: Listing, path: str) -> Loader:
    def load(checkpoint: int | None) -> Opened:
        from rote.models import load_autocomplete
        from rote.tasks.alphabet import CHARACTERS

        model = load_autocomplete(path)
        return Opened(listing, model, CHARACTERS, model.vocabulary)

    return load


def user_model(
    model: SequenceModel, inputs: Sequence[str], outputs: Sequence[str], key: str, title: str, unit: Unit
) -> tuple[Listing, Loader]:
    listing = Listing(key, title, "sequence", type(model.recurrent.cell(0)).__name__, unit, len(outputs), "yours")
    opened = Opened(listing, model, tuple(inputs), tuple(outputs), {name: i for i, name in enumerate(inputs)})
    return listing, lambda checkpoint: opened
