"""Checkpoints: any tree of tensors and plain values as ``checkpoint-<step>.safetensors`` and ``.json``.

The tensors are written first and the JSON, which holds their sha256, last: a checkpoint exists once its JSON does.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.errors import DamagedFileError
from rote.store.files import digest, read_document, reading, write_atomically, write_document

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 1
KIND = "rote checkpoint"
PATTERN = "checkpoint-*.json"


class Checkpoints:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def steps(self) -> list[int]:
        return sorted(int(path.stem.removeprefix("checkpoint-")) for path in self.folder.glob(PATTERN))

    def save(self, step: int, state: dict[str, Any], metrics_size: int = 0) -> None:
        import safetensors.torch

        tensors: dict[str, Tensor] = {}
        tree = _take_tensors(state, "", tensors)
        data = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
        write_atomically(self._path(step, "safetensors"), data)
        body = {"step": step, "metrics_size": metrics_size, "sha256": digest(data), "tree": tree}
        write_document(self._path(step, "json"), KIND, VERSION, body)

    def load(self, step: int) -> dict[str, Any]:
        """The tree that was saved, its tensors on the CPU."""
        import safetensors.torch

        body = read_document(self._path(step, "json"), KIND, VERSION)
        path = self._path(step, "safetensors")
        with reading(path):
            data = path.read_bytes()
        if digest(data) != body["sha256"]:
            raise DamagedFileError(
                f"{path} was altered or truncated: its checksum does not match. "
                f"Remove the run folder {self.folder} to compute it again."
            )
        tree: dict[str, Any] = _put_tensors(body["tree"], safetensors.torch.load(data))
        return tree

    def metrics_size(self, step: int) -> int:
        return int(read_document(self._path(step, "json"), KIND, VERSION)["metrics_size"])

    def remove(self, step: int) -> None:
        for suffix in ("json", "safetensors"):  # the JSON first: without it the checkpoint no longer counts
            with contextlib.suppress(FileNotFoundError):
                self._path(step, suffix).unlink()

    def files(self) -> list[Path]:
        return sorted(
            path for step in self.steps() for path in (self._path(step, "json"), self._path(step, "safetensors"))
        )

    def _path(self, step: int, suffix: str) -> Path:
        return self.folder / f"checkpoint-{step:08d}.{suffix}"


def _take_tensors(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """``value`` as JSON in which each tensor is replaced by its name; the tensors are collected under those names."""
    import torch

    if isinstance(value, torch.Tensor):
        # A copy for each: safetensors refuses tensors that share memory (tied weights).
        tensors[name] = value.detach().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        pairs = [
            [key, _take_tensors(item, f"{name}/{key}" if name else str(key), tensors)] for key, item in value.items()
        ]
        return {"dict": pairs}  # as pairs, because the keys of optimizer states are numbers
    if isinstance(value, list | tuple):
        items = [_take_tensors(item, f"{name}/{index}", tensors) for index, item in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    json.dumps(value)  # anything else must be plain: fail here, not when the run is taken up again
    return {"value": value}


def _put_tensors(tree: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    match tree:
        case {"tensor": name}:
            return tensors[name]
        case {"dict": pairs}:
            return {key: _put_tensors(item, tensors) for key, item in pairs}
        case {"list": items}:
            return [_put_tensors(item, tensors) for item in items]
        case {"tuple": items}:
            return tuple(_put_tensors(item, tensors) for item in items)
    return tree["value"]
