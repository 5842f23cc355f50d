"""The ledger: every claim of every study with the verdict that the store supports.

A run that is damaged, or a claim that cannot be judged, hinders nothing else: it is left out and named. A list
``left_out``, where one is given, gets what it was and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.claims import Claim, Verdict, judge, not_run
from rote.config import to_plain
from rote.errors import RoteError, UnknownNameError
from rote.laboratory.kept_results import Kept
from rote.laboratory.study import PRESETS, Study, ordered_names, studies
from rote.laboratory.study_run import StudyRun
from rote.store import FinishedRun, Listed, Request, Store
from rote.store.index import UNREAD
from rote.store.run import STUDY


def judged(study: Study[Any], run: FinishedRun | Kept, left_out: list[str] | None = None) -> list[Verdict]:
    tables, record = run.tables(), run.record
    runs, preset = (run.id, *record.uses), record.request.preset

    def verdict(claim: Claim) -> Verdict:
        try:
            return judge(claim, tables, study=study.name, preset=preset, runs=runs)
        except Exception as error:  # whatever a measurement makes of tables that it does not fit
            reason = f"It cannot be judged from the run {run.id}: {_told(error)}"
            _leave_out(left_out, f"the claim {claim.id} of {study.name}. {reason}")
            return Verdict(claim, "not run", reason, study=study.name, preset=preset, runs=runs)

    return [verdict(claim) for claim in study.claims]


def latest_run(
    store: Store,
    study: Study[Any],
    preset: str | None = None,
    listed: Sequence[Listed] | None = None,
    left_out: list[str] | None = None,
    read: dict[Path, StudyRun] | None = None,
) -> StudyRun | None:
    """The study's finished run that counts: of what is there now, the most thorough preset (or the named one), newest.

    Runs with overridden settings do not count, except for the number of seeds: they are not the published experiment.
    ``listed``: the runs of the store, where they were listed already. ``read``: runs of studies by folder whose tables
    need not be made again; it gets those that are read.
    """
    read = {} if read is None else read
    candidates = []
    for row in store.runs() if listed is None else listed:
        if row.study == study.name and row.status in UNREAD:  # it may be one
            _leave_out(left_out, f"the run {row.id} of {study.name}. {row.error}")
        elif row.study == study.name and row.part == STUDY and row.status == "finished":
            try:
                folder = store.root / row.folder
                run = read.setdefault(folder, read.get(folder) or StudyRun(folder))
                request = run.record.request
                counts = set(run.record.passed) <= {"seeds"} and study.is_current(request)
            except Exception as error:  # of its files, or of settings that the study cannot have had
                _leave_out(left_out, f"the run {row.id} of {study.name}. {_told(error)}")
                continue
            if counts and (preset in (None, request.preset) or _same_settings(study, preset, request)):
                candidates.append(run)
    thorough = {name: rank for rank, name in enumerate(PRESETS)}
    candidates.sort(key=lambda run: (thorough.get(run.record.request.preset, -1), run.record.started), reverse=True)
    for run in candidates:
        try:
            run.tables()  # which are sound, then, and made
            return run
        except Exception as error:  # of its files, or of what the study makes of them
            _leave_out(left_out, f"the run {run.id} of {study.name}. {_told(error)}")
    return None


def _same_settings(study: Study[Any], preset: str | None, request: Request) -> bool:
    """Where two presets ask for the same, a run is kept once, under the one that came first."""
    return preset is not None and to_plain(study.resolve(preset, {})) == request.config


def ledger(
    store: Store,
    preset: str | None = None,
    left_out: list[str] | None = None,
    read: dict[Path, StudyRun] | None = None,
) -> list[Verdict]:
    """Source by source. ``read`` is that of ``latest_run``."""
    if preset is not None and preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    verdicts: list[Verdict] = []
    listed = store.runs()
    for name in ordered_names():
        study, missed = studies[name](), list[str]()
        run = latest_run(store, study, preset, listed, missed, read)
        verdicts += judged(study, run, missed) if run else [_not_run(claim, name, missed) for claim in study.claims]
        for reason in missed:
            _leave_out(left_out, reason)
    return verdicts


def _not_run(claim: Claim, study: str, missed: Sequence[str]) -> Verdict:
    verdict = not_run(claim, study)
    return replace(verdict, reason=f"Left out: {missed[0]}") if missed else verdict


def _leave_out(left_out: list[str] | None, reason: str) -> None:
    if left_out is not None and reason not in left_out:
        left_out.append(reason)


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, RoteError) else f"{type(error).__name__}: {' '.join(str(error).split())}"
