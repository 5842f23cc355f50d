"""Opened models by key: those that come with the package, those in the store, and those that a user brings.

The list is made from descriptions alone; weights are read at first use and kept, the latest few of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rote.errors import UnknownNameError, UsageError, did_you_mean
from rote.models.subwords import Subwords

if TYPE_CHECKING:
    from rote.models import AutocompleteConfig, SequenceModel
    from rote.store import Store

Unit = Literal["character", "word"]
KEPT = 24  # models in memory
TITLES = {"gru": "GRU", "lstm": "LSTM", "nested_lstm": "Nested LSTM", "elman": "Elman network"}


@dataclass(frozen=True)
class Listing:
    """What can be said about a model without reading its weights."""

    key: str
    title: str
    kind: str  # "autocomplete": characters in, the word that is being typed out; "sequence": any other
    cell: str
    unit: Unit  # what one step reads
    vocabulary_size: int | None  # outputs; None: known when it is opened
    group: str  # where it comes from: "bundled", "store", "yours"
    checkpoints: tuple[int, ...] = ()  # steps of training at which it can be opened; empty: only as it is
    about: str = ""
    setting: str = ""  # what tells it from others of its run, beside the seed
    trained: dict[str, Any] | None = None  # how large, how long and with which settings, where a record says so

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Opened:
    """A model with its weights, and the names of what it reads and says."""

    listing: Listing
    model: SequenceModel
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    example: str = ""  # a text of the kind that it was trained on, where one is known


Loader = Callable[[int | None], Opened]  # at the step of a checkpoint, or as it is
Entries = dict[str, tuple[Listing, Loader]]


class Catalog:
    """``listing()`` is cheap; ``open(key)`` reads the model, once. Safe to use from several threads."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store
        self._bundled, self._brought = bundled(), dict[str, tuple[Listing, Loader]]()
        self._kept: OrderedDict[tuple[str, int | None], Opened] = OrderedDict()
        self._lock = threading.Lock()

    def listing(self) -> list[Listing]:
        """What a user brought comes first, what is in the store last."""
        return [listing for listing, _ in self._entries().values()]

    def find(self, key: str) -> Listing:
        """What can be said about one model, also about one of the store that is not listed."""
        return self._entry(key)[0]

    def open(self, key: str, checkpoint: int | None = None) -> Opened:
        listing, load = self._entry(key)
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

    def add_file(self, path: Path | str) -> str:
        """An autocomplete model that was saved as two files; the path with or without its ending. Returns its key.
        Bundled ones are in the catalog already."""
        from rote.models.saved_autocomplete import saved_path

        saved = saved_path(path)
        if saved is None:
            return str(path)
        key = self._free(saved.name)
        listing = _autocomplete_listing(key, key, "yours", path)
        return self.add(listing, _autocomplete_loader(listing, path))

    def add_pretrained(self, folder: Path | str) -> str:
        """A Hugging Face model in a local folder, with its tokenizer. Returns its key."""
        from rote.models.pretrained import load_pretrained
        from rote.models.sequence import SequenceModel

        found = load_pretrained(folder)
        if found.vocabulary is None:
            raise UsageError(f"There is no tokenizer in {str(folder)!r}: tokenizer.save_pretrained(folder) writes one.")
        if not isinstance(found.model, SequenceModel):
            raise UsageError(
                f"The explorer needs a model that can be taken apart; this was not, because of {found.model.reason}. "
                f'What it rests on: rote connectivity --model {folder} "TEXT"'
            )
        return self.add_model(found.model, found.vocabulary, None, Path(folder).resolve().name)

    def add_model(
        self, model: SequenceModel, vocabulary: Sequence[str] | None, outputs: Sequence[str] | None, title: str
    ) -> str:
        """A model in memory, with the names of what it reads and says. Returns its key."""
        from rote.models import AutocompleteModel
        from rote.tasks.alphabet import CHARACTERS

        if isinstance(model, AutocompleteModel):
            vocabulary, outputs = CHARACTERS, model.vocabulary
        read, said = names_of(model, vocabulary, outputs)
        plain = [name for name in read if not (name.startswith("<") and name.endswith(">"))]
        unit: Unit = "character" if all(len(name) == 1 for name in plain) else "word"
        return self.add(*user_model(model, read, said, self._free("yours"), title, unit))

    def add(self, listing: Listing, load: Loader) -> str:
        """Enter a model under its key."""
        self._brought[listing.key] = (listing, load)
        return listing.key

    def _entry(self, key: str) -> tuple[Listing, Loader]:
        from rote.explorer import trained_networks

        here = {**self._brought, **self._bundled}
        found = here if key in here or self.store is None else trained_networks.entry(self.store, key)
        if key not in found:
            known = self._entries()  # many in a large store: they are named only where one is near
            raise UnknownNameError(
                "model", key, known if did_you_mean(key, known) else here, " in the catalog and in the store"
            )
        return found[key]

    def _entries(self) -> Entries:
        from rote.explorer import trained_networks

        found = {} if self.store is None else trained_networks.entries(self.store)
        return {**self._brought, **self._bundled, **found}

    def _free(self, key: str) -> str:
        """The key, numbered where it is taken."""
        taken = {*self._brought, *self._bundled}
        return next(name for name in (key, *(f"{key}-{number}" for number in range(2, 10_000))) if name not in taken)


def bundled() -> Entries:
    """The autocomplete models that come with the package."""
    from rote.models.saved_autocomplete import BUNDLED

    listings = [_autocomplete_listing(name, cell_title(name), "bundled", name) for name in BUNDLED]
    return {listing.key: (listing, _autocomplete_loader(listing, listing.key)) for listing in listings}


def cell_title(cell: str) -> str:
    return TITLES.get(cell, cell)


def user_model(
    model: SequenceModel, inputs: Sequence[str], outputs: Sequence[str], key: str, title: str, unit: Unit
) -> tuple[Listing, Loader]:
    """A model in memory as an entry of a catalog."""
    from rote.models import AutocompleteModel

    kind = "autocomplete" if isinstance(model, AutocompleteModel) else "sequence"
    cell = type(model.recurrent.cell(0)).__name__.removesuffix("Cell").lower()
    listing = Listing(key, title, kind, cell, unit, len(outputs), "yours")
    opened = Opened(listing, model, inputs if isinstance(inputs, Subwords) else tuple(inputs), tuple(outputs))
    return listing, lambda checkpoint: opened


def names_of(
    model: SequenceModel, vocabulary: Sequence[str] | None, outputs: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the symbols that a model reads and says, checked against its sizes."""
    if model.embedding is None or model.readout is None:
        raise UsageError("The explorer needs a model with an embedding and a readout: rote.adapt(recurrent=..., ...).")
    if isinstance(vocabulary, Subwords):
        vocabulary = vocabulary.sized(model.embedding.num_embeddings)
    if vocabulary is None:
        raise UsageError("'vocabulary' is needed: the names of the symbols that the model reads, in their order.")
    wanted, said = model.embedding.num_embeddings, model.output_size
    if len(vocabulary) != wanted:
        raise UsageError(f"'vocabulary' must name the {wanted} symbols of the embedding. Got {len(vocabulary)}.")
    if outputs is None and said != wanted:
        raise UsageError(f"'outputs' must name the {said} outputs of the readout, which are not the {wanted} inputs.")
    if outputs is not None and len(outputs) != said:
        raise UsageError(f"'outputs' must name the {said} outputs of the readout. Got {len(outputs)}.")
    read = vocabulary if isinstance(vocabulary, Subwords) else tuple(map(str, vocabulary))
    return read, read if outputs is None else tuple(map(str, outputs))


def _autocomplete_listing(key: str, title: str, group: str, path: Path | str) -> Listing:
    from rote.models.saved_autocomplete import describe_autocomplete

    config, vocabulary = describe_autocomplete(path)
    about, trained = f"{config.layers} layer{'s' * (config.layers > 1)} of {config.units} units", _trained(config, path)
    if trained is not None:
        about += (
            " · {recurrent:,} recurrent of {parameters:,} parameters · {steps:,} steps of {batch} texts · "
            "test loss {loss:.2f} nats".format(**trained["settings"] | trained)
        )
    return Listing(
        key, title, "autocomplete", config.cell, "character", len(vocabulary), group, about=about, trained=trained
    )


def _trained(config: AutocompleteConfig, path: Path | str) -> dict[str, Any] | None:
    """What the stored record of a training says: parameters, settings, and the loss on the test text."""
    from rote.models.saved_autocomplete import autocomplete_record

    match autocomplete_record(path):
        case {
            "request": {
                "config": {
                    "task": {"words": int(words)} as task,
                    "training": {"steps": int(), "batch": int()} as training,
                    "softmax": dict(softmax),
                }
            },
            "test": {"cross_entropy": float(loss)},
        }:
            size, settings = config.parameters(words), task | training | softmax
            settings.pop("record_every", None)
            return {
                "recurrent": size["recurrent"], "parameters": sum(size.values()), "loss": loss, "settings": settings,
            }  # fmt: skip
    return None


def _autocomplete_loader(listing: Listing, path: Path | str) -> Loader:
    def load(checkpoint: int | None) -> Opened:
        from rote.models import load_autocomplete
        from rote.tasks.alphabet import CHARACTERS

        model = load_autocomplete(path)
        return Opened(listing, model, CHARACTERS, model.vocabulary)

    return load
