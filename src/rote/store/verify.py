"""Whether a store is as its records say: every hash, every name, every reference, and what does not belong there.

Nothing is changed by looking. ``repair`` makes the index again and takes away what killed processes left behind; runs,
damaged ones too, and files that are not Rote's are never removed here.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rote.errors import NewerVersionError, StoreError
from rote.store.checkpoint import NAME as STATE
from rote.store.checkpoint import Checkpoints
from rote.store.files import SHARED, digest_file, read_document
from rote.store.index import FILE as INDEX
from rote.store.index import LaterIndexError, differences, listed
from rote.store.lock import FILE as LOCK
from rote.store.lock import is_locked, locked
from rote.store.metrics import FILE as METRICS
from rote.store.metrics import Metrics
from rote.store.record import FILE as RECORD
from rote.store.record import Record
from rote.store.run import KIND as RESULT_KIND
from rote.store.run import RESULT
from rote.store.run import VERSION as RESULT_VERSION
from rote.store.weights import states_of, stray_weights, superseded

Kind = Literal["damaged", "missing", "newer", "index", "leftover", "interrupted", "foreign"]
DAMAGE: tuple[Kind, ...] = ("damaged", "missing")
OWN = {"runs", LOCK, *SHARED, INDEX, f"{INDEX}-journal", f"{INDEX}-wal", f"{INDEX}-shm"}
ID = re.compile(r"[0-9a-f]{16}")
# What a process leaves that was killed while it wrote a file, removed a run or copied one in.
LEFTOVER = re.compile(r"\..*\.tmp|\.removed-.*|\.import-.*|\.probe-[0-9]+")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Finding:
    """``damaged`` and ``missing`` are damage; ``newer`` is from a later version of Rote, so that this one cannot check
    it; ``index`` and ``leftover`` can be repaired; the rest is only told."""

    kind: Kind
    path: str  # below the store
    told: str

    @property
    def is_damage(self) -> bool:
        return self.kind in DAMAGE


def verify(root: Path, progress: Progress = lambda done, total: None) -> list[Finding]:
    """Everything that is not as it should be, run by run. A run that is being written now is left out."""
    found = [*_around(root), *_index(root)]
    folders = sorted(path for path in (root / "runs").glob("*/*") if _is_run(path))
    uses: dict[Path, tuple[str, ...]] = {}
    for done, folder in enumerate(folders, start=1):
        record, problems = _settled(root, folder)
        found += problems
        if record is not None and record.status == "finished":
            uses[folder] = record.uses
        progress(done, len(folders))
    present = {folder.name for folder in folders}
    for folder, ids in uses.items():
        gone = [name for name in ids if name not in present]
        if gone:
            named = ", ".join(gone[:3]) + (" ..." if len(gone) > 3 else "")
            told = (
                f"It was made from {len(gone)} runs that are not in this store: {named}. Import them, or remove it "
                f"(rote runs rm {folder.name}) and run its study again."
            )
            found.append(Finding("missing", _below(root, folder), told))
    return found


def repair(root: Path, findings: Sequence[Finding]) -> list[Finding]:
    """Rebuild the index and remove leftovers; returns what was repaired."""
    repaired = []
    for finding in findings:
        path = root / finding.path
        if finding.kind == "index":
            _remove(path)
            listed(root)
        elif finding.kind != "leftover" or not _remove_leftover(path):
            continue
        repaired.append(finding)
    return repaired


def _remove_leftover(path: Path) -> bool:
    """Whether it was removed. A checkpoint is looked at again first, with the lock: its run may have gone on meanwhile,
    and need it."""
    if not _is_run(path.parent) or not STATE.fullmatch(path.name):
        if is_locked(path.parent):
            return False
        _remove(path)
        return True
    with contextlib.suppress(StoreError), locked(path.parent):
        left = {name for kind, name, _ in _beside(path.parent, Record.read(path.parent)) if kind == "leftover"}
        if path.name in left:
            _remove(path)
            return True
    return False


def _is_run(path: Path) -> bool:
    links = path.is_symlink() or path.parent.is_symlink()  # which are told of themselves
    return path.is_dir() and not links and ID.fullmatch(path.name) is not None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def check_run(folder: Path, record: Record) -> list[tuple[Kind, str, str]]:
    """Kind, file and text of everything wrong in one run's folder."""
    wrong: list[tuple[Kind, str, str]] = []
    if record.request.id != folder.name or record.request.study != folder.parent.name:
        told = f"This is the run {record.request.study}/{record.request.id}, in a wrong place. Move it there."
        wrong.append(("damaged", RECORD, told))
    if record.status == "finished":
        wrong += _altered(folder, record.files)
    named = {name for _, name, _ in wrong}
    return [*wrong, *(one for one in _contradictory(folder, record) if one[1] not in named), *_beside(folder, record)]


def _settled(root: Path, folder: Path) -> tuple[Record | None, list[Finding]]:
    """Of one run; looked at again where it changed meanwhile."""
    for _ in range(3):
        if is_locked(folder):
            return None, []
        before = _stamp(folder)
        record, wrong = _looked_at(folder)
        if before == _stamp(folder) and not is_locked(folder):
            return record, [Finding(kind, _below(root, folder / name), told) for kind, name, told in wrong]
    return None, []


def _looked_at(folder: Path) -> tuple[Record | None, list[tuple[Kind, str, str]]]:
    try:
        seen = (folder / RECORD).lstat()
        size = seen.st_size if stat.S_ISREG(seen.st_mode) else None  # a pipe has none either, and is no record
    except OSError:
        size = 0
    again = "Run its study again to have it computed."
    if size == 0:
        return None, [("interrupted", ".", f"A process was killed before it had written the run's record. {again}")]
    try:
        record = Record.read(folder)
        wrong = check_run(folder, record)
    except StoreError as error:
        return None, [(_kind(error), RECORD, _without_path(error, folder))]
    if record.status == "started":
        wrong.append(("interrupted", ".", f"Its process was killed. {again}"))
    return record, wrong


def _altered(folder: Path, files: Mapping[str, str]) -> Iterator[tuple[Kind, str, str]]:
    """Files of a finished run that are not as its record says."""
    for name, checksum in files.items():
        if not (folder / name).is_file():
            yield "damaged", name, f"The file is gone. {_remedy(folder)}"
            continue
        try:
            if digest_file(folder / name) != checksum:
                yield "damaged", name, f"Its checksum is not the one in its record. {_remedy(folder)}"
        except StoreError as error:
            yield _kind(error), name, _without_path(error, folder)


def _contradictory(folder: Path, record: Record) -> Iterator[tuple[Kind, str, str]]:
    """Files that are not as they were written, by their own checksums and by those that the checkpoints have."""
    finished = record.status == "finished"
    states = states_of(folder, record.files) if finished else Checkpoints(folder)
    if RESULT in record.files:
        try:
            read_document(folder / RESULT, RESULT_KIND, RESULT_VERSION)
        except StoreError as error:
            yield _kind(error), RESULT, _without_path(error, folder)
    files = record.files if finished else states.as_they_are()
    for name, problem in states.contradictions(files):
        yield _kind(problem), name, _without_path(problem, folder)
    for step in states.among(files)[-1:]:
        with contextlib.suppress(StoreError):  # which was told above
            size, checksum = states.metrics(step)
            if not Metrics(folder).holds(size, checksum):
                told = f"Its first {size} bytes are not those that the checkpoint of step {step} knows."
                yield "damaged", METRICS, f"{told} {_remedy(folder)}"


def _remedy(folder: Path) -> str:
    return f"Remove the run (rote runs rm {folder.name}) and run its study again."


def _beside(folder: Path, record: Record) -> Iterator[tuple[Kind, str, str]]:
    """Files that nobody asked for."""
    named = record.files if record.status == "finished" else {}
    known = {RECORD, LOCK, RESULT, METRICS, *named}
    whole = {path.stem for path in folder.glob("checkpoint-*.json")}
    unread = {path.name for path in superseded(folder, named)}
    stray = {path.name for path in stray_weights(folder, named)}
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name in known:
            continue
        if LEFTOVER.fullmatch(entry.name):
            yield "leftover", entry.name, "Left by a process that was killed while writing."
        elif entry.name in unread:
            yield "leftover", entry.name, "A checkpoint of a finished run, which keeps its weights instead."
        elif entry.name in stray:
            yield "leftover", entry.name, "Weights that no record names, left by a process that was killed."
        elif STATE.fullmatch(entry.name):
            if entry.name.endswith(".safetensors") and Path(entry.name).stem not in whole:
                yield "leftover", entry.name, "Half of a checkpoint, left by a process that was killed."
            elif record.status == "finished":
                yield "foreign", entry.name, "A checkpoint that the run's record does not name."
        else:
            yield "foreign", entry.name, "Not a file of Rote."


def _around(root: Path) -> Iterator[Finding]:
    """Outside of run folders: caches that cannot be read, leftovers, and what is not Rote's."""
    for path in [*root.glob("*"), *root.glob("runs/*"), *root.glob("runs/*/*")]:
        depth = len(path.relative_to(root).parts)
        if LEFTOVER.fullmatch(path.name):
            yield Finding("leftover", _below(root, path), "Left by a process that was killed.")
        elif path.is_symlink():
            where: Kind = "damaged" if path.relative_to(root).parts[0] == "runs" else "foreign"
            yield Finding(where, _below(root, path), "A link; Rote makes none and follows none. Remove it by hand.")
        elif (
            (depth == 1 and path.name not in OWN)
            or (depth == 2 and not path.is_dir())
            or (depth == 3 and not (path.is_dir() and ID.fullmatch(path.name)))
        ):
            yield Finding("foreign", _below(root, path), "Not a file of Rote.")
    for name, kind in SHARED.items():
        if (root / name).is_file():
            try:
                read_document(root / name, kind, 1)
            except StoreError as error:
                yield Finding(_kind(error), name, _without_path(error, root))


def _index(root: Path) -> Iterator[Finding]:
    if (root / INDEX).exists():
        try:
            wrong = differences(root)
        except LaterIndexError:
            yield Finding(
                "newer", INDEX, "A later version of Rote made it and uses it. This one lists runs without it."
            )
            return
        except sqlite3.DatabaseError as error:
            yield Finding("index", INDEX, f"It cannot be read ({error}).")
            return
        if wrong:
            more = " ..." if len(wrong) > 3 else ""
            yield Finding("index", INDEX, f"{len(wrong)} entries are not as the records: {', '.join(wrong[:3])}{more}.")


def _kind(error: StoreError) -> Kind:
    return "newer" if isinstance(error, NewerVersionError) else "damaged"


def _stamp(folder: Path) -> tuple[int, int] | None:
    try:
        seen = (folder / RECORD).stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size


def _below(root: Path, path: Path) -> str:
    return os.path.normpath(path.relative_to(root))


def _without_path(error: StoreError, folder: Path) -> str:
    return str(error).replace(f"{folder}/", "")
