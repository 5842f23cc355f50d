"""A run as bytes, for a machine that does not see the store's folder."""

from __future__ import annotations

from pathlib import Path

from rote.errors import DamagedFileError
from rote.store import lock, record
from rote.store.files import (
    check_no_link,
    digest,
    read_regular,
    reading,
    sync_folder,
    write_atomically,
    writing,
)
from rote.store.lock import locked
from rote.store.names import is_file_name
from rote.store.record import Record, Request
from rote.store.store import Store
from rote.store.typed import check

Files = dict[str, bytes]


def pack(folder: Path) -> Files:
    """Every file of a run but its lock; none if it is not there."""
    if not folder.is_dir():
        return {}
    check_no_link(folder)
    with reading(folder):
        names = sorted(path.name for path in folder.iterdir())
    return {name: read_regular(folder / name) for name in names if not name.startswith(".") and name != lock.FILE}


def unpack(store: Store, request: Request, files: Files) -> None:
    """Put a run into the store, its record last: until then it is not finished. A finished one is left as it is."""
    folder = store.folder(request)
    if not all(map(is_file_name, files)):
        raise DamagedFileError(f"The files that were sent for the run {request.id} have impossible names: {[*files]}.")
    promised = _promised(request, files)
    check(Request, request.to_plain(), f"A run of the study {request.study!r}")
    check_no_link(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
    with locked(folder):
        if store.finished(request) is not None:
            return
        for name, checksum in promised.items():
            if digest(files.get(name, b"")) != checksum:
                raise DamagedFileError(f"The file {name} of the run {request.id} was altered on its way here.")
        for name in sorted(files, key=lambda name: name == record.FILE):
            write_atomically(folder / name, files[name])
        for path in folder.iterdir():  # of an earlier state of the run
            if path.name not in files and path.name != lock.FILE:
                path.unlink()


def _promised(request: Request, files: Files) -> dict[str, str]:
    """What the record says of the other files: name -> sha256."""
    if record.FILE not in files:
        raise DamagedFileError(f"The run {request.id} was sent without a record.")
    sent = Record.parse(files[record.FILE], Path(record.FILE))
    if sent.request != request:
        raise DamagedFileError(f"The run {request.id} was asked for, and {sent.request.id} was sent.")
    return sent.files
