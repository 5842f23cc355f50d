"""Finished runs that keep their whole checkpoints, of version 0.1 or because a process was killed: what only resuming
needs is taken out of them.

In the order in which a run finishes: the weights, the record that names them, and then the checkpoints go. After a kill
at any moment the run is finished and intact, and slimming it again goes on.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from rote.errors import DamagedFileError, NewerVersionError, StoreError
from rote.store.checkpoint import Checkpoints, Files
from rote.store.files import check_no_link, digest, write_atomically
from rote.store.lock import locked
from rote.store.record import Record
from rote.store.store import remove_leftovers
from rote.store.verify import check_run
from rote.store.weights import encode_weights, remove_superseded, steps_to_slim, superseded


def slim(folder: Path, *, dry_run: bool = False) -> int:
    """The bytes that are freed in the folder of a finished run, 0 if it has nothing to spare.

    A run that may still be resumed and one that is damaged or of a later version raise a StoreError and stay as they
    are. ``dry_run`` writes nothing.
    """
    check_no_link(folder)
    with contextlib.nullcontext() if dry_run else locked(folder):
        record = Record.read(folder)
        if record.status != "finished":
            raise StoreError(f"The run in {folder} is {record.status} and keeps everything, to be resumed from.")
        _check_intact(folder, record)
        if not dry_run:
            remove_leftovers(folder)
        files, size = slimmed(folder, record.files, write=not dry_run)
        freed = sum(path.lstat().st_size for path in superseded(folder, files)) - size
        if not dry_run:
            if files != record.files:
                replace(record, files=files).write(folder)
            remove_superseded(folder, files)
    return freed


def slimmed(folder: Path, files: Files, *, write: bool = False) -> tuple[Files, int]:
    """The files of a finished run when it is slim, and the size of the weights among them that are new."""
    steps, size = steps_to_slim(folder, files), 0
    if not steps:
        return files, size
    checkpoints = {f"{Checkpoints.stem}-{step:08d}.{suffix}" for step in steps for suffix in ("json", "safetensors")}
    stay = {name: checksum for name, checksum in files.items() if name not in checkpoints}
    for name, data in encode_weights(folder, steps):
        if write:
            write_atomically(folder / name, data)
        stay[name] = digest(data)
        size += len(data)
    return stay, size


def _check_intact(folder: Path, record: Record) -> None:
    for kind, name, told in check_run(folder, record):
        if kind in ("damaged", "newer"):
            error = DamagedFileError if kind == "damaged" else NewerVersionError
            raise error(f"{folder / name}: {told}")
