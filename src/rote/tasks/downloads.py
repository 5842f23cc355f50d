"""Files that a task does not make itself: looked for in ``$ROTE_DATA``, then in the cache, then downloaded.

``$ROTE_DATA`` is a folder with the same files in subfolders (``mnist/``, ...), for machines without a network. Whatever
its way here, a file is used only if its checksum is the known one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rote.errors import DamagedFileError, UsageError
from rote.store.files import digest_file

SECONDS = 10  # without an answer, after which a download is given up


@dataclass(frozen=True)
class Remote:
    """A file with its canonical home, mirrors of it, and the checksum of its bytes."""

    folder: str  # below $ROTE_DATA and below the cache
    name: str
    homes: tuple[str, ...]  # addresses that the name is appended to, the canonical one first
    sha256: str


def local(file: Remote) -> Path | None:
    """Where the file already is on this machine; one that is not the right file is refused."""
    for root in filter(None, (os.environ.get("ROTE_DATA"), str(cache()))):
        path = Path(root).expanduser() / file.folder / file.name
        if path.is_file():
            found = digest_file(path)
            if found != file.sha256:
                raise DamagedFileError(
                    f"{path} is truncated or altered: {path.stat().st_size} bytes, sha256 {found[:12]}..., expected "
                    f"{file.sha256[:12]}... Remove it, or put the file from {file.homes[0]}{file.name} there."
                )
            return path
    return None


def fetch(files: Sequence[Remote]) -> list[Path]:
    """Every file, downloaded into the cache where it is not on this machine yet."""
    return [local(file) or _download(file) for file in files]


def cache() -> Path:
    import pooch  # type: ignore[import-untyped]

    return Path(pooch.os_cache("rote"))


def _download(file: Remote) -> Path:
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    reasons = []
    for home in file.homes:
        try:
            path = pooch.retrieve(
                home + file.name, f"sha256:{file.sha256}", file.name, cache() / file.folder,
                downloader=pooch.HTTPDownloader(timeout=SECONDS),
            )  # fmt: skip
            return Path(path)
        except (requests.RequestException, ValueError, OSError) as error:  # ValueError: another checksum
            reasons.append(f"{home}: {type(error).__name__}")
    raise UsageError(
        f"Cannot download {file.name} ({'; '.join(reasons)}). Put it into {cache() / file.folder}, or set ROTE_DATA to "
        f"a folder that has {file.folder}/{file.name}."
    )
