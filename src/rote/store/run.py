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
from rote.store.files import digest_file, read_document, remedy, write_document
from rote.store.metrics import Metrics
from rote.store.record import Record, Request, installed
from rote.store.table import Table

VERSION = 1
RESULT = "result.json"


class Run:
    """A run that is being written. Made by ``Store.open``, which holds its lock."""

    def __init__(self, folder: Path, request: Request, passed: dict[str, Any] | None = None) -> None:
        self.folder, self.request = folder, request
        self.metrics, self.checkpoints = Metrics(folder), Checkpoints(folder)
        self._since = time.monotonic()
        if (folder / "record.json").exists():
            earlier = Record.read(folder)
            self.record = dataclasses.replace(earlier, status="started", resumed=earlier.resumed + 1, error=None)
            if earlier.environment != installed():
                seen = (*earlier.earlier_environments, earlier.environment)
                self.record = dataclasses.replace(self.record, environment=installed(), earlier_environments=seen)
        else:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self.record = Record(request, "started", passed or {}, now)
        self._write()

    def note(self, **facts: Any) -> None:
        """Add to the record: ``device``, ``randomness``, ``data`` (hashes) or ``uses`` (ids of other runs)."""
        self.record = dataclasses.replace(self.record, **facts)
        self._write()

    def other(self, request: Request) -> FinishedRun:
        """A finished run of the same store that this one is made from; the record names it."""
        found = FinishedRun(self.folder.parents[1] / request.study / request.id)
        if found.id not in self.record.uses:
            self.note(uses=(*self.record.uses, found.id))
        return found

    def save(self, step: int, state: dict[str, Any], keep: Iterable[int] = ()) -> None:
        """Write a checkpoint; the earlier ones go, except those at the steps to ``keep``."""
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
        write_document(self.folder / RESULT, "rote result", VERSION, [table.to_plain() for table in tables])
        self.metrics.sync()
        contents = [self.folder / RESULT, self.metrics.path, *self.checkpoints.files()]
        self._end("finished", files={path.name: digest_file(path) for path in contents})

    def fail(self, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error)).strip()
        self._end("failed", error=text.encode(errors="backslashreplace").decode())  # names of files need not be UTF-8

    def interrupt(self) -> None:
        self._end("interrupted")

    def _end(self, status: Any, **facts: Any) -> None:
        spent = round(self.record.seconds + time.monotonic() - self._since, 3)
        self.record = dataclasses.replace(self.record, status=status, seconds=spent, **facts)
        self._write()

    def _write(self) -> None:
        self.record.write(self.folder)


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
