"""Files that a task does not make itself: looked for in ``$ROTE_DATA``, then in the cache, then downloaded.

``$ROTE_DATA`` is a folder with the same files in subfolders (``mnist/``, ...), for machines without a network;
``$ROTE_MIRROR`` an address that has such folders, asked before the files' own homes. Whatever its way here, a file is
used only if its checksum is the known one. Which data there are: ``rote.tasks.datasets``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from platformdirs import user_cache_dir

from rote.errors import DamagedFileError, UsageError
from rote.store.files import digest, digest_file
from rote.tasks.compressed import content

SECONDS = 10  # without an answer, after which a download is given up


@dataclass(frozen=True)
class Remote:
    """A file with its canonical home, mirrors of it, and its checksum."""

    folder: str  # below $ROTE_DATA and below the cache
    name: str
    homes: tuple[str, ...]  # addresses that the name is appended to, the canonical one first
    sha256: str  # of its bytes, or of its content
    there: str = ""  # its name at its homes, where that is another
    unpacked: bool = False  # the checksum is that of the content: a packed file will do, also with .gz behind its name

    def addresses(self) -> list[str]:
        """Where it can be had, in the order in which it is asked for."""
        mirror = os.environ.get("ROTE_MIRROR", "").rstrip("/")
        own = [f"{mirror}/{self.folder}/{self.name}"] if mirror else []
        return own + [home + (self.there or self.name) for home in self.homes]

    def checksum(self, path: Path) -> str:
        return digest(content(path)) if self.unpacked else digest_file(path)


class DownloadError(UsageError):
    """A file that could not be had; ``reasons`` says of each address why."""

    def __init__(self, file: Remote, reasons: Sequence[str]) -> None:
        self.reasons = "; ".join(reasons) or "no address is known"
        super().__init__(
            f"Cannot download {file.name} ({self.reasons}). Put it into {cache() / file.folder}, or set ROTE_DATA to "
            f"a folder that has {file.folder}/{file.name}."
        )


def roots() -> list[Path]:
    """The folders that are looked into, in this order."""
    return [Path(root).expanduser() for root in filter(None, (os.environ.get("ROTE_DATA"), str(cache())))]


def found(file: Remote) -> Path | None:
    """Where a file of this name is on this machine; its content is not looked at."""
    names = (file.name, f"{file.name}.gz") if file.unpacked else (file.name,)
    paths = (root / file.folder / name for root in roots() for name in names)
    return next((path for path in paths if path.is_file()), None)


def local(file: Remote) -> Path | None:
    """Where the file already is on this machine; one that is not the right file is refused."""
    path = found(file)
    if path is not None and (checksum := file.checksum(path)) != file.sha256:
        home = next(iter(file.addresses()), "where it is published")
        raise DamagedFileError(
            f"{path} is truncated or altered: {path.stat().st_size} bytes, sha256 {checksum[:12]}..., expected "
            f"{file.sha256[:12]}... Remove it, or put the file from {home} there."
        )
    return path


def fetch(files: Sequence[Remote]) -> list[Path]:
    """Every file, downloaded into the cache where it is not on this machine yet."""
    return [local(file) or _download(file) for file in files]


def cache() -> Path:
    return Path(user_cache_dir("rote"))


def _download(file: Remote) -> Path:
    reasons: list[str] = []
    for address in _reachable(file, reasons):
        path = _retrieved(file, address, reasons)
        if path is not None:
            return path
    raise DownloadError(file, reasons)


def _reachable(file: Remote, reasons: list[str]) -> Iterator[str]:
    """Its addresses, but for those of a host that was just asked in vain."""
    for address in file.addresses():
        host = urlsplit(address).netloc
        if not any(f"//{host}/" in reason and reason.endswith(SILENT) for reason in reasons):
            yield address


SILENT = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ProxyError", "SSLError")


def _retrieved(file: Remote, address: str, reasons: list[str]) -> Path | None:
    import pooch  # type: ignore[import-untyped]
    import requests

    pooch.get_logger().setLevel("WARNING")
    try:
        path = pooch.retrieve(
            address, f"sha256:{file.sha256}", file.name, cache() / file.folder,
            downloader=pooch.HTTPDownloader(timeout=SECONDS),
        )  # fmt: skip
    except (requests.RequestException, ValueError, OSError) as error:  # ValueError: another checksum
        told = "another checksum" if type(error) is ValueError else type(error).__name__
        reasons.append(f"{address}: {told}")
        return None
    return Path(path)
