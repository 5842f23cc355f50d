"""A list of all runs in SQLite: a cache made from the folders, brought up to date at each use, rebuilt when lost."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_type_hints
from urllib.parse import quote

from rote.errors import NewerVersionError, StoreError
from rote.store.files import reading
from rote.store.lock import is_locked
from rote.store.record import FILE as RECORD
from rote.store.record import Record

LAYOUT = 2
FILE = "index.sqlite"
FILES = (FILE, f"{FILE}-journal", f"{FILE}-wal", f"{FILE}-shm")  # SQLite keeps the others beside it


@dataclass(frozen=True)
class Listed:
    """One line of ``rote runs list``. A run that cannot be read is listed as damaged, or as newer if a later version of
    Rote wrote it, with the reason."""

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
    label: str  # what tells it from others of its name


FIELDS = tuple(field.name for field in dataclasses.fields(Listed))
TYPES = tuple(get_type_hints(Listed)[name] for name in FIELDS)
TABLE = f"CREATE TABLE runs ({', '.join(FIELDS)}, PRIMARY KEY (folder))"
SCHEMA = {("table", "runs", TABLE), ("index", "sqlite_autoindex_runs_1", None)}
UNREAD = ("damaged", "newer")


class LaterIndexError(sqlite3.OperationalError):
    """A later version of Rote uses this index, and it is left to it."""


def listed(root: Path) -> list[Listed]:
    """Every run below ``root``, newest first; reads only the records that changed since the last call."""
    for _ in range(2):
        try:
            _check_files(root)
            return _listed(root, root / FILE)
        except sqlite3.OperationalError:  # of a later version, not to be written, or in use for too long
            break
        except sqlite3.DatabaseError:  # damaged, foreign or of another layout: it is only a cache
            for name in FILES:
                with contextlib.suppress(OSError):
                    (root / name).unlink()
    return _listed(root, ":memory:")


def differences(root: Path) -> list[str]:
    """The run folders of which the index, had it been used now, would tell something else than their records."""
    _check_files(root)
    with contextlib.closing(sqlite3.connect(f"file:{quote(str(root / FILE))}?mode=ro", uri=True)) as connection:
        _check_schema(connection)
        if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("its pages are damaged")
        rows = _rows(connection)
    present = dict(_stamps(root))
    # Where the stamps differ the entry is read again at the next use: it is old, not wrong.
    used = (row for row in rows if present.get(row.folder) == row.stamp)
    return [row.folder for row in used if row.status not in UNREAD and row != _read(root, row.folder, row.stamp)]


def _listed(root: Path, database: Path | str) -> list[Listed]:
    with contextlib.closing(sqlite3.connect(database, timeout=10)) as connection, connection:
        if _check_schema(connection):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))  # another process may have been faster
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
        # What could not be read is tried again each time: it may be readable now, its record unchanged.
        unread = ", ".join(map(repr, UNREAD))
        known = dict(connection.execute(f"SELECT folder, iif(status IN ({unread}), '', stamp) FROM runs"))
        present = dict(_stamps(root))
        connection.executemany("DELETE FROM runs WHERE folder = ?", [(name,) for name in known if name not in present])
        changed = [_read(root, folder, stamp) for folder, stamp in present.items() if known.get(folder) != stamp]
        marks = ", ".join(f":{name}" for name in FIELDS)
        connection.executemany(f"INSERT OR REPLACE INTO runs VALUES ({marks})", [asdict(row) for row in changed])
        rows = _rows(connection)
    return [_living(root, row) for row in rows]


def _check_files(root: Path) -> None:
    """SQLite would follow a link, out of the store too, and wait at a pipe."""
    for name in FILES:
        with contextlib.suppress(OSError):
            if not stat.S_ISREG(os.lstat(root / name).st_mode):
                raise sqlite3.DatabaseError(f"{name} is not a plain file")


def _check_schema(connection: sqlite3.Connection) -> bool:
    """Whether the index is empty; any other than ours is refused before a view or a trigger in it can run."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > LAYOUT:
        raise LaterIndexError("it was made by a later version of Rote")
    found = set(connection.execute("SELECT type, name, sql FROM sqlite_master"))
    if (version, found) not in ((0, set()), (LAYOUT, SCHEMA)):
        raise sqlite3.DatabaseError("it is of another layout")
    return not found


def _rows(connection: sqlite3.Connection) -> list[Listed]:
    rows = connection.execute(f"SELECT {', '.join(FIELDS)} FROM runs ORDER BY started DESC, folder").fetchall()
    if any(tuple(map(type, row)) != TYPES for row in rows):
        raise sqlite3.DatabaseError("it has values of other types")
    return list(itertools.starmap(Listed, rows))


def _stamps(root: Path) -> Iterator[tuple[str, str]]:
    """Run folder -> a mark that changes whenever its record is replaced."""
    with reading(root / "runs"), contextlib.suppress(FileNotFoundError):
        for study in _folders(f"{root}/runs"):  # a Path takes longer than the calls themselves
            # A link to a run is listed, as damaged; what lies behind a link to a study is not looked at.
            for run in () if os.path.islink(f"{root}/runs/{study}") else _folders(f"{root}/runs/{study}"):
                try:
                    seen = os.stat(f"{root}/runs/{study}/{run}/{RECORD}")
                    stamp = f"{seen.st_mtime_ns}-{seen.st_size}-{seen.st_ino}"
                except OSError:
                    stamp = "no record"
                yield f"runs/{study}/{run}", stamp


def _folders(path: str) -> list[str]:
    with os.scandir(path) as entries:
        return [entry.name for entry in entries if entry.name[0] != "." and _is_text(entry.name) and _is_folder(entry)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and os.path.isdir(entry.path))


def _is_text(name: str) -> bool:
    """No run has another name, and the index could not hold it."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _read(root: Path, folder: str, stamp: str) -> Listed:
    study, name = folder.split("/")[1:]
    try:
        record = Record.read(root / folder)
    except StoreError as error:
        told = str(error).encode(errors="backslashreplace").decode()  # it has the path, which may be no text
        status = "newer" if isinstance(error, NewerVersionError) else "damaged"
        return Listed(folder, stamp, name, study, "", "", status, 0, "", 0.0, "{}", told, "")
    request = record.request
    reason = (record.error or "").rsplit("\n", 1)[-1]
    config = json.dumps(request.config, sort_keys=True)
    return Listed(
        folder, stamp, request.id, request.study, request.part, request.preset, record.status, len(request.seeds),
        record.started, record.seconds, config, reason, request.label,
    )  # fmt: skip


def _living(root: Path, row: Listed) -> Listed:
    """A record that says "started" is running only while a process holds its lock; else that process was killed."""
    if row.status != "started":
        return row
    return Listed(**{**asdict(row), "status": "running" if is_locked(root / row.folder) else "interrupted"})
