"""The first view: what the others are for. It asks them for their pictures; here is only what it needs less of."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rote.explorer.workbench import workbench
from rote.store import Store

router = APIRouter(prefix="/api/home", tags=["home"])


@router.get("/claims")
def claims(request: Request) -> dict[str, Any]:
    """How every claim came out, source by source: the ledger without its evidence."""
    return workbench(request).compute(_outcomes, workbench(request).store)


def _outcomes(store: Store) -> dict[str, Any]:
    from rote.explorer.ledger import judged

    found = judged(store)
    outcomes: dict[str, list[str]] = {source["name"]: [] for source in found["sources"]}
    for claim in found["claims"]:
        outcomes[claim["source"]].append(claim["verdict"])
    return {"summary": found["summary"], "outcomes": outcomes}
