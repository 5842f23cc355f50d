"""``metrics.jsonl``: one row per recorded step, appended; after a crash cut back to what the last checkpoint knew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError
from rote.store.files import canonical, digest, finite, reading, remedy, writing

FILE = "metrics.jsonl"


class Metrics:
    """Rows are plain data with no times in them: a resumed run writes the same bytes as an uninterrupted one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def append(self, row: dict[str, Any]) -> None:
        with writing(self.path), self.path.open("ab") as file:
            file.write(canonical(finite(row)) + b"\n")

    def sync(self, *, durable: bool = True) -> tuple[int, str]:
        """Size and checksum of what is safely on disk from now on."""
        with writing(self.path), self.path.open("ab") as file:
            if durable:
                os.fsync(file.fileno())
        with reading(self.path):
            data = self.path.read_bytes()
        return len(data), digest(data)

    def holds(self, size: int, checksum: str) -> bool:
        """Whether the file begins with what a checkpoint knew of it."""
        with reading(self.path):
            data = self.path.read_bytes() if self.path.exists() else b""
        return len(data) >= size and digest(data[:size]) == checksum

    def cut(self, size: int = 0, checksum: str = digest(b"")) -> None:
        """Drop what was written after a checkpoint, which knows the rest: those steps are done again."""
        with writing(self.path), self.path.open("a+b") as file:
            file.seek(0)
            if digest(file.read(size)) != checksum:
                raise DamagedFileError(
                    f"{self.path} was altered: its first {size} bytes are not those that its checkpoint knows. "
                    f"{remedy(self.path)}"
                )
            file.truncate(size)

    def rows(self) -> list[dict[str, Any]]:
        """Every complete row; a torn last line (the process died while writing it) is left out."""
        if not self.path.exists():
            return []
        with reading(self.path):
            lines = self.path.read_bytes().split(b"\n")
        rows = []
        for number, line in enumerate(lines[:-1], start=1):
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise DamagedFileError(
                    f"{self.path}, line {number}, is damaged: {error}. {remedy(self.path)}"
                ) from None
        return rows
