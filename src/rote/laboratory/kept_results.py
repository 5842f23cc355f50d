"""Finished studies as single files that a repository can hold: the tables of a study's run and the records of all runs.

    keep(store, "3f2a", Path("docs/reproduction/resistance"))      # writes plane.json
    for kept in kept_in(Path("docs/reproduction")): ...            # reads them all

A kept study stands for the study's run wherever only tables and records are needed: verdicts are judged again from it
and pages are made from it. Checkpoints stay in the store, and so do long tables that no figure is made from. The long
ones of figures are kept packed, numbers to four significant digits, and unpacked only where figures are drawn.
"""

from __future__ import annotations

import base64
import binascii
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError, StoreError, UsageError
from rote.store import FinishedRun, Record, Store, Table, read_document, write_document
from rote.store.files import writing
from rote.store.index import UNREAD
from rote.store.run import STUDY
from rote.store.typed import MAY_BE_ABSENT, from_json

KIND, VERSION = "rote kept result", 1
PACKAGED = Path(__file__).parents[1] / "data" / "reproduction"  # in an installed package
CHECKOUT = Path(__file__).parents[3] / "docs" / "reproduction"
SUMMARY = "summary"  # what version 0.1 called it, with the tables in it
MOST_ROWS = 5000  # of a table that is kept as it is: those that claims are judged by are shorter
DIGITS = 4  # of the numbers in longer ones: as many as a drawing can show
LARGEST = 64_000_000  # characters of these, unpacked


@dataclass(frozen=True)
class Kept:
    path: Path  # of its file
    record: Record  # of the study
    runs: tuple[Record, ...]  # that it was made from
    short: dict[str, Table]
    left_out: tuple[str, ...]  # names of the tables that were too long, and that no figure is made from
    packed: str = ""  # longer tables of figures

    @property
    def id(self) -> str:
        return self.record.request.id

    def tables(self) -> dict[str, Table]:
        """Those that verdicts are judged by and pages show."""
        return self.short

    def drawn(self) -> dict[str, Table]:
        """All that are kept, also the long ones of figures."""
        return {**self.short, **{table.name: table for table in unpacked(self.packed, self.path)}}

    @classmethod
    def read(cls, path: Path) -> Kept:
        body: _Body = from_json(_Body, read_document(path, KIND, VERSION), path)
        first, *others = body.records
        short = {table.name: table for table in body.tables}
        return cls(path, first, tuple(others), short, body.left_out, body.packed)

    def write(self) -> None:
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        body = {
            "records": [record.to_plain() for record in (self.record, *self.runs)],
            "tables": [table.to_plain() for table in self.short.values()],
            "left_out": list(self.left_out),
            **({"packed": self.packed} if self.packed else {}),
        }
        write_document(self.path, KIND, VERSION, body, indent=None)


@dataclass(frozen=True)
class _Body:
    """What the file holds."""

    records: tuple[Record, ...]
    tables: tuple[Table, ...]
    left_out: tuple[str, ...]
    packed: str = field(default="", metadata=MAY_BE_ABSENT)

    def __post_init__(self) -> None:
        if not self.records:
            raise ValueError("no record")


def keep(store: Store, prefix: str, out: Path, elsewhere: Iterable[Record] = ()) -> Kept:
    """Write the study's run with this id, or this beginning of one, to ``<out>/<study>.json``.

    ``elsewhere``: records of runs that it may be made from and that are not in the store.
    """
    run = store.load(prefix)
    request = run.record.request
    if request.part not in (STUDY, SUMMARY):
        raise UsageError(
            f"The run {prefix!r} is a {request.part} of {request.study}. Give one whose part is {STUDY!r}. See: "
            "rote runs list"
        )
    folders = {row.id: store.root / row.folder for row in store.runs() if row.status not in UNREAD}
    away = {record.request.id: record for record in elsewhere}
    kept = of_run(run, tuple(used(run.record, folders, away)), out / f"{request.study}.json")
    kept.write()
    return kept


def used(record: Record, folders: Mapping[str, Path], away: Mapping[str, Record] | None = None) -> Iterator[Record]:
    """The records of the runs that one was made from, and of those that these were made from, each once.

    ``away``: those of runs that have no folder here, by id.
    """
    away = away or {}
    found: dict[str, Record] = {}
    waiting = list(record.uses)
    while waiting:
        run = waiting.pop(0)
        if run not in found and (run in folders or run in away):
            found[run] = Record.read(folders[run]) if run in folders else away[run]
            waiting += found[run].uses
    yield from found.values()


def of_run(run: FinishedRun, runs: tuple[Record, ...], path: Path) -> Kept:
    tables = run.tables()
    short = {name: table for name, table in tables.items() if len(table.rows) <= MOST_ROWS}
    long = [table for name, table in tables.items() if name not in short and table.figure]
    left_out = tuple(name for name in tables if name not in short and name not in {table.name for table in long})
    return Kept(path, run.record, runs, short, left_out, packed(long))


@dataclass(frozen=True)
class _Long:
    tables: tuple[Table, ...]


def packed(tables: Sequence[Table]) -> str:
    """Tables as a text, rounded and compressed; nothing of none."""
    if not tables:
        return ""
    rounded = [replace(table, rows=tuple(tuple(map(_rounded, row)) for row in table.rows)) for table in tables]
    plain = {"tables": [table.to_plain() for table in rounded]}
    data = json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return base64.b64encode(lzma.compress(data, preset=9)).decode()


def unpacked(text: str, path: Path) -> tuple[Table, ...]:
    """``path``: of the file that has the text, for errors."""
    if not text:
        return ()
    try:
        reader = lzma.LZMADecompressor()
        data = reader.decompress(base64.b64decode(text, validate=True), LARGEST)
        if not reader.eof:
            raise DamagedFileError(f"{path} has tables of figures that are cut off, or of more than {LARGEST} bytes.")
        plain = json.loads(data)
    except (lzma.LZMAError, binascii.Error, ValueError) as error:
        raise DamagedFileError(f"{path} has tables of figures that cannot be unpacked: {error}.") from None
    found: _Long = from_json(_Long, plain, path)
    return found.tables


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def packaged() -> Iterator[Kept]:
    """The results that come with Rote; none where an installation is incomplete or their files are damaged."""
    return kept_in(kept_folder(), [])


def kept_folder() -> Path:
    """Where the results that come with Rote are."""
    return PACKAGED if PACKAGED.exists() else CHECKOUT


def kept_in(folder: Path, left_out: list[str] | None = None) -> Iterator[Kept]:
    """Every kept study under ``folder``, those of a folder before those of its subfolders. One that is damaged raises,
    or is named in the list ``left_out``, where one is given."""
    for path in sorted(folder.rglob("*.json"), key=lambda path: (path.parent.parts, path.name)):
        try:
            yield Kept.read(path)
        except StoreError as error:
            if left_out is None:
                raise
            left_out.append(str(error))
