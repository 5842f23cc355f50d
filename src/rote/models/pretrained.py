"""A Hugging Face model from a local folder, adapted, with the names of its tokens; no network, no code of others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.errors import UsageError
from rote.models.subwords import Subwords, subwords_of

if TYPE_CHECKING:
    from rote.models.traced.build import TracedModel
    from rote.models.traced.own_forward import OwnForward

INSTALL = "pip install 'rote[hub]'"


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
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, use_safetensors=True, dtype=torch.float32, **here
        )
    except (OSError, ValueError, KeyError) as error:
        said = str(error).splitlines()
        raise UsageError(f"The model in {str(folder)!r} cannot be opened: {said[0] if said else error!r}") from error
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
    if not list(folder.glob("*.safetensors")):
        raise UsageError(
            f"There are no weights as safetensors in {str(folder)!r}; other files are not read, since reading them may "
            "run code. Save it again: model.save_pretrained(folder)."
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
