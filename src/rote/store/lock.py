"""One writer per run, enforced by the operating system and released by it when the process dies.

Some file systems answer every request for a lock with yes. So the first lock of a process on a file system is asked for
a second time, which must be refused.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from rote.errors import RunLockedError, StoreError
from rote.store.files import open_regular, writing
from rote.store.mounts import mounted_as

FILE = "lock"
EXCLUSIVE = fcntl.LOCK_EX | fcntl.LOCK_NB
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # what a file system without locks answers
_proven: set[int] = set()  # file systems that refused a second lock


@contextlib.contextmanager
def locked(folder: Path, what: str = "The run in", patience: float = 0.1) -> Iterator[None]:
    """Hold the lock of a folder; RunLockedError if another has it for longer than ``patience`` (seconds)."""
    path = folder / FILE
    with writing(path):
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)  # we write our name into it
    try:
        with writing(path):
            ours = _taken(descriptor, patience)
        # The file that was opened may have been removed with its run, and another made, while we waited.
        if not ours or not _is_at(descriptor, path):
            owner = os.read(descriptor, 100).decode(errors="replace").strip() or "another process"
            raise RunLockedError(f"{what} {folder} is being written by {owner}. Wait for it or stop it.")
        with writing(path):
            alone = _excludes(descriptor, path)
        if not alone:
            raise StoreError(without_locks(folder))
        with contextlib.suppress(OSError):  # the name is a courtesy; a full disk must not stop a reader
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Whether a living process writes this run now."""
    try:
        descriptor = open_regular(folder / FILE)
    except (OSError, StoreError):  # none, or no lock of Rote
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def has_locks(path: Path) -> bool:
    """Whether the file system of this file locks it, for one who asks and not for a second."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)  # NFS locks only what may be written
    try:
        fcntl.flock(descriptor, EXCLUSIVE)
        return _excludes(descriptor, path)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    finally:
        os.close(descriptor)


def without_locks(folder: Path) -> str:
    """Why nothing can be written here, and what to do."""
    return (
        f"The file system of {folder}{mounted_as(folder)} does not keep locks, so that two processes could write one "
        "run. Mount it with locks (NFS: without nolock and local_lock, SMB: without nobrl), or set ROTE_HOME (or "
        "--store) to a folder on a disk of this machine."
    )


def _excludes(descriptor: int, path: Path) -> bool:
    """Whether this lock, which we have, is refused to others. Asked once for each file system."""
    device = os.fstat(descriptor).st_dev
    if device not in _proven:
        second = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(second, EXCLUSIVE)
        except BlockingIOError:
            _proven.add(device)
        finally:
            os.close(second)
    return device in _proven


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _taken(descriptor: int, patience: float) -> bool:
    end = time.monotonic() + patience
    while True:  # is_locked() of a listing holds the lock for a moment
        try:
            fcntl.flock(descriptor, EXCLUSIVE)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.02)
