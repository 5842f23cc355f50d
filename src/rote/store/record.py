"""What happened in a run: typed, versioned, honest. Stored as ``record.json``."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from rote.errors import DamagedFileError
from rote.store.files import canonical, digest, read_document, reading, remedy, write_document

Status = Literal["started", "finished", "failed", "interrupted"]
VERSION = 1
FILE = "record.json"


@functools.cache
def installed() -> dict[str, Any]:
    """Versions of what a result depends on, and the commit of this package (not of the current folder)."""
    names = ("rote", "torch", "numpy", "scipy", "safetensors")
    versions = {}
    for name in names:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    commit, dirty = _commit()
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": versions,
        "commit": commit,
        "dirty": dirty,
    }


def _commit() -> tuple[str | None, bool | None]:
    here = Path(__file__).resolve()

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(here.parent), *words], capture_output=True, text=True, timeout=10, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    if git("ls-files", "--error-unmatch", here.name) is None:  # installed elsewhere, perhaps in another's repository
        return None, None
    changed = git("status", "--porcelain", "--", str(here.parents[1]))
    return git("rev-parse", "HEAD"), None if changed is None else bool(changed)


@dataclass(frozen=True)
class Request:
    """What is asked for. Its id is the hash of all of it, so the same request is never computed twice."""

    study: str
    version: int
    part: str
    config: dict[str, Any]
    seeds: tuple[int, ...]
    preset: str = field(default="", compare=False)  # a label: the resolved config already says everything

    @property
    def id(self) -> str:
        content = [self.study, self.version, self.part, self.config, list(self.seeds)]
        return digest(canonical(content))[:16]

    def __hash__(self) -> int:
        return hash(self.id)

    def to_plain(self) -> dict[str, Any]:
        return {**vars(self), "seeds": list(self.seeds)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Request:
        return cls(**{**plain, "seeds": tuple(plain["seeds"])})


@dataclass(frozen=True)
class Record:
    request: Request
    status: Status
    passed: dict[str, Any]  # overrides as the user gave them
    started: str  # UTC, ISO 8601
    seconds: float = 0.0  # wall time spent, over all resumptions
    resumed: int = 0  # how often it was taken up again
    error: str | None = None
    device: str = ""
    randomness: dict[str, Any] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)  # name -> sha256
    files: dict[str, str] = field(default_factory=dict)  # of a finished run: name -> sha256
    uses: tuple[str, ...] = ()  # ids of the runs that this one was made from
    environment: dict[str, Any] = field(default_factory=installed)
    earlier_environments: tuple[dict[str, Any], ...] = ()  # where it was begun, if taken up again with other versions

    def write(self, folder: Path, *, sync: bool = True) -> None:
        write_document(folder / FILE, "rote run record", VERSION, self.to_plain(), sync=sync)

    @classmethod
    def find(cls, folder: Path) -> Record | None:
        """The record, if one was ever written: an empty file is what a power failure leaves of one not yet synced."""
        path = folder / FILE
        with reading(path):
            blank = not path.exists() or not path.read_bytes().strip(b"\0")
        return None if blank else cls.read(folder)

    @classmethod
    def read(cls, folder: Path) -> Record:
        return cls.from_plain(read_document(folder / FILE, "rote run record", VERSION), folder / FILE)

    def to_plain(self) -> dict[str, Any]:
        lists = {"uses": list(self.uses), "earlier_environments": list(self.earlier_environments)}
        return {**vars(self), **lists, "request": self.request.to_plain()}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], path: Path) -> Record:
        """``path``: the file that it is from, for a message that names it."""
        try:
            request = Request.from_plain(plain.pop("request"))
            tuples = {name: tuple(plain[name]) for name in ("uses", "earlier_environments")}
            record = cls(**{**plain, **tuples, "request": request})
        except (TypeError, KeyError, AttributeError) as error:
            raise DamagedFileError(f"{path} has the wrong fields: {error}. {remedy(path)}") from None
        if record.status not in get_args(Status):
            raise DamagedFileError(f"{path} has the unknown status {record.status!r}. {remedy(path)}")
        return record
