"""The run store: ``$ROTE_HOME`` (default ``./rote-store``), one folder per run, named by the hash of its request."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError, InterruptedRunError, StoreError, UnknownNameError, UsageError
from rote.store.files import sync_folder, writing
from rote.store.index import Listed, listed
from rote.store.lock import locked
from rote.store.record import FILE, Record, Request
from rote.store.run import FinishedRun, Run


class Store:
    def __init__(self, root: Path | str | None = None) -> None:
        self.root = Path(root or os.environ.get("ROTE_HOME") or "rote-store").absolute()

    def check_writable(self) -> None:
        """Find out before any work whether runs can be kept here."""
        remedy = "Set ROTE_HOME (or --store) to a folder that you may write to."
        try:
            (self.root / "runs").mkdir(parents=True, exist_ok=True)
            probe = self.root / f".probe-{os.getpid()}"
            try:
                probe.write_bytes(b"rote")
            finally:
                probe.unlink(missing_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UsageError(f"The store {self.root} is a file, or lies below one. {remedy}") from None
        except OSError as error:
            raise UsageError(f"The store {self.root} cannot be written: {error.strerror}. {remedy}") from None

    def folder(self, request: Request) -> Path:
        return self.root / "runs" / request.study / request.id

    def finished(self, request: Request) -> FinishedRun | None:
        """The finished run of this request, if there is one."""
        folder = self.folder(request)
        if (folder / FILE).exists() and Record.read(folder).status == "finished":
            return FinishedRun(folder)
        return None

    @contextlib.contextmanager
    def open(self, request: Request, passed: dict[str, Any] | None = None) -> Iterator[Run]:
        """The run of ``request`` for writing, new or resumed; how the block ends is written into its record."""
        folder = self.folder(request)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        with locked(folder):
            remove_leftovers(folder)
            run = Run(folder, request, passed)
            try:
                yield run
            except (KeyboardInterrupt, InterruptedRunError):
                run.interrupt()
                raise
            except BaseException as error:
                with contextlib.suppress(StoreError):  # a full disk: the first error is the one to tell
                    run.fail(error)
                raise

    def runs(self) -> list[Listed]:
        return listed(self.root)

    def find(self, prefix: str) -> Path:
        """The folder of the run whose id starts with ``prefix``."""
        rows = self.runs()
        matching = [row for row in rows if row.id.startswith(prefix)] if prefix else []
        if len(matching) == 1:
            return self.root / matching[0].folder
        if matching:
            ids = ", ".join(row.id for row in matching)
            raise UsageError(f"The id {prefix!r} stands for {len(matching)} runs: {ids}. Give more of it.")
        raise UnknownNameError("run", prefix, [row.id for row in rows])

    def load(self, prefix: str) -> FinishedRun:
        return FinishedRun(self.find(prefix))

    def remove(self, prefix: str) -> None:
        """Delete one run, as a whole: it is renamed out of sight first."""
        folder = self.find(prefix)
        if folder.is_symlink() or not folder.resolve().is_relative_to((self.root / "runs").resolve()):
            raise DamagedFileError(f"{folder} leads out of the store {self.root}; remove the link by hand.")
        hidden = folder.with_name(f".removed-{folder.name}")
        with locked(folder), writing(folder):
            shutil.rmtree(hidden, ignore_errors=True)  # of a removal that was killed halfway
            os.rename(folder, hidden)
        with writing(hidden):
            shutil.rmtree(hidden)


def remove_leftovers(folder: Path) -> None:
    """Temporary files of a process that was killed while writing; the lock is ours, so nobody else is using them."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)
    kept = {path.stem for path in folder.glob("checkpoint-*.json")}
    for path in folder.glob("checkpoint-*.safetensors"):
        if path.stem not in kept:  # written, but its JSON was not: it never counted
            path.unlink(missing_ok=True)
