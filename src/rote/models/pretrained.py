"""A Hugging Face model from a local folder, adapted, with the names of its tokens; no network, no code of others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from rote.errors import UsageError
from rote.models.subwords import Subwords, subwords_of

if TYPE_CHECKING:
    from rote.models.traced.build import TracedModel
    from rote.models.traced.own_forward import OwnForward

INSTALL = "pip install 'rote[hub]'"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


@dataclass(frozen=True)
class Pretrained:
    """A model with its vocabulary; None where the folder has no tokenizer."""

    model: TracedModel | OwnForward
    vocabulary: Subwords | None


def is_pretrained(folder: Path | str) -> bool:
    """Whether this is a folder as ``save_pretrained`` writes it."""
    return (Path(folder) / "config.json").is_file()


def load_pretrained(folder: Path | str) -> Pretrained:
    """The model and the tokenizer that ``save_pretrained`` wrote into a folder, the model in float32.

    Weights are read from safetensors only, and nothing of the folder is run.
    """
    folder = Path(folder)
    _check(folder)
    transformers = _transformers()
    import torch

    from rote.models.adapted import adapt

    here = {"local_files_only": True, "trust_remote_code": False}
    try:
        model, told = transformers.AutoModelForCausalLM.from_pretrained(
            folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **here
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        said = str(error).splitlines()
        raise UsageError(f"The model in {str(folder)!r} cannot be opened: {said[0] if said else error!r}") from error
    _refuse_drawn(folder, told)
    _refuse_other_task(folder, model)
    if getattr(model.config, "rescale_every", 0):
        model.config.rescale_every = 0  # its weights are as they were saved: see rote.models.hub.rwkv
    vocabulary = _vocabulary(transformers, folder, here)
    made = adapt(model.eval())
    rows = model.get_input_embeddings().weight.shape[0]
    return Pretrained(made, None if vocabulary is None else vocabulary.sized(rows))


def _check(folder: Path) -> None:
    if not is_pretrained(folder):
        raise UsageError(f"There is no model in {str(folder)!r}: save_pretrained() writes one, with config.json.")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"'config.json' in {str(folder)!r} cannot be read: {error}.") from None
    if "auto_map" in config:
        raise UsageError(f"The model in {str(folder)!r} needs code of its own (auto_map), which is not run.")
    if "quantization_config" in config:
        raise UsageError(f"The model in {str(folder)!r} is quantized. Save it without quantization.")
    if (folder / INDEX).is_file() and not (folder / WEIGHTS).is_file():
        _check_index(folder)
    elif not list(folder.glob("*.safetensors")):
        raise UsageError(
            f"There are no weights as safetensors in {str(folder)!r}; other files are not read, since reading them may "
            "run code. Save it again: model.save_pretrained(folder)."
        )


def _check_index(folder: Path) -> None:
    """Of weights in several files: all of them are there, and are safetensors."""
    try:
        files = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise UsageError(f"{INDEX!r} in {str(folder)!r} cannot be read: {error!r}.") from None
    for name in sorted(map(str, files)):
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise UsageError(
                f"{INDEX!r} in {str(folder)!r} names {name!r}, which is no safetensors file of the folder."
            )
        if not (folder / name).is_file():
            raise UsageError(
                f"The weights in {str(folder)!r} are in {len(files)} files, and {name!r} is missing: copy it too."
            )


def _refuse_drawn(folder: Path, told: dict[str, Any]) -> None:
    """Weights that the files do not have would have been drawn at random."""
    for kind, what in (("missing_keys", "is not in its files"), ("mismatched_keys", "has another shape in its files")):
        names = sorted(str(one[0] if isinstance(one, tuple) else one) for one in told.get(kind) or ())
        if names:
            more = f", and {len(names) - 1} more" if len(names) > 1 else ""
            raise UsageError(
                f"The model in {str(folder)!r} is not whole: {names[0]!r} {what}{more}. Save it again: "
                "model.save_pretrained(folder)."
            )


def _refuse_other_task(folder: Path, model: Any) -> None:
    """A classifier, or what fills gaps, would be opened as if it said the next token."""
    saved = [str(name) for name in model.config.architectures or ()]
    if saved and type(model).__name__ not in saved and any("For" in name for name in saved):
        raise UsageError(
            f"The model in {str(folder)!r} is a {saved[0]}, which does not say the next token. Open it yourself: "
            f"rote.adapt(transformers.{saved[0]}.from_pretrained(folder), example=tokens)."
        )


def _transformers() -> Any:
    try:
        transformers: Any = import_module("transformers")
    except ImportError:
        raise UsageError(f"Hugging Face's models need the package transformers: {INSTALL}") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def _vocabulary(transformers: Any, folder: Path, options: dict[str, Any]) -> Subwords | None:
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json")):
        return None
    try:
        return subwords_of(transformers.AutoTokenizer.from_pretrained(folder, **options))
    except (OSError, ValueError, KeyError) as error:
        said = str(error).splitlines()
        raise UsageError(
            f"The tokenizer in {str(folder)!r} cannot be opened: {said[0] if said else error!r}"
        ) from error
