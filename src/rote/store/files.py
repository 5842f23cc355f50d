"""Files that are either as they were or complete: atomic writes, and JSON documents that know when they are damaged.

A document is ``{"kind": ..., "version": ..., "sha256": ..., "body": ...}``. Reading one says in one line whether it is
missing, truncated, altered, foreign or written by a later version; one of an earlier version is read through
``migration``. Nothing here or elsewhere in Rote is unpickled.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import math
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError, NewerVersionError, StoreError
from rote.store.migration import up_to_date

SHARED = {  # documents of a store; what they hold is found again
    "engines.json": "rote engines", "machine.json": "rote machines", "verdicts.json": "rote verdicts",
}  # fmt: skip
BODY, END = b', "body": ', b"}\n"  # around the text of a body that is written on one line
REMADE = {*SHARED, "lock", "index.sqlite"}


def canonical(value: object) -> bytes:
    """One spelling per value: sorted keys, no spaces, no NaN. What ids and checksums are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_file(path: Path) -> str:
    with reading(path), os.fdopen(open_regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_regular(path: Path, flags: int = os.O_RDONLY, *, links: bool = False) -> int:
    """The descriptor of a plain file. A pipe or a device, at which one would wait without end, is refused, and in a
    run's folder, without ``links``, every link: what is read or written there is in the store and nowhere else."""
    if not links and _in_a_run(path):
        check_no_link(path.parent)
        flags |= os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if flags & os.O_NOFOLLOW and error.errno == errno.ELOOP:
            raise DamagedFileError(_linked(path)) from None
        if error.errno == errno.ENXIO:  # a pipe or a socket that nobody reads
            raise DamagedFileError(f"{path} is not a plain file. {remedy(path)}") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DamagedFileError(f"{path} is not a plain file. {remedy(path)}")
    return descriptor


def read_regular(path: Path) -> bytes:
    """The content of a plain file; see ``open_regular``."""
    with reading(path), os.fdopen(open_regular(path), "rb") as file:
        return file.read()


def check_no_link(folder: Path) -> None:
    """Refuse a run's folder ``runs/<study>/<id>`` that is a link, or lies behind one."""
    for place in (folder, folder.parent, folder.parent.parent):
        if os.path.islink(place):
            raise DamagedFileError(_linked(place))


def _linked(path: Path) -> str:
    return f"{path} is a link; Rote makes none inside a store and follows none. Remove the link by hand."


def _in_a_run(path: Path) -> bool:
    return path.parent.parent.parent.name == "runs"


def write_atomically(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write ``data`` so that a reader, a crash or a full disk sees the old file or the new one, never a part.

    Without ``sync`` that holds for a killed process, but a power failure may leave an empty file.
    """
    with writing(path):
        # Not tempfile.mkstemp, whose files only their owner may read: a store may be shared.
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if sync:
            sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and new names in ``folder`` survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(folder: Path) -> None:
    """Make everything durable that was written to the file system of ``folder``: one wait for any number of files."""
    with writing(folder):
        syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if syncfs is None:  # not Linux
            os.sync()
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            if syncfs(descriptor) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            os.close(descriptor)


def write_document(path: Path, kind: str, version: int, body: Any, *, indent: int | None = 1, sync: bool = True) -> str:
    """Returns the checksum of the file, of what was meant to be written and not of what the disk made of it."""
    data = encode_document(kind, version, body, indent=indent)
    write_atomically(path, data, sync=sync)
    return digest(data)


def encode_document(kind: str, version: int, body: Any, *, indent: int | None = 1) -> bytes:
    """The content of the file that ``write_document`` writes."""
    if indent is None:  # long ones have the checksum of their text, which need not be written again to be checked
        text = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        head = json.dumps({"kind": kind, "version": version, "sha256": digest(text)}, ensure_ascii=False).encode()
        return head[:-1] + BODY + text + END
    # The checksum is of what a reader will get: keys that are numbers become texts, and sort as such.
    checksum = digest(canonical(json.loads(json.dumps(body, allow_nan=False))))
    envelope = {"kind": kind, "version": version, "sha256": checksum, "body": body}
    return json.dumps(envelope, indent=indent, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def read_document(path: Path, kind: str, version: int) -> Any:
    return parse_document(read_regular(path), path, kind, version)


def parse_document(data: bytes, path: Path, kind: str, version: int) -> Any:
    """The body of a document that was read from ``path``."""
    if data[:1] == b"\x80" or data[:2] == b"PK":
        raise DamagedFileError(
            f"{path} is not a Rote file but looks like a pickle; Rote never loads pickles. {remedy(path)}"
        )
    try:
        envelope = json.loads(data)
        found_kind, found_version = envelope["kind"], envelope["version"]
        if found_kind == kind and type(found_version) is int and found_version > version:  # whatever else it has
            raise NewerVersionError(
                f"{path} was written by a later version of Rote: it has format {found_version}, and this Rote reads up "
                f"to {version}. Install a newer Rote."
            )
        checksum, body = envelope["sha256"], envelope["body"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFileError(f"{path} is truncated or not a {kind} document ({error}). {remedy(path)}") from None
    if found_kind != kind:
        raise DamagedFileError(f"{path} holds a {found_kind!r} document, expected {kind!r}. {remedy(path)}")
    if type(found_version) is not int or found_version < 1:
        raise DamagedFileError(f"{path} has the impossible format version {found_version!r}. {remedy(path)}")
    if not _intact(data, body, checksum):
        raise DamagedFileError(f"{path} was altered: its checksum does not match its content. {remedy(path)}")
    return up_to_date(body, kind, found_version, version)


def _intact(data: bytes, body: Any, checksum: object) -> bool:
    """Whether the checksum is that of the body, by its text in the file or by its one spelling."""
    text = data.partition(BODY)[2].removesuffix(END)
    try:
        return digest(text) == checksum or digest(canonical(body)) == checksum
    except (ValueError, RecursionError):  # an infinite number, half a character, a thousand brackets: never written
        return False


def finite(value: Any) -> Any:
    """``value`` with NaN and infinities as None, since JSON has neither."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise DamagedFileError(f"{path} is larger than the memory of this machine. {remedy(path)}") from None
    except OSError as error:
        advice = remedy(path) if isinstance(error, FileNotFoundError) else "Check its permissions and the disk."
        raise StoreError(f"Cannot read {path}: {error.strerror or error}. {advice}") from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = (
            "Free some space and start again." if full else "Set ROTE_HOME (or --store) to a folder you may write to."
        )
        raise StoreError(
            f"Cannot write {path}: {error.strerror or error}. What was there is unchanged. {advice}"
        ) from error


def remedy(path: Path) -> str:
    """What to do about a damaged file. Only one in ``runs/<study>/<id>`` stands for a folder that may go as a whole,
    and only what a store finds out again may go alone: any other may be a file that was named by mistake."""
    if path.name in REMADE and not _in_a_run(path):
        return "Remove this file to have it made again."
    if not _in_a_run(path):
        return "Name another file, or bring this one back from a copy."
    return f"Remove the run folder {path.parent} to compute it again; other runs are not affected."
