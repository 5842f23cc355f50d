"""The ledger: every claim of every study with the verdict that the store supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rote.claims import Verdict, judge, not_run
from rote.config import to_plain
from rote.errors import UnknownNameError
from rote.store import FinishedRun, Listed, Request, Store
from rote.studies.kept import Kept
from rote.studies.study import PRESETS, Study, in_order, studies


def judged(study: Study[Any], summary: FinishedRun | Kept) -> list[Verdict]:
    tables, record = summary.tables(), summary.record
    return [
        judge(claim, tables, study=study.name, preset=record.request.preset, runs=(summary.id, *record.uses))
        for claim in study.claims
    ]


def latest_summary(
    store: Store, study: Study[Any], preset: str | None = None, listed: Sequence[Listed] | None = None
) -> FinishedRun | None:
    """The study's finished summary that counts: its version, the most thorough preset (or the named one), the newest.

    Runs with overridden settings do not count, except for the number of seeds: they are not the published experiment.
    ``listed``: the runs of the store, where they were listed already.
    """
    candidates = []
    for row in store.runs() if listed is None else listed:
        if row.study == study.name and row.part == "summary" and row.status == "finished":
            run = FinishedRun(store.root / row.folder)
            request = run.record.request
            counts = request.version == study.version and set(run.record.passed) <= {"seeds", "engine"}
            if counts and (preset in (None, request.preset) or _same_settings(study, preset, request)):
                candidates.append(run)
    thorough = {name: rank for rank, name in enumerate(PRESETS)}
    return max(
        candidates, key=lambda run: (thorough.get(run.record.request.preset, -1), run.record.started), default=None
    )


def _same_settings(study: Study[Any], preset: str | None, request: Request) -> bool:
    """Where two presets ask for the same, a run is kept once, under the one that came first."""
    return preset is not None and to_plain(study.resolve(preset, {})) == request.config


def ledger(store: Store, preset: str | None = None) -> list[Verdict]:
    """Source by source."""
    if preset is not None and preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    verdicts: list[Verdict] = []
    listed = store.runs()
    for name in in_order():
        study = studies[name]()
        summary = latest_summary(store, study, preset, listed)
        verdicts += judged(study, summary) if summary else [not_run(claim, name) for claim in study.claims]
    return verdicts
