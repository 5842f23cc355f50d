"""Checkpoints of a run: ``checkpoint-<step>.safetensors`` and ``.json``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rote.store.files import digest
from rote.store.tree import load_tree, save_tree, tree_facts

KIND, VERSION = "rote checkpoint", 1
NAME = re.compile(r"checkpoint-([0-9]{8,})\.json")


class Checkpoints:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def steps(self) -> list[int]:
        return steps_among(path.name for path in self.folder.glob("checkpoint-*.json"))

    def save(self, step: int, state: dict[str, Any], metrics: tuple[int, str] = (0, digest(b""))) -> None:
        """``metrics``: size and checksum of the metrics file at this step."""
        save_tree(self._path(step), KIND, VERSION, state, step=step, metrics=list(metrics))

    def load(self, step: int) -> dict[str, Any]:
        state: dict[str, Any] = load_tree(self._path(step), KIND, VERSION)
        return state

    def metrics(self, step: int) -> tuple[int, str]:
        """Size and checksum of the metrics file when this checkpoint was made."""
        size, checksum = tree_facts(self._path(step), KIND, VERSION)["metrics"]
        return size, checksum

    def remove(self, step: int) -> None:
        for suffix in ("json", "safetensors"):  # the JSON first: without it the checkpoint no longer counts
            with contextlib.suppress(FileNotFoundError):
                self.folder.joinpath(f"{self._path(step).name}.{suffix}").unlink()

    def files(self) -> list[Path]:
        return sorted(path for step in self.steps() for path in self.folder.glob(f"{self._path(step).name}.*"))

    def _path(self, step: int) -> Path:
        return self.folder / f"checkpoint-{step:08d}"


def steps_among(names: Iterable[str]) -> list[int]:
    """The steps of the checkpoints among these file names."""
    return sorted(int(found[1]) for name in names if (found := NAME.fullmatch(name)))
