"""Which tables and measured columns a study has, known before it has run here.

From finished runs in the store, and from ``data/tables.json``, which comes with the package and is made with the
costs (``python -m rote.laboratory.costs STORE ...``) from the runs in those stores.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rote.errors import StoreError
from rote.laboratory.study import Study
from rote.store import FinishedRun, Store, read_document, write_document
from rote.store.run import STUDY

KIND, VERSION = "rote tables", 1
FILE = Path(__file__).parents[1] / "data" / "tables.json"
LOOKED_AT = 5  # runs of a study: with other settings it may have other tables
Columns = dict[str, list[str]]  # name -> measured columns


def known_tables(store: Store, study: Study[Any]) -> Columns | None:
    """None where nobody can know: a study of one's own that has not run yet."""
    found = [packaged().get(study.name, {}), *of_runs(store, study.name)]
    return united(found) or None


def of_runs(store: Store, name: str) -> list[Columns]:
    """The newest ones that can be read."""
    rows = [row for row in store.runs() if (row.study, row.part, row.status) == (name, STUDY, "finished")]
    found = []
    for row in rows[:LOOKED_AT]:
        try:
            tables = FinishedRun(store.root / row.folder).tables()
        except Exception:  # of its files, or of what the study makes of them: told when it is used
            continue
        found.append({name: columns_of(table) for name, table in tables.items()})
    return found


def united(found: Iterable[Columns]) -> Columns:
    together: dict[str, dict[str, None]] = {}
    for tables in found:
        for name, columns in tables.items():
            together.setdefault(name, {}).update(dict.fromkeys(columns))
    return {name: list(columns) for name, columns in together.items()}


def columns_of(table: Any) -> list[str]:
    return [column.name for column in table.columns if column.role == "measured"]


@functools.cache
def packaged() -> dict[str, Columns]:
    try:
        known: dict[str, Columns] = read_document(FILE, KIND, VERSION)
    except StoreError:  # an incomplete installation
        return {}
    return known


def write(stores: Iterable[Store], names: Iterable[str], path: Path = FILE) -> None:
    """Make the package's file from the runs in these stores."""
    kept = list(stores)
    found = {name: united(tables for store in kept for tables in of_runs(store, name)) for name in names}
    write_document(path, KIND, VERSION, {name: tables for name, tables in found.items() if tables})
