"""What the results that come with Rote give for the claims, remembered from one command to the next.

Reading them all takes most of the time of ``rote claims``. What comes out depends on nothing but their files and Rote's
own program, so it is kept in the user's cache under the checksum of both: whatever is changed in either, it is made
anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rote.claims import Scale
from rote.claims.register import FILE
from rote.errors import StoreError
from rote.laboratory.bodies import Body, body_of
from rote.laboratory.kept_results import kept_folder, packaged
from rote.laboratory.study import studies
from rote.store import read_document, write_document
from rote.store.typed import from_json
from rote.tasks.downloads import cache

KIND, VERSION = "rote kept bodies", 1
PROGRAM = Path(__file__).parents[1]


@dataclass(frozen=True)
class _Remembered:
    """A body as JSON has it: values that are no numbers as texts."""

    study: str
    scale: Scale
    values: dict[str, dict[str, dict[str, Any]]]
    runs: tuple[str, ...]
    fresh: bool
    criteria: dict[str, str]
    failed: dict[str, str]

    def body(self) -> Body:
        values = {
            claim: {label: {int(seed): float(value) for seed, value in seeds.items()} for label, seeds in each.items()}
            for claim, each in self.values.items()
        }
        return Body(self.scale, "kept", values, self.runs, self.fresh, self.criteria, self.failed)


def kept_bodies() -> dict[str, list[Body]]:
    """By study, in the order of the files."""
    path = cache() / "ledger" / f"{_checksum()}.json"
    try:
        remembered = _read(path, path.stat().st_mtime_ns)
    except (OSError, StoreError):  # not there yet, or damaged
        remembered = [_remember(study, body) for study, body in _made()]
        _write(path, remembered)
    found: dict[str, list[Body]] = {}
    for one in remembered:
        found.setdefault(one.study, []).append(one.body())
    return found


@functools.lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> list[_Remembered]:
    """``changed``: when the file was, so that it is read once as it is."""
    return [from_json(_Remembered, plain, path) for plain in read_document(path, KIND, VERSION)]


def _made() -> Iterator[tuple[str, Body]]:
    for result in packaged():
        name = result.record.request.study
        if name in studies:
            yield name, body_of(studies[name](), result, "kept")


def _remember(study: str, body: Body) -> _Remembered:
    values = {
        claim: {label: {str(seed): str(value) for seed, value in seeds.items()} for label, seeds in each.items()}
        for claim, each in body.values.items()
    }
    return _Remembered(study, body.scale, values, body.runs, body.fresh, dict(body.criteria), dict(body.failed))


def _write(path: Path, remembered: Iterable[_Remembered]) -> None:
    """In place of what was remembered of other files or another program; nowhere, where the cache cannot be written."""
    with contextlib.suppress(OSError, StoreError):
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob("*.json"):
            old.unlink(missing_ok=True)
        write_document(path, KIND, VERSION, [asdict(one) for one in remembered], indent=None)


def _checksum() -> str:
    """Of the kept results, of the register and of all of Rote's own program."""
    found = hashlib.sha256()
    for path in (FILE, *sorted(kept_folder().rglob("*.json")), *sorted(PROGRAM.rglob("*.py"))):
        with contextlib.suppress(OSError):
            found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
