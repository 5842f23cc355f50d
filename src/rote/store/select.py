"""Which runs are meant: by id, by study, status, preset or age."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rote.errors import UnknownNameError, UsageError
from rote.store.index import Listed

STATUSES = ("running", "finished", "failed", "interrupted", "damaged", "newer")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Selection:
    """Runs for which everything holds that is said. A word is the beginning of an id, or a pattern for
    ``study``, ``study/part`` or ids: ``lookup-*``, ``plane/training``, ``3f*``."""

    words: tuple[str, ...] = ()
    study: str | None = None
    status: str | None = None
    preset: str | None = None
    older_than: str | None = None

    @property
    def is_everything(self) -> bool:
        return self == Selection()

    def of(self, rows: Sequence[Listed]) -> list[Listed]:
        """Raises where a word stands for no run, or for several without being a pattern."""
        if self.status is not None and self.status not in STATUSES:
            raise UnknownNameError("status", self.status, STATUSES)
        before = None if self.older_than is None else _moment(self.older_than)
        named = {row.folder for word in self.words for row in _named(word, rows)} if self.words else None
        return [
            row
            for row in rows
            if (named is None or row.folder in named)
            and (self.study is None or fnmatch.fnmatchcase(row.study, self.study))
            and self.status in (None, row.status)
            and self.preset in (None, row.preset)
            and (before is None or (row.started and datetime.fromisoformat(row.started) < before))
        ]


def _named(word: str, rows: Sequence[Listed]) -> list[Listed]:
    if any(letter in word for letter in "*?[/"):
        found = [
            row
            for row in rows
            if any(fnmatch.fnmatchcase(name, word) for name in (row.study, f"{row.study}/{row.part}", row.id))
        ]
        if not found:
            raise UsageError(f"No run is named {word!r}: not by study, by study/part, nor by id. See: rote runs list")
        return found
    matching = [row for row in rows if word and row.id.startswith(word)]
    if len(matching) > 1:
        ids = ", ".join(row.id for row in matching[:5]) + (" ..." if len(matching) > 5 else "")
        raise UsageError(
            f"The id {word!r} stands for {len(matching)} runs: {ids}. Give more of it, or {word + '*'!r} for all."
        )
    if not matching:
        raise UnknownNameError("run", word, [row.id for row in rows])
    return matching


def _moment(age: str) -> datetime:
    """So long ago."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhdw])", age)
    if not found:
        raise UsageError(f"'older-than' takes a number and a unit (s, m, h, d, w), for example 30d. Got {age!r}.")
    try:
        return datetime.now(UTC) - timedelta(**{UNITS[found[2]]: float(found[1])})
    except OverflowError:
        raise UsageError(f"'older-than' goes back before all dates. Got {age!r}; for example 30d.") from None
