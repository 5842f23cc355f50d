"""What happened in a run: typed, versioned, honest. Stored as ``record.json``."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
import subprocess
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypedDict

from rote.errors import StoreError
from rote.store.files import canonical, digest, parse_document, read_regular, write_document
from rote.store.typed import MAY_BE_ABSENT, Amount, Count, Digest, FileName, Label, Moment, RunId, check, from_json

Status = Literal["started", "finished", "failed", "interrupted"]
KIND, VERSION = "rote run record", 1
FILE = "record.json"
BUILT_FROM = "built_from.json"  # in an installed package


class Environment(TypedDict, total=False):
    """Where a run was computed; later versions may say more."""

    python: str
    platform: str
    packages: dict[str, str]
    commit: str | None
    dirty: bool | None  # whether files of the package differ from the commit


@functools.cache
def installed() -> Environment:
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
                ["git", "--no-optional-locks", "-C", str(here.parent), *words],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    if git("ls-files", "--error-unmatch", here.name) is None:  # installed elsewhere, perhaps in another's repository
        return _built_from(here.parents[1] / BUILT_FROM)
    changed = git("status", "--porcelain", "--", str(here.parents[1]))
    return git("rev-parse", "HEAD"), None if changed is None else bool(changed)


def _built_from(note: Path) -> tuple[str | None, bool | None]:
    """What a wheel says of the checkout that it was built from (``hatch_build.py``)."""
    try:
        found = json.loads(note.read_bytes())
        return found["commit"], found["dirty"]
    except (OSError, ValueError, KeyError, TypeError):
        return None, None


@dataclass(frozen=True)
class Request:
    """What is asked for. Its id is the hash of all of it, so the same request is never computed twice.

    ``part`` is "training" (of the recipe that ``study`` names), "measurement" (of that name), or "study".
    """

    study: FileName  # also of its folder
    version: Count
    part: Label
    config: dict[str, Any]
    seeds: tuple[int, ...]
    preset: Label = field(default="", compare=False)  # a label: the resolved config already says everything
    # From outside the package: module -> sha256 of its text.
    code: dict[str, Digest] = field(default_factory=dict, metadata=MAY_BE_ABSENT)
    uses: tuple[RunId, ...] = field(default=(), metadata=MAY_BE_ABSENT)  # finished runs that it is made from
    label: Label = field(default="", compare=False, metadata=MAY_BE_ABSENT)  # what tells it from others, for a reader

    @functools.cached_property
    def id(self) -> str:
        content = [self.study, self.version, self.part, self.config, list(self.seeds)]
        if self.code or self.uses:
            content.append(sorted(set(self.code.values())))  # a file may be moved or renamed
        if self.uses:
            content.append(list(self.uses))
        return digest(canonical(content))[:16]

    def __hash__(self) -> int:
        return hash(self.id)

    def to_plain(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain |= {"seeds": list(self.seeds), "uses": list(self.uses)}
        for name in ("code", "uses", "label"):  # so that the records of runs without them are what they always were
            if not plain[name]:
                del plain[name]
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Request:
        return cls(**{**plain, "seeds": tuple(plain["seeds"]), "uses": tuple(plain.get("uses", ()))})


@dataclass(frozen=True)
class Record:
    request: Request
    status: Status
    passed: dict[Label, Any]  # overrides as the user gave them
    started: Moment  # UTC, ISO 8601
    seconds: Amount = 0.0  # wall time spent, over all resumptions
    resumed: Count = 0  # how often it was taken up again
    error: str | None = None
    device: Label = ""
    randomness: dict[str, Any] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)  # name -> sha256
    files: dict[FileName, Digest] = field(default_factory=dict)  # of a finished run: name -> sha256
    uses: tuple[RunId, ...] = ()  # ids of the runs that this one was made from
    # Of a study on fresh seeds: claim -> hash of the criterion that was registered before.
    criteria: dict[Label, Digest] = field(default_factory=dict, metadata=MAY_BE_ABSENT)
    environment: Environment = field(default_factory=installed)
    earlier_environments: tuple[Environment, ...] = ()  # where it was begun, if taken up again with other versions

    def write(self, folder: Path, *, sync: bool = True) -> None:
        plain = self.to_plain()
        check(Record, plain, f"The run {self.request.id}")
        write_document(folder / FILE, KIND, VERSION, plain, sync=sync)

    @classmethod
    def find(cls, folder: Path) -> Record | None:
        """The record, if one was ever written: an empty file is what a power failure leaves of one not yet synced."""
        try:
            data = read_regular(folder / FILE)
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise
        return cls.parse(data, folder / FILE) if data.strip(b"\0") else None

    @classmethod
    def read(cls, folder: Path) -> Record:
        return cls.parse(read_regular(folder / FILE), folder / FILE)

    @classmethod
    def parse(cls, data: bytes, path: Path) -> Record:
        """``path``: the file that it is from, for a message that names it."""
        record: Record = from_json(cls, parse_document(data, path, KIND, VERSION), path)
        return record

    def to_plain(self) -> dict[str, Any]:
        lists = {"uses": list(self.uses), "earlier_environments": list(self.earlier_environments)}
        plain = {**vars(self), **lists, "request": self.request.to_plain()}
        if not self.criteria:  # so that the records of runs without them are what they always were
            del plain["criteria"]
        return plain
