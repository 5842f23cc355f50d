"""One run's folder: its record, metrics, checkpoints and result, written by one process at a time."""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError, StoreError
from rote.store.checkpoint import Checkpoints, steps_among
from rote.store.files import digest_file, read_document, remedy, sync_folder, write_document, writing
from rote.store.metrics import Metrics
from rote.store.record import Record, Request, installed
from rote.store.table import Table

VERSION = 1
RESULT = "result.json"


class Run:
    """A run that is being written. Made by ``Store.open``, which holds its lock.

    ``together``: its files are not synced by themselves; ``Commits`` does that for many runs at once, and only then
    calls them finished.
    """

    def __init__(
        self,
        folder: Path,
        request: Request,
        passed: dict[str, Any] | None = None,
        *,
        device: str = "",
        together: bool = False,
    ) -> None:
        self.folder, self.request, self.together = folder, request, together
        self.metrics, self.checkpoints = Metrics(folder), Checkpoints(folder)
        self._since = time.monotonic()
        self._named = False  # whether the folder's own name is durable
        self._done: dict[str, Any] | None = None  # what the record will say once everything else is durable
        earlier = Record.find(folder)
        if earlier is not None:
            now: dict[str, Any] = {
                "status": "started",
                "resumed": earlier.resumed + 1,
                "error": None,
                "device": device or earlier.device,
            }
            self.record = dataclasses.replace(earlier, **now)
            if earlier.environment != installed():
                seen = (*earlier.earlier_environments, earlier.environment)
                self.record = dataclasses.replace(self.record, environment=installed(), earlier_environments=seen)
        else:
            began = datetime.now(UTC).isoformat(timespec="seconds")
            self.record = Record(request, "started", passed or {}, began, device=device)
        self._write(sync=earlier is not None)  # the first holds nothing that could not be written again

    def note(self, **facts: Any) -> None:
        """Add to the record: ``device``, ``randomness``, ``data`` (hashes) or ``uses`` (ids of other runs)."""
        self.record = dataclasses.replace(self.record, **facts)
        self._write(sync=False)

    def other(self, request: Request) -> FinishedRun:
        """A finished run of the same store that this one is made from; the record names it."""
        found = FinishedRun(self.folder.parents[1] / request.study / request.id)
        if found.id not in self.record.uses:
            self.note(uses=(*self.record.uses, found.id))
        return found

    def save(self, step: int, state: dict[str, Any], keep: Iterable[int] = ()) -> None:
        """Write a checkpoint; the earlier ones go, except those at the steps to ``keep``."""
        self._name()
        self.checkpoints.save(step, state, self.metrics.sync())
        for earlier in set(self.checkpoints.steps()) - {step, *keep}:
            self.checkpoints.remove(earlier)

    def resume(self) -> tuple[int, dict[str, Any]] | None:
        """The last checkpoint's step and state, with the metrics cut back to it; None at the very beginning."""
        steps = self.checkpoints.steps()
        if not steps:
            self.metrics.cut()
            return None
        state = self.checkpoints.load(steps[-1])
        self.metrics.cut(*self.checkpoints.metrics(steps[-1]))
        return steps[-1], state

    def finish(self, tables: Iterable[Table]) -> None:
        plain = [table.to_plain() for table in tables]
        if not self.together:
            self._name()
        write_document(self.folder / RESULT, "rote result", VERSION, plain, sync=not self.together)
        self.metrics.sync(durable=not self.together)
        contents = [self.folder / RESULT, self.metrics.path, *self.checkpoints.files()]
        self._done = {"seconds": self._spent(), "files": {path.name: digest_file(path) for path in contents}}
        if not self.together:
            self.commit()

    @property
    def uncommitted(self) -> bool:
        return self._done is not None

    def commit(self) -> None:
        """Call the run finished. Everything that its record names is durable."""
        assert self._done is not None
        self.record = dataclasses.replace(self.record, status="finished", **self._done)
        self._write(sync=not self.together)
        self._done = None

    def fail(self, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error)).strip()
        self._end("failed", error=text.encode(errors="backslashreplace").decode())  # names of files need not be UTF-8

    def interrupt(self) -> None:
        self._end("interrupted")

    def _end(self, status: Any, **facts: Any) -> None:
        self._done = None
        self.record = dataclasses.replace(self.record, status=status, seconds=self._spent(), **facts)
        self._write(sync=True)

    def _spent(self) -> float:
        return round(self.record.seconds + time.monotonic() - self._since, 3)

    def _write(self, *, sync: bool) -> None:
        self.record.write(self.folder, sync=sync)

    def _name(self) -> None:
        """What is made durable in a folder is lost with it: its own name comes first."""
        if not self._named:
            with writing(self.folder):
                sync_folder(self.folder.parent)
            self._named = True


class FinishedRun:
    """A run as a reader sees it: record, result tables, metrics and checkpoints, each checked against its hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = Record.read(folder)
        if self.record.status != "finished":
            raise StoreError(f"The run in {folder} is not finished: {self.record.status}.")

    @property
    def id(self) -> str:
        return self.record.request.id

    def tables(self) -> dict[str, Table]:
        self._check(RESULT)
        plain = read_document(self.folder / RESULT, "rote result", VERSION)
        return {table["name"]: Table.from_plain(table) for table in plain}

    def metrics(self) -> list[dict[str, Any]]:
        self._check("metrics.jsonl")
        return Metrics(self.folder).rows()

    def checkpoint(self, step: int | None = None) -> dict[str, Any]:
        """The state at ``step``, by default the last."""
        steps = steps_among(self.record.files)
        if not steps or (step is not None and step not in steps):
            raise StoreError(f"The run in {self.folder} has no checkpoint of step {step}. It has: {steps or 'none'}.")
        chosen = steps[-1] if step is None else step
        self._check(f"checkpoint-{chosen:08d}.json")  # which knows the checksum of the tensors
        return Checkpoints(self.folder).load(chosen)

    def _check(self, name: str) -> None:
        if digest_file(self.folder / name) != self.record.files.get(name):
            path = self.folder / name
            raise DamagedFileError(f"{path} was altered: its checksum is not the one in its record. {remedy(path)}")
