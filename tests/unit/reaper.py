"""A process that dies at a chosen call that touches the disk, with or without what was not synced."""

from __future__ import annotations

import contextlib
import io
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rote.store import commit


class Reaper:
    """Counts the calls that touch the disk below ``root`` and kills this process before call number ``at``.

    how: "kill" (SIGKILL); "half" (a write is killed when half of it is on disk); "data lost" (a power failure: what was
    written and not synced is gone); "all lost" (the same, and names that were changed and not synced are as before).
    """

    def __init__(self, root: Path, at: int = -1, how: str = "kill") -> None:
        self.root, self.at, self.how = root, at, how
        self.calls: list[str] = []
        self.synced = {path.stat().st_ino: path.stat().st_size for path in root.rglob("*") if path.is_file()}
        self.undo: list[Callable[[], object]] = []
        self.real = {name: getattr(os, name) for name in ("open", "replace", "fsync", "unlink", "mkdir")}
        self.real_open, self.real_sync = io.open, commit.sync_file_system

    @contextlib.contextmanager
    def watching(self) -> Iterator[Reaper]:
        for name in self.real:
            setattr(os, name, getattr(self, name))
        io.open, commit.sync_file_system = self.file, self.sync_all
        try:
            yield self
        finally:
            self.restore()

    def restore(self) -> None:
        for name, function in self.real.items():
            setattr(os, name, function)
        io.open, commit.sync_file_system = self.real_open, self.real_sync

    def tick(self, call: str, path: Any) -> None:
        if self.below(path):
            if len(self.calls) == self.at and self.how != "half":
                self.die()
            self.calls.append(f"{call} {Path(path).name}")

    def below(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and Path(os.fspath(path)).is_relative_to(self.root)

    def die(self) -> None:
        self.restore()
        if self.how == "all lost":
            for step in reversed(self.undo):
                step()
        if self.how in ("data lost", "all lost"):
            for path in self.root.rglob("*"):
                if path.is_file() and path.stat().st_size > self.synced.get(path.stat().st_ino, 0):
                    os.truncate(path, self.synced.get(path.stat().st_ino, 0))
        os.kill(os.getpid(), signal.SIGKILL)

    # The calls themselves. ``undo`` is what the last sync of the folder does not cover.

    def open(self, path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if not flags & os.O_CREAT:
            return int(self.real["open"](path, flags, *rest, **named))
        self.tick("create", path)
        self.created(path)
        new = self.below(path) and not os.path.exists(path)
        descriptor = int(self.real["open"](path, flags, *rest, **named))
        if new:  # perhaps with the number of a file that is gone, and was synced
            self.synced[os.fstat(descriptor).st_ino] = 0
        return descriptor

    def created(self, path: Any) -> None:
        if self.below(path) and not os.path.exists(path):
            self.undo.append(lambda: Path(path).exists() and self.real["unlink"](path))

    def replace(self, source: Any, target: Any) -> None:
        self.tick("replace", target)
        before = Path(target).read_bytes() if os.path.exists(target) else None

        def undo() -> None:
            os.rename(target, source)
            if before is not None:
                Path(target).write_bytes(before)
                self.synced[Path(target).stat().st_ino] = len(before)

        self.undo.append(undo)
        self.real["replace"](source, target)

    def unlink(self, path: Any, **named: Any) -> None:
        self.tick("unlink", path)
        if self.below(path) and os.path.exists(path):
            data = Path(path).read_bytes()

            def undo() -> None:
                Path(path).write_bytes(data)
                self.synced[Path(path).stat().st_ino] = len(data)

            self.undo.append(undo)
        self.real["unlink"](path, **named)

    def mkdir(self, path: Any, *rest: Any, **named: Any) -> None:
        self.tick("mkdir", path)
        self.real["mkdir"](path, *rest, **named)

    def fsync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self.tick("fsync", path)
        self.real["fsync"](descriptor)
        if os.path.isdir(path):
            self.undo.clear()
        else:
            self.synced[os.fstat(descriptor).st_ino] = os.fstat(descriptor).st_size

    def sync_all(self, folder: Path) -> None:
        self.tick("fsync", folder)
        self.undo.clear()
        self.synced = {path.stat().st_ino: path.stat().st_size for path in self.root.rglob("*") if path.is_file()}

    def file(self, path: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if not any(letter in mode for letter in "wax+"):
            return self.real_open(path, mode, *rest, **named)
        name = os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else path
        if not isinstance(path, int):
            self.tick("open", path)
            self.created(path)
        return Watched(self.real_open(path, mode, *rest, **named), self, name)


class Watched:
    """A file whose writes and cuts are counted."""

    def __init__(self, file: Any, reaper: Reaper, path: Any) -> None:
        self._file, self._reaper, self._path = file, reaper, path

    def write(self, data: bytes) -> int:
        reaper = self._reaper
        if len(reaper.calls) == reaper.at and reaper.how == "half":
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            reaper.die()
        reaper.tick("write", self._path)
        return int(self._file.write(data))

    def truncate(self, size: int) -> int:
        self._reaper.tick("truncate", self._path)
        done = int(self._file.truncate(size))
        number = os.fstat(self._file.fileno()).st_ino
        self._reaper.synced[number] = min(self._reaper.synced.get(number, 0), size)
        return done

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
