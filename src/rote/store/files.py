"""Files that are either as they were or complete: atomic writes, and JSON documents that know when they are damaged.

A document is ``{"kind": ..., "version": ..., "sha256": ..., "body": ...}``. Reading one says in one line whether it is
missing, truncated, altered, foreign or written by a later version. Nothing here or elsewhere in Rote is unpickled.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError, NewerVersionError, StoreError


def canonical(value: object) -> bytes:
    """One spelling per value: sorted keys, no spaces, no NaN. What ids and checksums are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_file(path: Path) -> str:
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def write_document(
    path: Path, kind: str, version: int, body: Any, *, indent: int | None = 1, sync: bool = True
) -> None:
    # The checksum is of what a reader will get: keys that are numbers become texts, and sort as such.
    checksum = digest(canonical(json.loads(json.dumps(body, allow_nan=False))))
    envelope = {"kind": kind, "version": version, "sha256": checksum, "body": body}
    data = json.dumps(envelope, indent=indent, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    write_atomically(path, data, sync=sync)


def read_document(path: Path, kind: str, version: int) -> Any:
    with reading(path):
        data = path.read_bytes()
    if data[:1] == b"\x80" or data[:2] == b"PK":
        raise DamagedFileError(
            f"{path} is not a Rote file but looks like a pickle; Rote never loads pickles. {remedy(path)}"
        )
    try:
        envelope = json.loads(data)
        found_kind, found_version, checksum, body = (envelope[key] for key in ("kind", "version", "sha256", "body"))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFileError(f"{path} is truncated or not a {kind} document ({error}). {remedy(path)}") from None
    if found_kind != kind:
        raise DamagedFileError(f"{path} holds a {found_kind!r} document, expected {kind!r}. {remedy(path)}")
    if type(found_version) is not int or found_version < 1:
        raise DamagedFileError(f"{path} has the impossible format version {found_version!r}. {remedy(path)}")
    if found_version > version:
        raise NewerVersionError(
            f"{path} has format version {found_version!r}; this Rote reads up to {version}. Install a newer Rote."
        )
    try:
        intact = digest(canonical(body)) == checksum
    except ValueError:  # an infinite number or half a character, which were never written
        intact = False
    if not intact:
        raise DamagedFileError(f"{path} was altered: its checksum does not match its content. {remedy(path)}")
    return body


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
    """What to do about a damaged file. Only one in ``runs/<study>/<id>`` stands for a folder that may go as a whole."""
    if path.parent.parent.parent.name != "runs":
        return "Remove this file to have it made again."
    return f"Remove the run folder {path.parent} to compute it again; other runs are not affected."
