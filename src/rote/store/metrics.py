"""``metrics.jsonl``: one row per recorded step, appended; after a crash cut back to what the last checkpoint knew.

Who writes it keeps a running checksum of what was written, and compares the file with it before anything is made from
it: what a disk, or another process, has changed meanwhile is told, never taken for what was measured.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from rote.errors import DamagedFileError
from rote.store.files import canonical, digest, finite, open_regular, read_regular, remedy, writing
from rote.store.typed import from_json

FILE = "metrics.jsonl"


class Metrics:
    """Rows are plain data with no times in them: a resumed run writes the same bytes as an uninterrupted one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._size = 0
        self._written: hashlib._Hash | None = None  # of what was written here; of a reader None

    def append(self, row: dict[str, Any]) -> None:
        line, written = canonical(finite(row)) + b"\n", self._begun()
        with writing(self.path), self._open() as file:
            file.write(line)
        written.update(line)
        self._size += len(line)

    def sync(self, *, durable: bool = True) -> tuple[int, str]:
        """Size and checksum of what was written, which is safely on disk from now on."""
        written = self._begun()
        with writing(self.path), self._open() as file:
            if durable:
                os.fsync(file.fileno())
        return self._size, written.hexdigest()

    def check(self) -> None:
        """Raises if the file is not as it was written."""
        self._read()

    def holds(self, size: int, checksum: str) -> bool:
        """Whether the file begins with what a checkpoint knew of it."""
        data = read_regular(self.path) if self.path.exists() else b""
        return len(data) >= size and digest(data[:size]) == checksum

    def cut(self, size: int = 0, checksum: str = digest(b"")) -> None:
        """Drop what was written after a checkpoint, which knows the rest: those steps are done again."""
        with writing(self.path), self._open() as file:
            file.seek(0)
            kept = file.read(size)
            if digest(kept) != checksum:
                raise DamagedFileError(
                    f"{self.path} was altered: its first {size} bytes are not those that its checkpoint knows. "
                    f"{remedy(self.path)}"
                )
            file.truncate(size)
        self._size, self._written = size, hashlib.sha256(kept)

    def rows(self) -> list[dict[str, Any]]:
        """Every complete row; a torn last line (the process died while writing it) is left out."""
        if not self.path.exists():
            return []
        rows = []
        for number, line in enumerate(self._read().split(b"\n")[:-1], start=1):
            try:
                rows.append(from_json(dict[str, Any], json.loads(line), self.path, f"line {number}"))
            except (ValueError, RecursionError) as error:
                raise DamagedFileError(
                    f"{self.path}, line {number}, is damaged: {error}. {remedy(self.path)}"
                ) from None
        return rows

    def _begun(self) -> hashlib._Hash:
        """The running checksum; where nothing was cut, of what an earlier process left."""
        if self._written is None:
            data = read_regular(self.path) if self.path.exists() else b""
            self._size, self._written = len(data), hashlib.sha256(data)
        return self._written

    def _read(self) -> bytes:
        data = read_regular(self.path)
        if self._written is not None and digest(data) != self._written.hexdigest():
            raise DamagedFileError(f"{self.path} was altered: it is not as this run wrote it. {remedy(self.path)}")
        return data

    def _open(self) -> BinaryIO:
        return os.fdopen(open_regular(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT), "a+b")
