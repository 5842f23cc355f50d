"""A list of all runs in SQLite: a cache made from the folders, brought up to date at each use, rebuilt when lost."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from rote.errors import StoreError
from rote.store.files import reading
from rote.store.lock import is_locked
from rote.store.record import FILE as RECORD
from rote.store.record import Record

FIELDS = (
    "folder",
    "stamp",
    "id",
    "study",
    "part",
    "preset",
    "status",
    "seeds",
    "started",
    "seconds",
    "config",
    "error",
)
LAYOUT = 1
FILE = "index.sqlite"


@dataclass(frozen=True)
class Listed:
    """One line of ``rote runs list``. A run that cannot be read is listed as damaged, with the reason."""

    folder: str
    stamp: str
    id: str
    study: str
    part: str
    preset: str
    status: str
    seeds: int
    started: str
    seconds: float
    config: str
    error: str


def listed(root: Path) -> list[Listed]:
    """Every run below ``root``, newest first; reads only the records that changed since the last call."""
    try:
        return _listed(root, root / FILE)
    except sqlite3.DatabaseError:  # damaged or of another layout: it is only a cache
        with contextlib.suppress(OSError):
            (root / FILE).unlink()
    try:
        return _listed(root, root / FILE)
    except sqlite3.Error:  # a store that may only be read
        return _listed(root, ":memory:")


def differences(root: Path) -> list[str]:
    """The run folders of which the index, had it been used now, would tell something else than their records."""
    with contextlib.closing(sqlite3.connect(f"file:{quote(str(root / FILE))}?mode=ro", uri=True)) as connection:
        if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("its pages are damaged")
        rows = connection.execute(f"SELECT {', '.join(FIELDS)} FROM runs").fetchall()
    present = dict(_stamps(root))
    # Where the stamps differ the entry is read again at the next use: it is old, not wrong.
    used = (row for row in itertools.starmap(Listed, rows) if present.get(row.folder) == row.stamp)
    return [row.folder for row in used if row.status != "damaged" and row != _read(root, row.folder, row.stamp)]


def _listed(root: Path, database: Path | str) -> list[Listed]:
    columns = ", ".join(FIELDS)
    with contextlib.closing(sqlite3.connect(database, timeout=10)) as connection, connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] not in (0, LAYOUT):
            raise sqlite3.DatabaseError("another layout")
        connection.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns}, PRIMARY KEY (folder))")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
        # What could not be read is tried again each time: it may be readable now, its record unchanged.
        known = dict(connection.execute("SELECT folder, CASE status WHEN 'damaged' THEN '' ELSE stamp END FROM runs"))
        present = dict(_stamps(root))
        connection.executemany("DELETE FROM runs WHERE folder = ?", [(name,) for name in known if name not in present])
        changed = [_read(root, folder, stamp) for folder, stamp in present.items() if known.get(folder) != stamp]
        marks = ", ".join(f":{name}" for name in FIELDS)
        connection.executemany(f"INSERT OR REPLACE INTO runs VALUES ({marks})", [asdict(row) for row in changed])
        rows = connection.execute(f"SELECT {columns} FROM runs ORDER BY started DESC, folder").fetchall()
    return [_living(root, Listed(*row)) for row in rows]


def _stamps(root: Path) -> Iterator[tuple[str, str]]:
    """Run folder -> a mark that changes whenever its record is replaced."""
    with reading(root / "runs"), contextlib.suppress(FileNotFoundError):
        for study in os.scandir(root / "runs"):
            if study.is_dir() and _is_text(study.name):
                for run in os.scandir(study):
                    if run.is_dir() and not run.name.startswith(".") and _is_text(run.name):
                        try:
                            seen = os.stat(f"{run.path}/{RECORD}")  # a Path takes longer than the call itself
                            stamp = f"{seen.st_mtime_ns}-{seen.st_size}-{seen.st_ino}"
                        except OSError:
                            stamp = "no record"
                        yield f"runs/{study.name}/{run.name}", stamp


def _is_text(name: str) -> bool:
    """No run has another name, and the index could not hold it."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _read(root: Path, folder: str, stamp: str) -> Listed:
    study, name = folder.split("/")[1:]
    try:
        record = Record.read(root / folder)
    except StoreError as error:
        told = str(error).encode(errors="backslashreplace").decode()  # it has the path, which may be no text
        return Listed(folder, stamp, name, study, "", "", "damaged", 0, "", 0.0, "{}", told)
    request = record.request
    reason = (record.error or "").rsplit("\n", 1)[-1]
    config = json.dumps(request.config, sort_keys=True)
    return Listed(
        folder, stamp, request.id, request.study, request.part, request.preset, record.status, len(request.seeds),
        record.started, record.seconds, config, reason,
    )  # fmt: skip


def _living(root: Path, row: Listed) -> Listed:
    """A record that says "started" is running only while a process holds its lock; else that process was killed."""
    if row.status != "started":
        return row
    return Listed(**{**asdict(row), "status": "running" if is_locked(root / row.folder) else "interrupted"})
