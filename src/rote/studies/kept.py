"""Finished studies as single files that a repository can hold: the tables of the summary and the records of all runs.

    keep(store, "3f2a", Path("docs/reproduction/resistance"))      # writes plane.json
    for kept in kept_in(Path("docs/reproduction")): ...            # reads them all

A kept study stands for its summary run wherever only tables and records are needed: verdicts are judged again from it
and pages are made from it. Checkpoints and the longest tables stay in the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rote.errors import UsageError
from rote.store import FinishedRun, Record, Store, Table, read_document, write_document
from rote.store.files import writing

KIND, VERSION = "rote kept result", 1
MOST_ROWS = 2000  # of a table that is kept; figures' raw data can be much longer


@dataclass(frozen=True)
class Kept:
    path: Path  # of its file
    record: Record  # of the summary
    runs: tuple[Record, ...]  # that it was made from
    short: dict[str, Table]
    left_out: tuple[str, ...]  # names of the tables that were too long

    @property
    def id(self) -> str:
        return self.record.request.id

    def tables(self) -> dict[str, Table]:
        return self.short

    @classmethod
    def read(cls, path: Path) -> Kept:
        plain = read_document(path, KIND, VERSION)
        first, *others = (Record.from_plain(record, path) for record in plain["records"])
        tables = {table["name"]: Table.from_plain(table) for table in plain["tables"]}
        return cls(path, first, tuple(others), tables, tuple(plain["left_out"]))

    def write(self) -> None:
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        body = {
            "records": [record.to_plain() for record in (self.record, *self.runs)],
            "tables": [table.to_plain() for table in self.short.values()],
            "left_out": list(self.left_out),
        }
        write_document(self.path, KIND, VERSION, body, indent=None)


def keep(store: Store, prefix: str, out: Path) -> Kept:
    """Write the summary run with this id, or this beginning of one, to ``<out>/<study>.json``."""
    summary = store.load(prefix)
    request = summary.record.request
    if request.part != "summary":
        raise UsageError(
            f"The run {prefix!r} is the part {request.part!r} of {request.study}. Give the study's summary: "
            f"rote runs list --study {request.study}"
        )
    folders = {row.id: store.root / row.folder for row in store.runs()}
    runs = tuple(Record.read(folders[run]) for run in summary.record.uses if run in folders)
    kept = of_run(summary, runs, out / f"{request.study}.json")
    kept.write()
    return kept


def of_run(summary: FinishedRun, runs: tuple[Record, ...], path: Path) -> Kept:
    tables = summary.tables()
    short = {name: table for name, table in tables.items() if len(table.rows) <= MOST_ROWS}
    return Kept(path, summary.record, runs, short, tuple(name for name in tables if name not in short))


def kept_in(folder: Path) -> Iterator[Kept]:
    """Every kept study under ``folder``, those of a folder before those of its subfolders."""
    for path in sorted(folder.rglob("*.json"), key=lambda path: (path.parent.parts, path.name)):
        yield Kept.read(path)
