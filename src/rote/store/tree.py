"""A tree of tensors and plain values as two files: ``<path>.safetensors`` and ``<path>.json``.

The tensors are written first and the JSON, which holds their sha256, last: the pair exists once its JSON does. Where
tensors were packed, the JSON says how.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.errors import DamagedFileError, StoreError
from rote.store.files import digest, encode_document, read_document, read_regular, remedy, write_atomically
from rote.store.packing import WORDS, Packing, packed_all, unpack
from rote.store.typed import MAY_BE_ABSENT, Digest, from_json

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

Tensors = dict[str, "Tensor"]  # by their names in a file


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
    tensors: Tensors = {}
    plain = _take_tensors(tree, "", tensors)
    return _encoded(name, kind, version, tensors, {"facts": facts, "tree": plain})


def encode_packed_tree(
    name: str, kind: str, version: int, tree: Any, earlier: Tensors, **facts: Any
) -> tuple[dict[str, bytes], Tensors]:
    """The same with its tensors packed, where it pays as differences to ``earlier`` ones, which ``load_tensors`` is
    then to be given; and the tensors, for the next tree. The JSON says whether there is any difference."""
    import torch

    tensors: Tensors = {}
    plain = _take_tensors(tree, "", tensors)
    packed = packed_all(_packable(tensors), _packable(earlier))
    stored = {key: torch.frombuffer(bytearray(data), dtype=torch.uint8) for key, (data, _) in packed.items()}
    body = {"facts": facts, "tree": plain, "packed": {key: asdict(how) for key, (_, how) in packed.items()}}
    return _encoded(name, kind, version, tensors | stored, body), tensors


def _encoded(name: str, kind: str, version: int, tensors: Tensors, body: dict[str, Any]) -> dict[str, bytes]:
    import safetensors.torch

    data = safetensors.torch.save({key: tensor.cpu().contiguous() for key, tensor in tensors.items()})
    document = encode_document(kind, version, {**body, "sha256": digest(data)})
    return {f"{name}.safetensors": data, f"{name}.json": document}


def load_tree(path: Path, kind: str, version: int) -> Any:
    """The tree that was saved, its tensors on the CPU."""
    return load_tensors(path, kind, version)[0]


def load_tensors(path: Path, kind: str, version: int, earlier: Tensors | None = None) -> tuple[Any, Tensors]:
    """The tree, and its tensors by name. ``earlier``: those that some of them are stored as differences to."""
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
    try:
        tensors |= {name: _unpacked(tensors[name], how, name, earlier or {}) for name, how in body.packed.items()}
    except (KeyError, ValueError, OverflowError, MemoryError) as error:
        raise DamagedFileError(f"{file} does not hold what its JSON says ({error}). {remedy(file)}") from None
    return _with_tensors(path, body, tensors), tensors


def load_plain(path: Path, kind: str, version: int) -> Any:
    """The tree with None for each tensor: reads the JSON alone, and imports no torch."""
    return _with_tensors(path, _read(path, kind, version), defaultdict(lambda: None))


def tree_facts(path: Path, kind: str, version: int) -> dict[str, Any]:
    return _read(path, kind, version).facts


def tensors_checksum(path: Path, kind: str, version: int) -> str:
    """What the JSON says of the tensors."""
    return _read(path, kind, version).sha256


def has_differences(path: Path, kind: str, version: int) -> bool:
    """Whether some of the tensors are stored as differences to earlier ones."""
    return any(how.difference for how in _read(path, kind, version).packed.values())


@dataclass(frozen=True)
class _Body:
    facts: dict[str, Any]
    sha256: Digest
    tree: dict[str, Any]
    packed: dict[str, Packing] = field(default_factory=dict, metadata=MAY_BE_ABSENT)  # tensor -> how


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


def _packable(tensors: Tensors) -> dict[str, np.ndarray[Any, Any]]:
    """Those of a type that is packed, and that NumPy has."""
    return {
        name: tensor.cpu().numpy()
        for name, tensor in tensors.items()
        if str(tensor.dtype).removeprefix("torch.") in WORDS
    }


def _unpacked(stored: Tensor, how: Packing, name: str, earlier: Tensors) -> Tensor:
    import torch

    before = earlier[name].numpy() if how.difference else None
    return torch.from_numpy(unpack(stored.numpy().tobytes(), how, before))


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
