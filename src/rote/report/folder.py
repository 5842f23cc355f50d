"""A folder that is either the old report or the whole new one, and never anything else that a user keeps there."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rote.errors import NewerVersionError, RoteError, StoreError, UsageError
from rote.store import read_document, write_document
from rote.store.files import sync_file_system, sync_folder

MARKER = "rote-report.json"
_KIND, _VERSION = "rote report", 1
_LEFT_BY_FILE_BROWSERS = {".DS_Store", "Thumbs.db", "desktop.ini"}


@contextmanager
def replacing(out: Path, drawn_by: str, made_from: str) -> Iterator[Path]:
    """A new, empty folder to fill. It becomes ``out`` when the block ends well, and is gone when it does not."""
    check_replaceable(out)
    fresh = out.parent / f".{out.name}.{secrets.token_hex(4)}.tmp"
    try:
        fresh.mkdir(parents=True)
        yield fresh
        marker = {"files": _files(fresh), "drawn_by": drawn_by, "made_from": made_from}
        write_document(fresh / MARKER, _KIND, _VERSION, marker)
        sync_file_system(fresh)  # before the rename, so that no power failure leaves a report of empty files
        check_replaceable(out)  # again: writing took a while
        _swap(fresh, out)
    except OSError as error:
        raise StoreError(
            f"Cannot write the report {out}: {error.strerror or error}. What was there is kept."
        ) from error
    finally:
        _remove(fresh)


def check_replaceable(out: Path) -> None:
    """Refuse anything that is not a report of Rote, or to which someone has added files of their own."""
    if not os.path.lexists(out):
        return
    advice = "Name another folder with --out, or move it away."
    if not out.is_dir():
        raise UsageError(f"The report folder {out} is a file. {advice}")
    present = set(_files(out))
    if not present and not any(out.iterdir()):
        return
    try:
        known = set(read_document(out / MARKER, _KIND, _VERSION)["files"]) | {MARKER}
    except NewerVersionError as error:
        raise UsageError(f"{error} Until then: {advice}") from None
    except (RoteError, KeyError, TypeError):
        raise UsageError(
            f"The folder {out} exists and is not a report of Rote, so it is left alone. {advice}"
        ) from None
    foreign = sorted(name for name in present - known if Path(name).name not in _LEFT_BY_FILE_BROWSERS)
    if foreign:
        raise UsageError(
            f"The report {out} holds files that Rote did not write ({', '.join(foreign[:3])}"
            f"{', ...' if len(foreign) > 3 else ''}) and that a new report would remove. {advice}"
        )


def is_current(out: Path, made_from: str) -> bool:
    """Whether the report that is there, with all its files, was made from the same."""
    try:
        marker = read_document(out / MARKER, _KIND, _VERSION)
    except RoteError:
        return False
    return marker.get("made_from") == made_from and set(marker["files"]) <= set(_files(out))


def made_alike(out: Path, drawn_by: str) -> Path | None:
    """The report that is there, if its pictures were drawn by the same program: those can be used again."""
    try:
        return out if read_document(out / MARKER, _KIND, _VERSION).get("drawn_by") == drawn_by else None
    except RoteError:
        return None


def _swap(fresh: Path, out: Path) -> None:
    """Put ``fresh`` in the place of ``out``. If that fails the old report is put back."""
    old = out.parent / f".{out.name}.{secrets.token_hex(4)}.old"
    try:
        if out.exists():
            os.rename(out, old)
        os.rename(fresh, out)
    finally:
        if not fresh.exists():  # it is in its place
            _remove(old)
        elif old.exists():
            os.rename(old, out)
    sync_folder(out.parent)


def _remove(folder: Path) -> None:
    """Take a folder away, whatever stops the rest, and though Ctrl-C be pressed again meanwhile."""
    for _ in range(10):
        with suppress(KeyboardInterrupt):
            shutil.rmtree(folder, ignore_errors=True)
            return


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
