"""The first view: what the others are for. It asks them for their pictures; here is only what it needs less of."""

from __future__ import annotations

import functools
from typing import Any

from fastapi import APIRouter, Request

from rote.explorer.workbench import workbench
from rote.store import Store

router = APIRouter(prefix="/api/home", tags=["home"])


@router.get("/claims")
def claims(request: Request) -> dict[str, Any]:
    """How every claim came out, source by source: the ledger without its evidence."""
    return workbench(request).compute(outcomes, workbench(request).store)


def outcomes(store: Store) -> dict[str, Any]:
    """Judged again only when a run of the store has changed."""
    from rote.explorer.ledger import state_of

    return _outcomes(store.root, state_of(store))


@functools.lru_cache(maxsize=4)
def _outcomes(root: Any, state: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    from rote.laboratory import ledger
    from rote.laboratory.tally import summary

    entries = ledger(Store(root))
    found: dict[str, list[str]] = {}
    for entry in entries:
        found.setdefault(entry.claim.source, []).append(entry.outcome)
    return {"summary": summary(entries), "outcomes": found}
