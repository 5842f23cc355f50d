"""Checkpoints of a run: ``checkpoint-<step>.safetensors`` and ``.json``; of a finished training ``weights-<step>``.

Each JSON has a checksum of itself, of its tensors, of the metrics so far, and of the checkpoints that were kept before
it. So the last one vouches for everything that a run is taken up from, and is itself written in one piece: there is no
moment at which a file is there and its checksum is not noted.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError, StoreError
from rote.store.files import digest, digest_file, remedy
from rote.store.tree import load_plain, load_tree, save_tree, tensors_checksum, tree_facts
from rote.store.typed import Count, Digest, FileName, from_json

NAME = re.compile(r"(checkpoint|weights)-([0-9]{8,})\.(json|safetensors)")
Files = dict[str, str]  # name -> sha256


class Checkpoints:
    """The states of a run at some of its steps, with everything that the run is resumed from."""

    stem, kind, version = "checkpoint", "rote checkpoint", 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def steps(self) -> list[int]:
        return self.among(path.name for path in self.folder.glob(f"{self.stem}-*.json"))

    def among(self, names: Iterable[str]) -> list[int]:
        """The steps of those of these files that are of this kind."""
        return steps_among(name for name in names if name.startswith(self.stem))

    def save(
        self,
        step: int,
        state: dict[str, Any],
        metrics: tuple[int, str] = (0, digest(b"")),
        kept: Mapping[str, str] | None = None,
    ) -> Files:
        """``metrics``: size and checksum of the metrics file at this step. ``kept``: the files of earlier checkpoints
        that stay. Returns its own files."""
        facts: dict[str, Any] = {"step": step, "metrics": list(metrics)}
        if kept:
            facts["kept"] = dict(sorted(kept.items()))
        return save_tree(self._path(step), self.kind, self.version, state, **facts)

    def load(self, step: int) -> dict[str, Any]:
        return self._state(step, load_tree(self._path(step), self.kind, self.version))

    def read_for(self, step: int) -> list[int]:
        """The steps whose files the state at ``step`` is read from."""
        return [step]

    def plain(self, step: int) -> dict[str, Any]:
        """The state with None for each tensor; imports no torch."""
        return self._state(step, load_plain(self._path(step), self.kind, self.version))

    def _state(self, step: int, state: Any) -> dict[str, Any]:
        if not isinstance(state, dict):
            raise DamagedFileError(f"{self._path(step)}.json holds no state of a run. {remedy(self._path(step))}")
        return state

    def metrics(self, step: int) -> tuple[int, str]:
        """Size and checksum of the metrics file when this checkpoint was made."""
        known = tree_facts(self._path(step), self.kind, self.version).get("metrics")
        size, checksum = from_json(tuple[Count, Digest], known, self._path(step), "facts['metrics']")
        return size, checksum

    def checksums(self) -> Files:
        """Of every file, read now. Raises if one of them is not as it was written."""
        files = self.as_they_are()
        for _, error in self.contradictions(files):
            raise error
        return files

    def as_they_are(self) -> Files:
        return {path.name: digest_file(path) for path in self.files()}

    def contradictions(self, files: Mapping[str, str]) -> Iterator[tuple[str, StoreError]]:
        """Which of these files of checkpoints are not what the JSONs say of them, with the reason."""
        known: Files = {}
        unreadable = set()
        steps = self.among(files)
        for step in steps:
            name = self._path(step).name
            try:
                known[f"{name}.safetensors"] = tensors_checksum(self._path(step), self.kind, self.version)
                if step == steps[-1]:  # what earlier ones knew of may have gone since
                    kept = tree_facts(self._path(step), self.kind, self.version).get("kept", {})
                    known |= from_json(dict[FileName, Digest], kept, self._path(step), "facts['kept']")
            except StoreError as error:
                unreadable.add(f"{name}.json")
                yield f"{name}.json", error
        for name, checksum in known.items():
            if files.get(name) != checksum and name not in unreadable:
                path = self.folder / name
                yield name, DamagedFileError(f"{path} is gone or was altered since it was written. {remedy(path)}")

    def remove(self, step: int) -> None:
        for suffix in ("json", "safetensors"):  # the JSON first: without it the checkpoint no longer counts
            with contextlib.suppress(FileNotFoundError):
                self.folder.joinpath(f"{self._path(step).name}.{suffix}").unlink()

    def files(self) -> list[Path]:
        return sorted(path for step in self.steps() for path in self.folder.glob(f"{self._path(step).name}.*"))

    def _path(self, step: int) -> Path:
        return self.folder / f"{self.stem}-{step:08d}"


def steps_among(names: Iterable[str]) -> list[int]:
    """The steps of the checkpoints or weights among these file names: of those whose JSON is there."""
    return sorted(int(found[2]) for name in names if (found := NAME.fullmatch(name)) and found[3] == "json")


def step_of(name: str) -> int | None:
    """The step of the checkpoint or the weights that this file belongs to, if it belongs to any."""
    found = NAME.fullmatch(name)
    return int(found[2]) if found else None
