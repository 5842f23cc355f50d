"""Autocomplete models as files, and the small trained ones that come with the package (``data/autocomplete``).

They were made by ``python -m rote.studies.memorization.starter``; each file holds the record of its run. Their text was
text8, from Wikipedia (CC BY-SA). Weights are stored in 16 bits and used in 32.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.config import from_plain, to_plain
from rote.errors import UnknownNameError
from rote.models.settings import AutocompleteConfig
from rote.store import load_tree, save_tree
from rote.store.tree import load_plain, tree_facts

if TYPE_CHECKING:
    import torch

    from rote.models.autocomplete import AutocompleteModel

KIND, VERSION = "rote autocomplete model", 1
FOLDER = Path(__file__).parents[1] / "data" / "autocomplete"


def save_autocomplete(path: Path | str, model: AutocompleteModel, dtype: torch.dtype, **facts: Any) -> None:
    """Write ``<path>.safetensors`` and ``<path>.json``; ``facts``: how it was made, plain values."""
    tree = {
        "config": to_plain(model.config),
        "vocabulary": " ".join(model.vocabulary),
        "weights": {name: weight.to(dtype) for name, weight in model.state_dict().items()},
    }
    save_tree(Path(path), KIND, VERSION, tree, **facts)


def load_autocomplete(name: Path | str = "gru") -> AutocompleteModel:
    """The trained model of this name that comes with the package ("gru", "lstm", "nested_lstm"), or the one that
    ``save_autocomplete`` wrote to this path. In evaluation mode, weights in float32.

    >>> import rote
    >>> model = rote.load_autocomplete("gru")
    >>> rote.suggest(model, "the united sta", target="states").rank
    1
    """
    from rote.models.autocomplete import AutocompleteModel

    tree = load_tree(_path(name), KIND, VERSION)
    config = from_plain(AutocompleteConfig(), tree["config"])
    model = AutocompleteModel(config, tree["vocabulary"].split(" "))
    model.load_state_dict({name: weight.float() for name, weight in tree["weights"].items()})
    return model.eval()


def autocomplete_record(name: Path | str = "gru") -> dict[str, Any]:
    """How a stored model was made: text, settings, seed, versions, time, and what it reached on the test text."""
    return tree_facts(_path(name), KIND, VERSION)


def describe_autocomplete(name: Path | str = "gru") -> tuple[AutocompleteConfig, tuple[str, ...]]:
    """Settings and vocabulary of a stored model, without its weights and without torch."""
    plain = load_plain(_path(name), KIND, VERSION)
    return from_plain(AutocompleteConfig(), plain["config"]), tuple(plain["vocabulary"].split(" "))


def _path(name: Path | str) -> Path:
    given = Path(name)
    if given.with_name(f"{given.name}.json").exists():
        return given
    known = sorted(path.stem for path in FOLDER.glob("*.json"))
    if str(name) not in known:
        raise UnknownNameError("autocomplete model", str(name), known)
    return FOLDER / given.name
