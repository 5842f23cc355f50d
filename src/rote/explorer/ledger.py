"""The claims with their verdicts at every scale: what the store supports now, beside what comes with Rote."""

from __future__ import annotations

import functools
import threading
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request

from rote.explorer.workbench import workbench
from rote.store import Store
from rote.store.run import STUDY

router = APIRouter(prefix="/api/ledger", tags=["ledger"])
_ONE = threading.Lock()


@router.get("")
def ledger(request: Request) -> dict[str, Any]:
    """Every claim."""
    return workbench(request).compute(judged, workbench(request).store)


def judged(store: Store) -> dict[str, Any]:
    """The verdicts; judged again only when a run of the store has changed."""
    with _ONE:  # a second request waits for the first one's verdicts
        return _judged(store.root, state_of(store))


def state_of(store: Store) -> tuple[tuple[str, str], ...]:
    """What the verdicts of a store depend on."""
    return tuple((row.folder, row.stamp) for row in store.runs() if row.part == STUDY)


@functools.lru_cache(maxsize=4)
def _judged(root: Any, state: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    from rote.claims import KINDS, OUTCOMES, Register
    from rote.laboratory import ledger, studies
    from rote.laboratory.laboratory import cores
    from rote.laboratory.settling import Settling
    from rote.laboratory.tally import multiplicity, summary

    entries, register = ledger(Store(root)), Register.read()
    settling = Settling(Store(root), cores())
    sources = sorted({studies[name].source for name in studies}, key=lambda source: source.id)
    return {
        "store": str(root),
        "empty": not state,
        "summary": summary(entries),
        "multiplicity": multiplicity(entries),
        "outcomes": list(OUTCOMES),
        "kinds": list(KINDS),
        "sources": [{"id": source.id, "name": source.name, "title": source.title} for source in sources],
        "claims": [_claim(entry, register, settling(entry)) for entry in entries],
    }


def _claim(entry: Any, register: Any, settle: str) -> dict[str, Any]:
    """What the ledger's row has, and the card with its pictures as in the report."""
    from rote.laboratory import studies
    from rote.laboratory.tally import entry_rows
    from rote.report.cards import card, numbers_said, scale_label

    (row,), made = entry_rows([entry]), card(entry, register, settle)
    for told, verdict in zip(row["verdicts"], entry.verdicts, strict=True):
        told |= {"label": scale_label(verdict), "numbers": numbers_said(verdict)}
        del told["findings"]  # the rows have them
    return row | {
        "study_title": studies[entry.study].title,
        "tallied": entry.claim.tallied,
        "status": entry.verdict.status if entry.verdict.count else "",
        "rows": [asdict(one) for one in made.rows],
        "numbers": [asdict(one) for one in made.numbers],
        "forest": asdict(made.forest) if made.forest else None,
        "register": [asdict(one) for one in made.register],
        "registered": made.registered,
        "settle": made.settle,
    }
