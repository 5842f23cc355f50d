"""Autocomplete models as files, and the small trained ones that come with the package (``data/autocomplete``).

They were made by ``python -m rote.studies.memorization.starter``; each file holds the record of its run. Their text was
text8, from Wikipedia (CC BY-SA, see text8.LICENSE there). Weights are stored in 16 bits and used in 32.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.config import from_plain, to_plain
from rote.errors import DamagedFileError, UnknownNameError, UsageError
from rote.models.settings import AutocompleteConfig
from rote.store import load_tree, save_tree
from rote.store.tree import load_plain, tree_facts

if TYPE_CHECKING:
    import torch

    from rote.models.autocomplete import AutocompleteModel

KIND, VERSION = "rote autocomplete model", 1
FOLDER = Path(__file__).parents[1] / "data" / "autocomplete"
BUNDLED = ("gru", "lstm", "nested_lstm")
_ENDINGS = (".json", ".safetensors")


def save_autocomplete(
    path: Path | str, model: AutocompleteModel, dtype: torch.dtype, *, facts: Mapping[str, Any] | None = None
) -> None:
    """Write ``<path>.safetensors`` and ``<path>.json``; ``facts``: how it was made, plain values.

    A path that is spelled like a bundled model ("gru") is loaded again as "./gru".
    """
    tree = {
        "config": to_plain(model.config),
        "vocabulary": " ".join(model.vocabulary),
        "weights": {name: weight.to(dtype) for name, weight in model.state_dict().items()},
    }
    save_tree(_without_ending(Path(path)), KIND, VERSION, tree, **(facts or {}))


def load_autocomplete(name: Path | str = "gru") -> AutocompleteModel:
    """The trained model of this name that comes with the package ("gru", "lstm", "nested_lstm"), or the one that
    ``save_autocomplete`` wrote to this path. In evaluation mode, weights in float32.

    A file of the working folder never takes the place of a bundled model: "gru" is always the latter, "./gru",
    "gru.json" and Path("gru") are files.

    >>> import rote
    >>> model = rote.load_autocomplete("gru")
    >>> rote.suggest(model, "the united sta", target="states").rank
    1
    """
    from rote.models.autocomplete import AutocompleteModel
    from rote.models.fitting import fitted

    path = _path(name)
    tree = load_tree(path, KIND, VERSION)
    config, vocabulary = _described(path, tree)
    needed = (config.matrices * config.units**2, len(vocabulary) * config.units)
    return fitted(lambda: AutocompleteModel(config, vocabulary), tree.get("weights"), path, *needed).eval()


def autocomplete_record(name: Path | str = "gru") -> dict[str, Any]:
    """How a stored model was made: text, settings, seed, versions, time, and what it reached on the test text."""
    return tree_facts(_path(name), KIND, VERSION)


def describe_autocomplete(name: Path | str = "gru") -> tuple[AutocompleteConfig, tuple[str, ...]]:
    """Settings and vocabulary of a stored model, without its weights and without torch."""
    path = _path(name)
    return _described(path, load_plain(path, KIND, VERSION))


def _described(path: Path, tree: Any) -> tuple[AutocompleteConfig, tuple[str, ...]]:
    match tree:
        case {"config": dict(plain), "vocabulary": str(words)}:
            try:
                return from_plain(AutocompleteConfig(), plain), tuple(words.split(" "))
            except UsageError as error:
                raise DamagedFileError(f"{path}.json has settings of which no model can be made: {error}") from None
    raise DamagedFileError(f"{path}.json does not describe an autocomplete model: settings and vocabulary are missing.")


def saved_path(name: Path | str) -> Path | None:
    """The path of a saved model, without its ending; None for the name of a model that comes with the package."""
    return None if isinstance(name, str) and name in BUNDLED else _without_ending(Path(name))


def _without_ending(path: Path) -> Path:
    return path.with_suffix("") if path.suffix in _ENDINGS else path


def _path(name: Path | str) -> Path:
    path = saved_path(name)
    if path is None:
        return FOLDER / name
    if path.name and path.with_name(f"{path.name}.json").exists():
        return path
    if Path(name).is_dir():
        raise UsageError(f"There is no model in {str(name)!r}: config.json, of save_pretrained(), is missing.")
    if isinstance(name, str) and name == path.name:  # as a bundled model is named
        raise UnknownNameError("autocomplete model", name, BUNDLED, f", and there is no file {name}.json")
    hint = f" The model that comes with the package is {path.name!r}, without a path." if path.name in BUNDLED else ""
    raise UsageError(f"There is no saved autocomplete model at {str(name)!r}: {path}.json is missing.{hint}")
