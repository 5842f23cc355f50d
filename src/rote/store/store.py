"""The run store: ``$ROTE_HOME`` (default ``./rote-store``), one folder per run, named by the hash of its request."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rote.errors import (
    InterruptedRunError,
    RunFinishedError,
    StoreError,
    UnknownNameError,
    UsageError,
)
from rote.store.commit import Commits
from rote.store.files import check_no_link, writing
from rote.store.index import Listed, listed
from rote.store.lock import has_locks, locked, without_locks
from rote.store.record import Record, Request
from rote.store.run import FinishedRun, Run
from rote.store.typed import check
from rote.store.weights import stray_weights


class Store:
    def __init__(self, root: Path | str | None = None) -> None:
        self.root = Path(root or os.environ.get("ROTE_HOME") or "rote-store").absolute()
        self.commits: Commits | None = None  # of a worker: how it makes many short runs durable

    def check_writable(self) -> None:
        """Find out before any work whether runs can be kept here."""
        remedy = "Set ROTE_HOME (or --store) to a folder that you may write to."
        try:
            (self.root / "runs").mkdir(parents=True, exist_ok=True)
            probe = self.root / f".probe-{os.getpid()}"
            try:
                probe.write_bytes(b"rote")
                lockable = has_locks(probe)
            finally:
                probe.unlink(missing_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UsageError(f"The store {self.root} is a file, or lies below one. {remedy}") from None
        except OSError as error:
            raise UsageError(f"The store {self.root} cannot be written: {error.strerror}. {remedy}") from None
        if not lockable:
            raise UsageError(without_locks(self.root))

    def folder(self, request: Request) -> Path:
        return self.root / "runs" / request.study / request.id

    def finished(self, request: Request) -> FinishedRun | None:
        """The finished run of this request, if there is one."""
        record = Record.find(self.folder(request))
        return FinishedRun(self.folder(request)) if record is not None and record.status == "finished" else None

    @contextlib.contextmanager
    def open(
        self, request: Request, passed: dict[str, Any] | None = None, *, device: str = "", again: bool = True
    ) -> Iterator[Run]:
        """The run of ``request`` for writing, new or resumed; how the block ends is written into its record.

        A training that was finished begins again: it has kept nothing to resume from. Without ``again``, a run that is
        finished is left as it is: RunFinishedError.
        """
        folder = self.folder(request)
        check(Request, request.to_plain(), f"A run of the study {request.study!r}")
        check_no_link(folder)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            held.enter_context(locked(folder))
            if not again and self.finished(request):  # meanwhile, by another process
                raise RunFinishedError(f"The run in {folder} is finished.")
            remove_leftovers(folder)
            run = Run(folder, request, passed, device=device, together=self.commits is not None)
            with writing(folder):
                for path in stray_weights(folder):  # now that no record calls it finished, they count no longer
                    path.unlink(missing_ok=True)
            try:
                yield run
            except (KeyboardInterrupt, InterruptedRunError):
                run.interrupt()
                raise
            except BaseException as error:
                with contextlib.suppress(StoreError):  # a full disk: the first error is the one to tell
                    run.fail(error)
                raise
            if self.commits is not None and run.uncommitted:
                self.commits.add(run, held.pop_all())

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
        """Delete one run, as a whole."""
        self.discard(self.find(prefix))

    def discard(self, folder: Path) -> None:
        """Delete a run's folder: it is renamed out of sight first."""
        check_no_link(folder)
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
