"""Every stored run."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rote.explorer.workbench import workbench

router = APIRouter(prefix="/api/runs", tags=["runs"])


@router.get("")
def runs(request: Request) -> dict[str, Any]:
    bench = workbench(request)
    rows = bench.compute(bench.store.runs)
    return {"store": str(bench.store.root), "runs": [{"id": r.id, "study": r.study, "status": r.status} for r in rows]}
