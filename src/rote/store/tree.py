"""A tree of tensors and plain values as two files: ``<path>.safetensors`` and ``<path>.json``.

The tensors are written first and the JSON, which holds their sha256, last: the pair exists once its JSON does.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.errors import DamagedFileError, StoreError
from rote.store.files import digest, encode_document, read_document, read_regular, remedy, write_atomically
from rote.store.typed import Digest, from_json

if TYPE_CHECKING:
    from torch import Tensor


def save_tree(path: Path, kind: str, version: int, tree: Any, **facts: Any) -> dict[str, str]:
    """Returns the checksums of both files. ``facts``: plain values that can be read without the tensors
    (``tree_facts``)."""
    files = encode_tree(path.name, kind, version, tree, **facts)
    checksums = {name: digest(data) for name, data in files.items()}
    if not _holds(path, kind, version, checksums[_with_suffix(path, "safetensors").name]):
        # Two files cannot be replaced at once: rather none for a moment than a pair that does not match.
        _with_suffix(path, "json").unlink(missing_ok=True)
    for name, data in files.items():
        write_atomically(path.with_name(name), data)
    return checksums


def encode_tree(name: str, kind: str, version: int, tree: Any, **facts: Any) -> dict[str, bytes]:
    """The contents of the two files by their names, in the order in which they are written."""
    import safetensors.torch

    tensors: dict[str, Tensor] = {}
    plain = _take_tensors(tree, "", tensors)
    data = safetensors.torch.save({key: tensor.cpu().contiguous() for key, tensor in tensors.items()})
    body = {"facts": facts, "sha256": digest(data), "tree": plain}
    return {f"{name}.safetensors": data, f"{name}.json": encode_document(kind, version, body)}


def load_tree(path: Path, kind: str, version: int) -> Any:
    """The tree that was saved, its tensors on the CPU."""
    import safetensors.torch

    body = _read(path, kind, version)
    file = _with_suffix(path, "safetensors")
    data = read_regular(file)
    if digest(data) != body.sha256:
        raise DamagedFileError(f"{file} was altered or truncated: its checksum does not match. {remedy(file)}")
    try:
        tensors = safetensors.torch.load(data)
    except Exception as error:  # whatever it makes of bytes that are no safetensors
        raise DamagedFileError(f"{file} holds no tensors that can be read ({error}). {remedy(file)}") from None
    return _with_tensors(path, body, tensors)


def load_plain(path: Path, kind: str, version: int) -> Any:
    """The tree with None for each tensor: reads the JSON alone, and imports no torch."""
    return _with_tensors(path, _read(path, kind, version), defaultdict(lambda: None))


def tree_facts(path: Path, kind: str, version: int) -> dict[str, Any]:
    return _read(path, kind, version).facts


def tensors_checksum(path: Path, kind: str, version: int) -> str:
    """What the JSON says of the tensors."""
    return _read(path, kind, version).sha256


@dataclass(frozen=True)
class _Body:
    facts: dict[str, Any]
    sha256: Digest
    tree: dict[str, Any]


def _read(path: Path, kind: str, version: int) -> _Body:
    file = _with_suffix(path, "json")
    body: _Body = from_json(_Body, read_document(file, kind, version), file)
    return body


def _holds(path: Path, kind: str, version: int, checksum: str) -> bool:
    """Whether the pair at ``path`` already has these tensors."""
    try:
        return tensors_checksum(path, kind, version) == checksum
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


def _with_tensors(path: Path, body: _Body, tensors: Mapping[str, Tensor | None]) -> Any:
    try:
        return _put_tensors(body.tree, tensors)
    except (KeyError, TypeError, ValueError) as error:
        file = _with_suffix(path, "json")
        raise DamagedFileError(f"{file} does not describe a tree of its tensors ({error}). {remedy(file)}") from None


def _put_tensors(tree: Any, tensors: Mapping[str, Tensor | None]) -> Any:
    match tree:
        case {"tensor": str(name)}:
            return tensors[name]
        case {"dict": [*pairs]}:
            return {tuple(key) if isinstance(key, list) else key: _put_tensors(item, tensors) for key, item in pairs}
        case {"list": [*items]}:
            return [_put_tensors(item, tensors) for item in items]
        case {"tuple": [*items]}:
            return tuple(_put_tensors(item, tensors) for item in items)
        case {"value": value}:
            return value
    raise ValueError("a part that is none of tensor, dict, list, tuple and value")
