"""Small documents of a store to which several commands add, perhaps at once: machine.json, verdicts.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from rote.errors import DamagedFileError
from rote.store.files import read_document, write_document
from rote.store.lock import locked

Value = TypeVar("Value")
VERSION = 1
PATIENCE = 10.0  # seconds; another command needs a few thousandths of one


def entries(path: Path, kind: str, of: type[Value]) -> dict[str, Value]:
    """What is known; nothing if there is no document yet or it is damaged, since all of it can be found out again."""
    try:
        known = read_document(path, kind, VERSION) if path.exists() else {}
    except DamagedFileError:
        known = {}
    return {key: value for key, value in known.items() if isinstance(value, of)} if isinstance(known, dict) else {}


def add(path: Path, kind: str, key: str, value: Value) -> Value:
    """Add an entry, unless another command was faster, and return the one that the document has now."""
    with locked(path.parent, "The store", PATIENCE):
        known = entries(path, kind, type(value))
        if key not in known:
            known[key] = value
            write_document(path, kind, VERSION, known)
        return known[key]


def put(path: Path, kind: str, values: Mapping[str, Value]) -> None:
    """Set these entries; the others stay."""
    with locked(path.parent, "The store", PATIENCE):
        write_document(path, kind, VERSION, {**entries(path, kind, object), **values})
