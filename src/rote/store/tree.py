"""A tree of tensors and plain values as two files: ``<path>.safetensors`` and ``<path>.json``.

The tensors are written first and the JSON, which holds their sha256, last: the pair exists once its JSON does.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.errors import DamagedFileError, StoreError
from rote.store.files import digest, read_document, reading, remedy, write_atomically, write_document

if TYPE_CHECKING:
    from torch import Tensor


def save_tree(path: Path, kind: str, version: int, tree: Any, **facts: Any) -> None:
    """``facts``: plain values that can be read without the tensors (``tree_facts``)."""
    import safetensors.torch

    tensors: dict[str, Tensor] = {}
    plain = _take_tensors(tree, "", tensors)
    data = safetensors.torch.save({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})
    checksum = digest(data)
    if not _holds(path, kind, version, checksum):
        # Two files cannot be replaced at once: rather none for a moment than a pair that does not match.
        _with_suffix(path, "json").unlink(missing_ok=True)
    write_atomically(_with_suffix(path, "safetensors"), data)
    write_document(_with_suffix(path, "json"), kind, version, {"facts": facts, "sha256": checksum, "tree": plain})


def load_tree(path: Path, kind: str, version: int) -> Any:
    """The tree that was saved, its tensors on the CPU."""
    import safetensors.torch

    body = read_document(_with_suffix(path, "json"), kind, version)
    tensors = _with_suffix(path, "safetensors")
    with reading(tensors):
        data = tensors.read_bytes()
    if digest(data) != body["sha256"]:
        raise DamagedFileError(f"{tensors} was altered or truncated: its checksum does not match. {remedy(tensors)}")
    return _put_tensors(body["tree"], safetensors.torch.load(data))


def load_plain(path: Path, kind: str, version: int) -> Any:
    """The tree with None for each tensor: reads the JSON alone, and imports no torch."""
    return _put_tensors(read_document(_with_suffix(path, "json"), kind, version)["tree"], defaultdict(lambda: None))


def tree_facts(path: Path, kind: str, version: int) -> dict[str, Any]:
    facts: dict[str, Any] = read_document(_with_suffix(path, "json"), kind, version)["facts"]
    return facts


def _holds(path: Path, kind: str, version: int, checksum: str) -> bool:
    """Whether the pair at ``path`` already has these tensors."""
    try:
        return bool(read_document(_with_suffix(path, "json"), kind, version)["sha256"] == checksum)
    except StoreError:
        return False


def _with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")


def _take_tensors(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """``value`` as JSON in which each tensor is replaced by its name; the tensors are collected under those names."""
    import torch

    if isinstance(value, torch.Tensor):
        # A copy for each: safetensors refuses tensors that share memory (tied weights).
        while name in tensors:  # {"a": {"b": ...}, "a/b": ...}
            name += "'"
        tensors[name] = value.detach().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        for key in value:
            if not all(isinstance(part, str | int) for part in (key if isinstance(key, tuple) else (key,))):
                raise TypeError(f"A key must be a text, a whole number or a tuple of these. Got {key!r}.")
        pairs = [
            [key, _take_tensors(item, f"{name}/{key}" if name else str(key), tensors)] for key, item in value.items()
        ]
        return {"dict": pairs}  # as pairs, because the keys of optimizer states are numbers
    if isinstance(value, list | tuple):
        items = [_take_tensors(item, f"{name}/{index}", tensors) for index, item in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    json.dumps(value, allow_nan=False)  # anything else must be plain: fail here, not when the run is taken up again
    return {"value": value}


def _put_tensors(tree: dict[str, Any], tensors: Mapping[str, Tensor | None]) -> Any:
    match tree:
        case {"tensor": name}:
            return tensors[name]
        case {"dict": pairs}:
            return {tuple(key) if isinstance(key, list) else key: _put_tensors(item, tensors) for key, item in pairs}
        case {"list": items}:
            return [_put_tensors(item, tensors) for item in items]
        case {"tuple": items}:
            return tuple(_put_tensors(item, tensors) for item in items)
    return tree["value"]
