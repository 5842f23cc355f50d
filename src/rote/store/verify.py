"""Whether a store is as its records say: every hash, every name, every reference, and what does not belong there.

Nothing is changed by looking. ``repair`` makes the index again and takes away what killed processes left behind; runs,
damaged ones too, and files that are not Rote's are never removed here.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rote.errors import StoreError
from rote.store.checkpoint import KIND, VERSION, Checkpoints
from rote.store.files import digest_file, read_document
from rote.store.index import FILE as INDEX
from rote.store.index import differences, listed
from rote.store.lock import FILE as LOCK
from rote.store.lock import is_locked
from rote.store.metrics import FILE as METRICS
from rote.store.metrics import Metrics
from rote.store.record import FILE as RECORD
from rote.store.record import Record
from rote.store.run import RESULT
from rote.store.tree import tree_facts

Kind = Literal["damaged", "missing", "index", "leftover", "interrupted", "foreign"]
DAMAGE: tuple[Kind, ...] = ("damaged", "missing")
OWN = {"runs", "engines.json", "machine.json", INDEX, f"{INDEX}-journal", f"{INDEX}-wal", f"{INDEX}-shm"}
ID = re.compile(r"[0-9a-f]{16}")
# What a process leaves that was killed while it wrote a file, removed a run or copied one in.
LEFTOVER = re.compile(r"\..*\.tmp|\.removed-.*|\.import-.*|\.probe-[0-9]+")
CHECKPOINT = re.compile(r"checkpoint-[0-9]{8,}\.(json|safetensors)")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Finding:
    """``damaged`` and ``missing`` are damage; ``index`` and ``leftover`` can be repaired; the rest is only told."""

    kind: Kind
    path: str  # below the store
    told: str

    @property
    def is_damage(self) -> bool:
        return self.kind in DAMAGE


def verify(root: Path, progress: Progress = lambda done, total: None) -> list[Finding]:
    """Everything that is not as it should be, run by run. A run that is being written now is left out."""
    found = [*_around(root), *_index(root)]
    folders = sorted(path for path in (root / "runs").glob("*/*") if path.is_dir() and ID.fullmatch(path.name))
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
        elif finding.kind == "leftover" and not is_locked(path.parent):
            _remove(path)
        else:
            continue
        repaired.append(finding)
    return repaired


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
    wrong += _finished(folder, record) if record.status == "finished" else _unfinished(folder)
    return [*wrong, *_beside(folder, record)]


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
        size = (folder / RECORD).stat().st_size
    except OSError:
        size = 0
    again = "Run its study again to have it computed."
    if not size:
        return None, [("interrupted", ".", f"A process was killed before it had written the run's record. {again}")]
    try:
        record = Record.read(folder)
        wrong = check_run(folder, record)
    except StoreError as error:
        return None, [("damaged", RECORD, _without_path(error, folder))]
    if record.status == "started":
        wrong.append(("interrupted", ".", f"Its process was killed. {again}"))
    return record, wrong


def _finished(folder: Path, record: Record) -> Iterator[tuple[Kind, str, str]]:
    remedy = f"Remove the run (rote runs rm {folder.name}) and run its study again."
    for name, checksum in record.files.items():
        if name != os.path.basename(name):
            yield "damaged", RECORD, f"It names a file outside of its folder: {name!r}. {remedy}"
            continue
        if not (folder / name).is_file():
            yield "damaged", name, f"The file is gone. {remedy}"
            continue
        try:
            if digest_file(folder / name) != checksum:
                yield "damaged", name, f"Its checksum is not the one in its record. {remedy}"
        except StoreError as error:
            yield "damaged", name, _without_path(error, folder)


def _unfinished(folder: Path) -> Iterator[tuple[Kind, str, str]]:
    """What a run will be taken up from: its last checkpoint, and the metrics up to there."""
    checkpoints = Checkpoints(folder)
    for step in checkpoints.steps()[-1:]:
        name = f"checkpoint-{step:08d}"
        try:
            known = read_document(folder / f"{name}.json", KIND, VERSION)["sha256"]
            if digest_file(folder / f"{name}.safetensors") != known:
                raise StoreError("Its checksum is not the one in its JSON.")
            size, checksum = tree_facts(folder / name, KIND, VERSION)["metrics"]
            if not Metrics(folder).holds(size, checksum):
                raise StoreError(f"The first {size} bytes of {METRICS} are not those that it knows.")
        except StoreError as error:
            again = f"Remove the run (rote runs rm {folder.name}) to begin it again."
            yield "damaged", f"{name}.json", f"{_without_path(error, folder)} {again}"


def _beside(folder: Path, record: Record) -> Iterator[tuple[Kind, str, str]]:
    """Files that nobody asked for."""
    known = {RECORD, LOCK, RESULT, METRICS, *record.files}
    whole = {path.stem for path in folder.glob("checkpoint-*.json")}
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if LEFTOVER.fullmatch(entry.name):
            yield "leftover", entry.name, "Left by a process that was killed while writing."
        elif CHECKPOINT.fullmatch(entry.name):
            if entry.name.endswith(".safetensors") and Path(entry.name).stem not in whole:
                yield "leftover", entry.name, "Half of a checkpoint, left by a process that was killed."
            elif record.status == "finished" and entry.name not in record.files:
                yield "foreign", entry.name, "A checkpoint that the run's record does not name."
        elif entry.name not in known:
            yield "foreign", entry.name, "Not a file of Rote."


def _around(root: Path) -> Iterator[Finding]:
    """Outside of run folders: caches that cannot be read, leftovers, and what is not Rote's."""
    for path in [*root.glob("*"), *root.glob("runs/*"), *root.glob("runs/*/*")]:
        depth = len(path.relative_to(root).parts)
        if LEFTOVER.fullmatch(path.name):
            yield Finding("leftover", _below(root, path), "Left by a process that was killed.")
        elif path.is_symlink():
            yield Finding("foreign", _below(root, path), "A link; Rote makes none.")
        elif (
            (depth == 1 and path.name not in OWN)
            or (depth == 2 and not path.is_dir())
            or (depth == 3 and not (path.is_dir() and ID.fullmatch(path.name)))
        ):
            yield Finding("foreign", _below(root, path), "Not a file of Rote.")
    for name, kind in (("engines.json", "rote engines"), ("machine.json", "rote machines")):
        if (root / name).is_file():
            try:
                read_document(root / name, kind, 1)
            except StoreError as error:
                yield Finding("damaged", name, _without_path(error, root))


def _index(root: Path) -> Iterator[Finding]:
    if (root / INDEX).exists():
        try:
            wrong = differences(root)
        except sqlite3.DatabaseError as error:
            yield Finding("index", INDEX, f"It cannot be read ({error}).")
            return
        if wrong:
            more = " ..." if len(wrong) > 3 else ""
            yield Finding("index", INDEX, f"{len(wrong)} entries are not as the records: {', '.join(wrong[:3])}{more}.")


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
