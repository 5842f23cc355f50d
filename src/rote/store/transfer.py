"""Runs of another store: checked against their hashes, copied whole, those that are here already skipped.

A run's id is the hash of what was asked, so a run that both stores have must have the same bytes; where it does not,
nothing is copied. A copy appears under its name only when it is complete and durable: after a kill the same import goes
on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rote.errors import DamagedFileError, NewerVersionError, StoreError
from rote.store.checkpoint import Files
from rote.store.files import check_no_link, digest_file, read_regular, sync_folder, writing
from rote.store.lock import FILE as LOCK
from rote.store.lock import is_locked, locked
from rote.store.record import FILE as RECORD
from rote.store.record import Record
from rote.store.store import Store
from rote.store.verify import ID, LEFTOVER, check_run
from rote.store.weights import contents

Progress = Callable[[int, int], None]
What = Literal["copy", "replace"]  # replace: the run here is not finished, the other one is


@dataclass
class Plan:
    """What an import will do, found out before anything is copied."""

    take: dict[str, What] = field(default_factory=dict)  # folder below the store
    same: list[str] = field(default_factory=list)  # here already
    running: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)  # with the reason
    newer: dict[str, str] = field(default_factory=dict)  # from a later version of Rote, with what it says
    conflicts: dict[str, str] = field(default_factory=dict)  # with the names of the files
    bytes: int = 0


def plan(store: Store, other: Store, progress: Progress = lambda done, total: None) -> Plan:
    """Look at every run of the other store; changes nothing."""
    found = Plan()
    folders = sorted(path for path in (other.root / "runs").glob("*/*") if path.is_dir() and ID.fullmatch(path.name))
    for done, folder in enumerate(folders, start=1):
        _consider(found, folder, store.root / "runs" / folder.parent.name / folder.name)
        progress(done, len(folders))
    return found


def take(store: Store, other: Store, chosen: Plan, progress: Progress = lambda done, total: None) -> int:
    """Copy what the plan says; returns how many runs came. With conflicts nothing is copied at all."""
    if chosen.conflicts:
        names = "; ".join(f"{name} ({files})" for name, files in list(chosen.conflicts.items())[:5])
        raise StoreError(
            f"{len(chosen.conflicts)} runs are in both stores with other bytes: {names}. Nothing was copied. See which "
            "code made them (rote runs show ID) and remove one of each (rote runs rm ID)."
        )
    store.check_writable()
    for done, (name, what) in enumerate(chosen.take.items(), start=1):
        _copy(other.root / name, store.root / name, what)
        progress(done, len(chosen.take))
    return len(chosen.take)


def _consider(found: Plan, theirs: Path, ours: Path) -> None:
    name = f"runs/{theirs.parent.name}/{theirs.name}"
    if is_locked(theirs):
        found.running.append(name)
        return
    try:
        record = Record.read(theirs)
        problems = check_run(theirs, record)
        here = Record.read(ours) if (ours / RECORD).exists() else None
    except NewerVersionError as error:
        found.newer[name] = str(error)
        return
    except StoreError as error:
        found.damaged[name] = str(error)
        return
    for kind, told in (("damaged", found.damaged), ("newer", found.newer)):
        wrong = [f"{file}: {text}" for of, file, text in problems if of == kind]
        if wrong:
            told[name] = wrong[0]
            return
    what: What = "copy"
    if ours.is_dir() and here is None:  # begun here and killed at once
        what = "replace"
    elif here is not None:
        both = here.status == record.status == "finished"
        different = _different(here.files, record.files)
        if both and different:
            with contextlib.suppress(StoreError):  # the same weights may be stored in another form
                different = _different(contents(ours, here.files), contents(theirs, record.files))
        if both and different:
            found.conflicts[name] = ", ".join(different)
            return
        if here.status == "finished" or record.status != "finished":
            found.same.append(name)
            return
        what = "replace"
    found.take[name] = what
    found.bytes += sum(path.lstat().st_size for path in _files(theirs, record))


def _different(ours: Files, theirs: Files) -> list[str]:
    return [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]


def _files(folder: Path, record: Record) -> list[Path]:
    """What makes the run: all that the record of a finished one names, else all but locks and leftovers."""
    if record.status == "finished":
        return [folder / RECORD, *(folder / name for name in record.files)]
    return [
        Path(entry.path)
        for entry in os.scandir(folder)
        if entry.is_file(follow_symlinks=False) and entry.name != LOCK and not LEFTOVER.fullmatch(entry.name)
    ]


def _copy(theirs: Path, ours: Path, what: What) -> None:
    hidden = ours.with_name(f".import-{ours.name}")
    record = Record.read(theirs)
    with writing(ours):
        check_no_link(ours)
        ours.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(hidden, ignore_errors=True)  # of an import that was killed
        hidden.mkdir()
    for path in _files(theirs, record):
        data = read_regular(path)
        with writing(hidden / path.name), (hidden / path.name).open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    for name, checksum in record.files.items():  # as it arrived, not as it was read
        if digest_file(hidden / name) != checksum:
            raise DamagedFileError(f"{theirs / name} changed while it was copied. Give the command again.")
    with writing(ours):
        sync_folder(hidden)
        if what == "replace":
            with locked(ours):
                gone = ours.with_name(f".removed-{ours.name}")
                shutil.rmtree(gone, ignore_errors=True)
                os.rename(ours, gone)
                os.rename(hidden, ours)
            shutil.rmtree(gone)
        else:
            os.rename(hidden, ours)  # fails where one was begun meanwhile
        sync_folder(ours.parent)
