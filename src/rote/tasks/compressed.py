"""Data files, compressed or not: plain files only, and none that would fill the memory when it is unpacked.

A gzip file may hold a thousand times its own size. Text and pictures do not: what expands to more than ``TIMES`` its
size, and to more than ``ALWAYS``, was made to do harm, and is refused when it gets there.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from rote.errors import DamagedFileError
from rote.store.files import open_regular

TIMES, ALWAYS = 100, 2**26
PIECE = 2**22  # bytes that are read at once
UNPACK: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ": lzma.LZMAFile,
}  # by what a file begins with
BROKEN = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)  # what the packages say of a damaged file


class Bounded(io.RawIOBase):
    """What a compressed file holds, up to a limit; more is an error."""

    def __init__(self, file: IO[bytes], path: Path, limit: int) -> None:
        self.file, self.path, self.limit, self.left = file, path, limit, limit

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(PIECE), b""))
        data = self.file.read(min(size, self.left + 1))
        self.left -= len(data)
        if self.left < 0:
            raise DamagedFileError(
                f"{self.path} expands to more than {self.limit} bytes, {TIMES} times its size. Unpack it yourself if "
                "that is meant."
            )
        return data


@contextlib.contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The content of a file: as it is, or unpacked where it is gzip or xz. OSError where there is none."""
    with os.fdopen(open_regular(path, links=True), "rb") as file:
        start, size = file.read(6), os.fstat(file.fileno()).st_size
        file.seek(0)
        unpack = next((unpack for mark, unpack in UNPACK.items() if start.startswith(mark)), None)
        if unpack is None:
            yield file
            return
        try:
            with unpack(file) as unpacked:
                yield Bounded(unpacked, path, max(ALWAYS, TIMES * size))  # type: ignore[misc]
        except BROKEN as error:
            raise DamagedFileError(f"{path} is truncated or damaged: {error}. Get it again.") from None


def content(path: Path) -> bytes:
    with opened(path) as file:
        return file.read()
