"""The register of criteria: what would bear each claim out, written down with a hash before the runs that confirm it.

``data/register.json`` has for each claim its entries, oldest first: the hash of the criterion, the day, and why it was
entered. A criterion that differs from its last entry is not registered; a changed one is entered again, with a reason.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rote.claims.claim import Assertion, Claim, Group
from rote.store import digest, read_document, write_document
from rote.store.files import canonical
from rote.store.typed import from_json

KIND, VERSION = "rote register", 1
RULE = 2  # version of how verdicts are made: counting, Kleene's logic
FILE = Path(__file__).parents[1] / "data" / "register.json"
BLOCK = 1000  # seeds: a criterion's n-th entry is confirmed on seeds from n times this on


@dataclass(frozen=True)
class Entry:
    hash: str
    date: str  # ISO 8601
    reason: str


@dataclass(frozen=True)
class Register:
    """The entries of every claim, by id."""

    entries: Mapping[str, tuple[Entry, ...]]

    @classmethod
    def read(cls, path: Path = FILE) -> Register:
        if not path.exists():
            return cls({})
        return _read(path, path.stat().st_mtime_ns)

    def write(self, path: Path = FILE) -> None:
        plain = {name: [asdict(entry) for entry in entries] for name, entries in sorted(self.entries.items())}
        write_document(path, KIND, VERSION, plain)

    def of(self, claim: Claim) -> tuple[Entry, ...]:
        return self.entries.get(claim.id, ())

    def has(self, claim: Claim) -> bool:
        """Whether the claim's criterion, as it is now, is its last entry."""
        entries = self.of(claim)
        return bool(entries) and entries[-1].hash == criterion_hash(claim)

    def was_entered(self, claim: str, criterion: str, by: str) -> bool:
        """Whether a criterion with this hash had been entered by this moment (ISO 8601, UTC)."""
        return any(entry.hash == criterion and entry.date <= by for entry in self.entries.get(claim, ()))

    def fresh_seed(self, claims: Iterable[Claim]) -> int:
        """The first of the seeds that are new to these claims' criteria."""
        return BLOCK * max((len(self.of(claim)) for claim in claims), default=1)

    def with_entries(self, claims: Iterable[Claim], date: str, reason: str) -> Register:
        """With an entry for each of these claims."""
        more = {claim.id: (*self.of(claim), Entry(criterion_hash(claim), date, reason)) for claim in claims}
        return Register({**self.entries, **more})


@functools.lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> Register:
    """``changed``: when the file was, so that it is read once as it is."""
    plain = read_document(path, KIND, VERSION)
    return Register(
        {name: tuple(from_json(Entry, entry, path) for entry in entries) for name, entries in plain.items()}
    )


def criterion_hash(claim: Claim) -> str:
    """Of what decides the verdict on a claim, and of the words that it is about."""
    return digest(canonical(criterion(claim)))


def criterion(claim: Claim) -> dict[str, Any]:
    numbers = [
        [number.label, number.of.text, repr(number.sample), number.rows, number.margin] for number in claim.numbers
    ]
    return {
        "rule": RULE, "id": claim.id, "statement": claim.statement, "kind": claim.kind, "test": claim.test,
        "logic": _plain(Group("all", claim.assertions)), "numbers": numbers,
    }  # fmt: skip


def _plain(item: Assertion | Group) -> list[Any]:
    if isinstance(item, Group):
        return [item.join, *(_plain(member) for member in item.members)]
    return [item.label, item.of.text, str(item.holds), item.seeds, item.role, item.scale]
