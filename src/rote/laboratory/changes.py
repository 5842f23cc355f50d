"""What came out otherwise than the last time that everything was judged in a store."""

from __future__ import annotations

from collections.abc import Sequence

from rote.laboratory.ledger import Entry
from rote.store import Store
from rote.store.files import SHARED
from rote.store.shared import entries as known
from rote.store.shared import put

FILE = "verdicts.json"


def changes(store: Store, entries: Sequence[Entry], *, note: bool = True) -> list[str] | None:
    """A line for each claim whose outcome, at the scale nearest to the source's, is another than the last time; None
    where nothing was noted before. The outcomes of now are noted for the next time, unless ``note`` is false."""
    path, kind = store.root / FILE, SHARED[FILE]
    before, now = known(path, kind, str), {entry.claim.id: _told(entry) for entry in entries}
    if note:
        put(path, kind, now)
    if not before:
        return None
    others = {claim: told for claim, told in now.items() if before.get(claim, told) != told}
    return [f"{claim}: {before[claim]} before, now {told}" for claim, told in others.items()]


def _told(entry: Entry) -> str:
    verdict = entry.verdict
    return " ".join(filter(None, [verdict.outcome, verdict.count, f"({verdict.scale})" if verdict.scale else ""]))
