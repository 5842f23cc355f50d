"""The claims with their verdicts and the evidence for them, as the store supports them now."""

from __future__ import annotations

import functools
import threading
from dataclasses import asdict
from typing import Any, Literal

from fastapi import APIRouter, Request

from rote.explorer.workbench import workbench
from rote.store import Store
from rote.store.run import STUDY

router = APIRouter(prefix="/api/ledger", tags=["ledger"])
_ONE = threading.Lock()
Preset = Literal["", "smoke", "quick", "paper"]


@router.get("")
def ledger(request: Request, preset: Preset = "") -> dict[str, Any]:
    """Every claim; of the named preset, or of the most thorough that was run."""
    return workbench(request).compute(judged, workbench(request).store, preset)


def judged(store: Store, preset: str) -> dict[str, Any]:
    """The verdicts; judged again only when a run of the store has changed."""
    state = tuple((row.folder, row.stamp) for row in store.runs() if row.part == STUDY)
    with _ONE:  # a second request waits for the first one's verdicts
        return _judged(store.root, preset, state)


@functools.lru_cache(maxsize=4)
def _judged(root: Any, preset: str, state: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    from rote.claims import verdict_rows
    from rote.laboratory import ledger, studies
    from rote.report.ledger import counts, summary

    verdicts = ledger(Store(root), preset or None)
    sources = {studies[name].source.name: studies[name].source for name in studies}
    claims = []
    for verdict, row in zip(verdicts, verdict_rows(verdicts), strict=True):
        study = studies[verdict.study]
        measured = zip(verdict.evidence, verdict.claim.assertions, strict=False)  # no evidence where it was not run
        plots = [_plot(item, measurement) for item, measurement in measured]
        evidence = [item | {"plot": plot} for item, plot in zip(row["evidence"], plots, strict=True)]
        told = {"settle": verdict.settle, "remark": verdict.claim.remark, "study_title": study.title}
        claims.append(row | told | {"evidence": evidence})
    return {
        "store": str(root),
        "empty": not state,
        "summary": summary(verdicts),
        "counts": counts(verdicts),
        "sources": [{"id": source.id, "name": source.name, "title": source.title} for source in _by_id(sources)],
        "claims": claims,
    }


def _plot(item: Any, measurement: Any) -> dict[str, Any] | None:
    """The estimate and its interval against what was expected, drawn as in the report."""
    from rote.report.intervals import HEIGHT, WIDTH, interval_plot

    plot = interval_plot(item.estimate, measurement.expected)
    return None if plot is None else {**asdict(plot), "width": WIDTH, "height": HEIGHT}


def _by_id(sources: dict[str, Any]) -> list[Any]:
    return sorted(sources.values(), key=lambda source: str(source.id))
