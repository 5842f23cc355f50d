"""One run's folder: its record, metrics, checkpoints or weights, and result, written by one process at a time."""

from __future__ import annotations

import dataclasses
import importlib
import time
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError, StoreError
from rote.store.checkpoint import Checkpoints, Files, step_of
from rote.store.files import digest_file, read_document, remedy, sync_folder, write_document, writing
from rote.store.metrics import Metrics
from rote.store.record import Record, Request, installed
from rote.store.table import Table
from rote.store.typed import from_json
from rote.store.weights import remove_superseded, states_of, steps_to_slim, superseded, write_weights

KIND, VERSION = "rote result", 1
RESULT = "result.json"
STUDY = "study"  # the part of a request that stands for a whole study


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
        self._checkpoints: Files = {}  # those that stay, as they were written or, at the beginning, found to be intact
        self._done: dict[str, Any] | None = None  # what the record will say once everything else is durable
        earlier = Record.find(folder)
        if earlier is not None:
            now: dict[str, Any] = {
                "status": "started",
                "resumed": earlier.resumed + 1,
                "error": None,
                "files": {},
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
        record = dataclasses.replace(self.record, **facts)
        record.write(self.folder, sync=False)
        self.record = record

    def other(self, request: Request) -> FinishedRun:
        """A finished run of the same store that this one is made from; the record names it."""
        found = FinishedRun(self.folder.parents[1] / request.study / request.id)
        if found.id not in self.record.uses:
            self.note(uses=(*self.record.uses, found.id))
        return found

    def save(self, step: int, state: dict[str, Any], keep: Iterable[int] = ()) -> None:
        """Write a checkpoint; the earlier ones go, except those at the steps to ``keep``.

        Of a state that has a ``"model"``, the finished run does not keep ``"optimizer"``, ``"random"`` and ``"early"``.
        """
        self._name()
        stay = {*keep} - {step}
        kept = {name: checksum for name, checksum in self._checkpoints.items() if step_of(name) in stay}
        self._checkpoints = kept | self.checkpoints.save(step, state, self.metrics.sync(), kept)
        for earlier in set(self.checkpoints.steps()) - {step, *stay}:
            self.checkpoints.remove(earlier)

    def resume(self) -> tuple[int, dict[str, Any]] | None:
        """The last checkpoint's step and state, with the metrics cut back to it; None at the very beginning.

        Everything that was kept is compared with the checksums from when it was written.
        """
        steps = self.checkpoints.steps()
        if not steps:
            self.metrics.cut()
            return None
        state = self.checkpoints.load(steps[-1])
        self.metrics.cut(*self.checkpoints.metrics(steps[-1]))
        self._checkpoints = self.checkpoints.checksums()
        return steps[-1], state

    def finish(self, tables: Iterable[Table]) -> None:
        """Write the result, and the weights in place of the checkpoints. The record gets the checksums of what was
        written, and a file that has changed since is told here instead of being certified."""
        plain = [table.to_plain() for table in tables]
        if not self.together:
            self._name()
        _, measured = self.metrics.sync(durable=not self.together)
        self.metrics.check()
        files = {self.metrics.path.name: measured, **self._states_that_stay()}
        files[RESULT] = write_document(self.folder / RESULT, KIND, VERSION, plain, sync=not self.together)
        self._done = {"seconds": self._spent(), "files": files}
        if not self.together:
            self.commit()

    def _states_that_stay(self) -> Files:
        intact = self._intact_checkpoints()
        steps = steps_to_slim(self.folder, intact)
        return write_weights(self.folder, steps, sync=not self.together) if steps else intact

    def _intact_checkpoints(self) -> Files:
        found = self.checkpoints.checksums()
        for name, checksum in self._checkpoints.items():
            if found.get(name) != checksum:
                path = self.folder / name
                raise DamagedFileError(f"{path} is gone or was altered: it is not as this run wrote it. {remedy(path)}")
        return found

    @property
    def uncommitted(self) -> bool:
        return self._done is not None

    def commit(self) -> None:
        """Call the run finished. Everything that its record names is durable; the record itself is before a checkpoint
        goes."""
        assert self._done is not None
        record = dataclasses.replace(self.record, status="finished", **self._done)
        record.write(self.folder, sync=not self.together or bool(superseded(self.folder, record.files)))
        self.record, self._done = record, None
        remove_superseded(self.folder, record.files)

    def fail(self, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error)).strip()
        self._end("failed", error=text.encode(errors="backslashreplace").decode())  # names of files need not be UTF-8

    def interrupt(self) -> None:
        self._end("interrupted")

    def _end(self, status: Any, **facts: Any) -> None:
        self._done = None
        if self.record.status == "finished":  # it is complete, and may have no checkpoint any more
            return
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
        self._states = states_of(folder, self.record.files)
        if self.record.status != "finished":
            raise StoreError(f"The run in {folder} is not finished: {self.record.status}.")

    @property
    def id(self) -> str:
        return self.record.request.id

    def tables(self) -> dict[str, Table]:
        """Its result; a study's tables are made anew from what was measured."""
        if self.record.request.part == STUDY:
            made: dict[str, Table] = _above("rote.laboratory.study_run", "tables_of")(self)
            return made
        self._check(RESULT)
        plain = read_document(self.folder / RESULT, KIND, VERSION)
        tables: tuple[Table, ...] = from_json(tuple[Table, ...], plain, self.folder / RESULT)
        return {table.name: table for table in tables}

    def networks(self, step: int | None = None) -> list[Any]:
        """The networks of a finished training, a ``rote.recipes.Network`` for each replica, at a ``step`` whose weights
        were kept or, by default, as they were trained."""
        found: list[Any] = _above("rote.recipes.trained", "networks_of")(self, step)
        return found

    def metrics(self) -> list[dict[str, Any]]:
        self._check("metrics.jsonl")
        return Metrics(self.folder).rows()

    def checkpoint(self, step: int | None = None) -> dict[str, Any]:
        """The state at ``step``, by default the last: of a training the weights, as ``"model"``."""
        states = self._states
        steps = states.among(self.record.files)
        if not steps or (step is not None and step not in steps):
            raise StoreError(f"The run in {self.folder} has no checkpoint of step {step}. It has: {steps or 'none'}.")
        chosen = steps[-1] if step is None else step
        for needed in states.read_for(chosen):
            self._check(f"{states.stem}-{needed:08d}.json")  # which knows the checksum of the tensors
        return states.load(chosen)

    def _check(self, name: str) -> None:
        if digest_file(self.folder / name) != self.record.files.get(name):
            path = self.folder / name
            raise DamagedFileError(f"{path} was altered: its checksum is not the one in its record. {remedy(path)}")


def _above(module: str, name: str) -> Any:
    """A function of a package above this one, found when it is used: what a run means is not the store's to know."""
    return getattr(importlib.import_module(module), name)
