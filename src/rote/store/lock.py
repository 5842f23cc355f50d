"""One writer per run, enforced by the operating system and released by it when the process dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from rote.errors import RunLockedError
from rote.store.files import writing

FILE = "lock"
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # what a file system without locks answers


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    path = folder / FILE
    with writing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with writing(path):
            ours = _taken(descriptor)
        # The file that was opened may have been removed with its run, and another made, while we waited.
        if not ours or not _is_at(descriptor, path):
            owner = os.read(descriptor, 100).decode(errors="replace").strip() or "another process"
            raise RunLockedError(f"The run in {folder} is being written by {owner}. Wait for it or stop it.")
        with contextlib.suppress(OSError):  # the name is a courtesy; a full disk must not stop a reader
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Whether a living process writes this run now."""
    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def has_locks(path: Path) -> bool:
    """Whether the file system of this file can lock it."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return False
            raise
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _taken(descriptor: int) -> bool:
    for _ in range(5):  # is_locked() of a listing holds the lock for a moment
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0.02)
    return False
