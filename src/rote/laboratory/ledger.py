"""The ledger: every claim of every study with the verdicts that the runs here and the kept results support.

A run that is damaged, or a claim that cannot be judged, hinders nothing else: it is left out and named. A list
``left_out``, where one is given, gets what it was and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rote.claims import Claim, Outcome, Scale, Verdict, criterion_hash, judge
from rote.claims.verdict import Status
from rote.laboratory.bodies import Body, body_of, is_fresh, leave_out, told
from rote.laboratory.kept_bodies import kept_bodies
from rote.laboratory.scale import scale_of
from rote.laboratory.study import Study, ordered_names, studies
from rote.laboratory.study_run import StudyRun
from rote.store import Listed, Store
from rote.store.index import UNREAD
from rote.store.run import STUDY

COUNTED = {"seeds", "first_seed"}  # settings that may differ from a preset's: they are the same experiment


@dataclass(frozen=True)
class Entry:
    """A claim with a verdict for each scale, that nearest to the source's first; of one scale, that of fresh seeds."""

    claim: Claim
    study: str
    verdicts: tuple[Verdict, ...]

    @property
    def verdict(self) -> Verdict:
        return self.verdicts[0]

    @property
    def outcome(self) -> Outcome:
        return self.verdict.outcome

    @property
    def differs_by_scale(self) -> bool:
        return len({verdict.outcome for verdict in self.verdicts if verdict.decided}) > 1


def judged(study: Study[Any], body: Body) -> list[Verdict]:
    """The verdicts of a body of runs on the claims of its study."""
    return [_verdict(study.name, claim, body) for claim in study.claims]


def _verdict(study: str, claim: Claim, body: Body) -> Verdict:
    if claim.id in body.failed:
        found = Verdict(claim, "not run", body.failed[claim.id])
    else:
        found = judge(claim, body.values.get(claim.id, {}))
    registered = body.fresh and body.criteria.get(claim.id) == criterion_hash(claim)
    status: Status = "" if claim.kind in ("identity", "audit") else "confirmatory" if registered else "exploratory"
    return replace(found, scale=body.scale, status=status, where=body.where, study=study, runs=body.runs)


def entries_of(study: Study[Any], bodies: Iterable[Body], missed: Sequence[str] = ()) -> list[Entry]:
    """An entry for each claim of a study, from all that there is of its runs."""
    return entries_of_claims(study.name, study.claims, bodies, missed)


def entries_of_claims(
    study: str, claims: Iterable[Claim], bodies: Iterable[Body], missed: Sequence[str] = ()
) -> list[Entry]:
    joined: dict[tuple[Scale, bool], Body] = {}
    for body in bodies:
        joined[body.key] = joined[body.key].joined(body) if body.key in joined else body
    ranked = sorted(
        joined.values(), key=lambda body: (body.scale.rank, -len(body.scale.altered), body.fresh), reverse=True
    )
    entries = []
    for claim in claims:
        verdicts = [_verdict(study, claim, body) for body in ranked if claim.kind != "identity"]
        run = [verdict for verdict in verdicts if verdict.outcome != "not run"]
        entries.append(Entry(claim, study, tuple(run or verdicts[:1] or [_not_run(study, claim, missed)])))
    return entries


def ledger(
    store: Store,
    left_out: list[str] | None = None,
    read: dict[Path, StudyRun] | None = None,
    *,
    kept: bool = True,
    names: Iterable[str] | None = None,
) -> list[Entry]:
    """Source by source: what ran here and, unless ``kept`` is false, what comes with Rote. ``names``: of studies, by
    default all. ``read`` is that of ``latest_runs``."""
    listed = store.runs()
    with_rote = kept_bodies() if kept else {}
    entries: list[Entry] = []
    for name in ordered_names() if names is None else names:
        study, missed = studies[name](), list[str]()
        bodies = list(with_rote.get(name, ()))
        for claim, why in (failed for body in bodies for failed in body.failed.items()):
            leave_out(missed, f"the claim {claim} of {name}. {why}")
        bodies += [body_of(study, run, "here", missed) for run in latest_runs(store, study, listed, missed, read)]
        entries += entries_of(study, bodies, missed)
        for reason in missed:
            leave_out(left_out, reason)
    return entries


def latest_runs(
    store: Store,
    study: Study[Any],
    listed: Sequence[Listed] | None = None,
    left_out: list[str] | None = None,
    read: dict[Path, StudyRun] | None = None,
) -> list[StudyRun]:
    """The study's finished runs that count, one for each scale with old and one with fresh seeds: that with the most
    seeds, and of these the newest; the scale nearest to the source's first.

    Runs with overridden settings do not count, except for the seeds: they are not the published experiment. ``listed``:
    the runs of the store, where they were listed already. ``read``: runs of studies by folder whose tables need not be
    made again; it gets those that are read.
    """
    read = {} if read is None else read
    found: list[tuple[Scale, bool, StudyRun]] = []
    for row in store.runs() if listed is None else listed:
        if row.study == study.name and row.status in UNREAD:  # it may be one
            leave_out(left_out, f"the run {row.id} of {study.name}. {row.error}")
        elif row.study == study.name and row.part == STUDY and row.status == "finished":
            try:
                folder = store.root / row.folder
                run = read.setdefault(folder, read.get(folder) or StudyRun(folder))
                if set(run.record.passed) <= COUNTED and study.is_current(run.record.request):
                    scale = scale_of(study, run.record.request.config)
                    found.append((scale, is_fresh(run.record), run))
            except Exception as error:  # of its files, or of settings that the study cannot have had
                leave_out(left_out, f"the run {row.id} of {study.name}. {told(error)}")
    found.sort(
        key=lambda one: (one[0].rank, one[1], len(one[2].record.request.seeds), one[2].record.started), reverse=True
    )
    best: dict[tuple[Scale, bool], StudyRun] = {}
    for scale, fresh, run in found:
        if (scale, fresh) not in best:
            try:
                run.tables()  # which are sound, then, and made
                best[scale, fresh] = run
            except Exception as error:  # of its files, or of what the study makes of them
                leave_out(left_out, f"the run {run.id} of {study.name}. {told(error)}")
    return list(best.values())


def _not_run(study: str, claim: Claim, missed: Sequence[str]) -> Verdict:
    if claim.kind == "identity":
        return replace(judge(claim, {}), study=study)
    reason = f"Left out: {missed[0]}" if missed else f"No finished run in the store. Run: rote run {study}"
    return Verdict(claim, "not run", reason, study=study)
