"""A run as bytes, for a machine that does not see the store's folder."""

from __future__ import annotations

import json
from pathlib import Path

from rote.errors import DamagedFileError
from rote.store import lock, record
from rote.store.files import digest, reading, sync_folder, write_atomically, writing
from rote.store.lock import locked
from rote.store.record import Request
from rote.store.store import Store

Files = dict[str, bytes]


def pack(folder: Path) -> Files:
    """Every file of a run but its lock; none if it is not there."""
    if not folder.is_dir():
        return {}
    with reading(folder):
        paths = [path for path in folder.iterdir() if not path.name.startswith(".") and path.name != lock.FILE]
        return {path.name: path.read_bytes() for path in sorted(paths)}


def unpack(store: Store, request: Request, files: Files) -> None:
    """Put a run into the store, its record last: until then it is not finished. A finished one is left as it is."""
    folder = store.folder(request)
    if any(Path(name).name != name or name.startswith(".") for name in files):
        raise DamagedFileError(f"The files that were sent for the run {request.id} have impossible names: {[*files]}.")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
    with locked(folder):
        if store.finished(request) is not None:
            return
        for name, checksum in _promised(files).items():
            if digest(files.get(name, b"")) != checksum:
                raise DamagedFileError(f"The file {name} of the run {request.id} was altered on its way here.")
        for name in sorted(files, key=lambda name: name == record.FILE):
            write_atomically(folder / name, files[name])
        for path in folder.iterdir():  # of an earlier state of the run
            if path.name not in files and path.name != lock.FILE:
                path.unlink()


def _promised(files: Files) -> dict[str, str]:
    """What the record says of the other files: name -> sha256."""
    try:
        promised: dict[str, str] = json.loads(files[record.FILE])["body"]["files"]
    except (KeyError, ValueError, TypeError) as error:
        raise DamagedFileError(f"A run was sent without a record that can be read ({error}).") from None
    return promised
