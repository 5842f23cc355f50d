"""Plain texts of the alphabet of text8: text8 itself, a user's own file, or a small one that comes with the package.

text8 (http://mattmahoney.net/dc/textdata.html, the first 10^8 characters of a cleaned Wikipedia of 2006, CC BY-SA) is
looked for in ``$ROTE_DATA/text8`` and in the cache, whole or as one of two prefixes, and otherwise downloaded. Which of
them is used does not matter to a run: a prefix of n characters is the same in all of them.
"""

from __future__ import annotations

import contextlib
import lzma
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO

from rote.errors import DamagedFileError, UsageError
from rote.store.files import digest
from rote.tasks.alphabet import Outside, clean
from rote.tasks.compressed import PIECE, opened
from rote.tasks.downloads import Remote, fetch, local, roots

WHOLE = 100_000_000
ZIP = Remote(
    "text8", "text8.zip", ("http://mattmahoney.net/dc/", "https://data.deepai.org/"),
    "a6640522afe85d1963ad56c05b0ede0a0c000dddc9671758a6cc09b7a38e5232",
)  # fmt: skip


@dataclass(frozen=True)
class Prefix:
    """The beginning of text8, compressed; the checksum is that of the content."""

    name: str
    characters: int
    sha256: str


PREFIXES = (
    Prefix("text8.first10000000.gz", 10_000_000, "e5bc9580d197612032534e743716f44813367eaabd73165f4691b7a9d3490eb0"),
    Prefix("text8.first74000000.xz", 74_000_000, "03c7c393562518c05771ac9fa66ccc1990574158768951ff7b20903014336ae8"),
)


@dataclass(frozen=True)
class Text:
    """A clean text: words of letters from a to z between single spaces."""

    content: bytes
    origin: str  # which file it was read from
    sha256: str  # of the content
    note: str = ""  # what every table made from it must say


def available(characters: int | None = None) -> bool:
    """Whether so much of text8 is on this machine, without a look at the network."""
    return _prefix(characters or WHOLE) is not None or local(ZIP) is not None


def load_text(text: str, characters: int | None = None, outside: Outside = "warn") -> Text:
    """``text``: "text8", "bundled", or the path of a plain text file, which is cleaned by the rules of text8."""
    if text == "text8":
        return _text8(characters)
    if text == "bundled":
        return _bundled(characters)
    return _own(Path(text).expanduser(), characters, outside)


def _text8(characters: int | None) -> Text:
    wanted = WHOLE if characters is None else characters
    if wanted > WHOLE:
        raise UsageError(f"text8 has {WHOLE} characters. Got characters={characters}: take fewer, or a file of yours.")
    found = _prefix(wanted)
    if found is not None:
        path, prefix = found
        return _made(_read_prefix(path, prefix)[:wanted], f"{path.name} ({prefix.characters} characters of text8)")
    try:
        (path,) = fetch([ZIP])
    except UsageError as error:
        known = [prefix.characters for prefix in PREFIXES if _prefix(prefix.characters)]
        advice = f" Or take the {max(known)} characters that are here: characters={max(known)}." if known else ""
        raise UsageError(f"{error}{advice}") from None
    with _unpacking(path), zipfile.ZipFile(path) as archive, archive.open("text8") as file:
        return _made(file.read(wanted), path.name)


def _prefix(characters: int) -> tuple[Path, Prefix] | None:
    """The smallest prefix on this machine that has so many characters."""
    for prefix in PREFIXES:
        for root in roots():
            path = root / "text8" / prefix.name
            if characters <= prefix.characters and path.is_file():
                return path, prefix
    return None


def _read_prefix(path: Path, prefix: Prefix) -> bytes:
    with _unpacking(path), opened(path) as file:
        content = file.read(prefix.characters + 1)
    if digest(content) != prefix.sha256:
        raise DamagedFileError(f"{path} is not the beginning of text8: another checksum. Remove it, or get it again.")
    return content


def _own(path: Path, characters: int | None, outside: Outside) -> Text:
    if not path.is_file():
        raise UsageError(f"'text' must be 'text8', 'bundled' or a text file. There is no file {str(path)!r}.")
    made = bytearray()
    with _unpacking(path), opened(path) as file:
        for piece in clean(_checked(file, path, outside)):
            made += piece
            if characters is not None and len(made) >= characters:
                break
    content = bytes(made[:characters]).rstrip()
    if not content:
        raise UsageError(
            f"{path} has no letters: nothing is left of it after cleaning. Give a file with English words."
        )
    if characters is not None and len(content) < characters - 1:
        raise UsageError(f"{path} has {len(content)} characters after cleaning. Got characters={characters}.")
    return _made(content, path.name)


def _checked(file: IO[bytes], path: Path, outside: Outside) -> Iterator[bytes]:
    """The file's bytes. By the rules of text8 what is not ASCII becomes a space: said once, or refused."""
    said = False
    while piece := file.read(PIECE):
        if not said and not piece.isascii():
            said = True
            place = next(index for index, byte in enumerate(piece) if byte > 127)
            shown = piece[place : place + 4].decode("utf-8", "ignore")[:1] or f"byte {piece[place]}"
            say = f"{path} has characters that are not ASCII, such as {shown!r}"
            if outside == "refuse":
                raise UsageError(f"{say}. Rewrite them, or have each read as a space with outside=warn.")
            warnings.warn(f"{say}: each is read as a space.", stacklevel=2)
        yield piece


def _bundled(characters: int | None) -> Text:
    folder = resources.files("rote").joinpath("data", "texts")
    content = lzma.decompress(folder.joinpath("bundled.txt.xz").read_bytes())  # our own
    if characters is not None and characters > len(content):
        raise UsageError(f"The bundled text has {len(content)} characters. Got characters={characters}.")
    return _made(content[:characters], "bundled text", folder.joinpath("bundled.md").read_text("utf-8").split("\n")[0])


def _made(content: bytes, origin: str, note: str = "") -> Text:
    content = content.strip()
    return Text(content, origin, digest(content), note)


@contextlib.contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    """One line for whatever a compressed file may do."""
    try:
        yield
    except (OSError, zlib.error, zipfile.BadZipFile, KeyError) as error:
        raise DamagedFileError(f"{path} is truncated or damaged: {error}. Get it again.") from None
