"""The ledger: every claim of every study with the verdicts that the runs here and the kept results support.

A run that is damaged, or a claim that cannot be judged, hinders nothing else: it is left out and named. A list
``left_out``, where one is given, gets what it was and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from rote.claims import Claim, Outcome, Register, Scale, Values, Verdict, criterion_hash, judge, measure
from rote.claims.register import BLOCK
from rote.claims.verdict import Status
from rote.errors import RoteError
from rote.laboratory.kept_results import Kept, packaged, used
from rote.laboratory.scale import scale_of
from rote.laboratory.study import Study, ordered_names, studies
from rote.laboratory.study_run import StudyRun
from rote.store import FinishedRun, Listed, Record, Store
from rote.store.index import UNREAD
from rote.store.run import STUDY

Where = Literal["kept", "here", "kept and here", ""]
COUNTED = {"seeds", "first_seed"}  # settings that may differ from a preset's: they are the same experiment


@dataclass(frozen=True)
class Body:
    """What the networks of one scale, with old or with fresh seeds, gave for the claims of a study."""

    scale: Scale
    where: Where
    values: Mapping[str, Mapping[str, Values]]  # by claim and assertion
    runs: tuple[str, ...]
    fresh: bool = False
    criteria: Mapping[str, str] = field(default_factory=dict)  # registered before, where the seeds are fresh
    failed: Mapping[str, str] = field(default_factory=dict)  # claim -> why it cannot be judged from them

    @property
    def key(self) -> tuple[Scale, bool]:
        return self.scale, self.fresh

    def joined(self, other: Body) -> Body:
        """With the seeds of another body of the same kind; where both have one, that of the other counts."""
        claims = dict.fromkeys([*self.values, *other.values])
        values = {claim: _joined(self.values.get(claim, {}), other.values.get(claim, {})) for claim in claims}
        where: Where = self.where if self.where == other.where else "kept and here"
        return replace(
            self, where=where, values=values, runs=(*self.runs, *other.runs), failed={**self.failed, **other.failed},
            criteria={claim: text for claim, text in self.criteria.items() if other.criteria.get(claim) == text},
        )  # fmt: skip


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


def body_of(study: Study[Any], run: FinishedRun | Kept, where: Where, left_out: list[str] | None = None) -> Body:
    """What a run of a study gives for its claims."""
    return body_of_claims(study.claims, run, study, where, left_out)


def body_of_claims(
    claims: Iterable[Claim],
    run: FinishedRun | Kept,
    study: Study[Any] | None,
    where: Where,
    left_out: list[str] | None = None,
) -> Body:
    """What a run gives for these claims; without a study, of which the settings are those of nobody else's."""
    record, tables = run.record, run.tables()
    values, failed = {}, {}
    for claim in claims:
        try:
            values[claim.id] = measure(claim, tables)
        except Exception as error:  # whatever an assertion makes of tables that it does not fit
            failed[claim.id] = f"It cannot be judged from the run {run.id}: {_told(error)}"
            _leave_out(left_out, f"the claim {claim.id} of {record.request.study}. {failed[claim.id]}")
    scale = Scale("own") if study is None else scale_of(study, record.request.config)
    criteria = confirmed_by(record, run.runs if isinstance(run, Kept) else _made_from(run))
    return Body(scale, where, values, (run.id, *record.uses), bool(criteria), criteria, failed)


def confirmed_by(record: Record, runs: Sequence[Record]) -> dict[str, str]:
    """The criteria, by claim, that a study's run can confirm or refute, from the records of all that it is made of: its
    seeds are kept for them, and its first training began after they were registered, with the program as committed."""
    if not is_fresh(record):
        return {}
    everything = (record, *runs)
    known = {run.request.id for run in runs}
    complete = all(used in known for run in everything for used in run.uses)
    clean = all(run.environment.get("commit") and not run.environment.get("dirty") for run in everything)
    if not complete or not clean:
        return {}
    register, begun = Register.read(), min(run.started for run in everything)
    return {claim: text for claim, text in record.criteria.items() if register.was_entered(claim, text, begun)}


def is_fresh(record: Record) -> bool:
    """Whether a study was run on seeds that are kept for registered criteria."""
    return bool(record.criteria) and bool(record.request.seeds) and min(record.request.seeds) >= BLOCK


def _made_from(run: FinishedRun) -> tuple[Record, ...]:
    """The records of a study's run in a store that is on fresh seeds; of others nobody asks."""
    if not is_fresh(run.record):
        return ()
    return tuple(used(run.record, {folder.name: folder for folder in run.folder.parents[1].glob("*/*")}))


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
    with_rote: dict[str, list[Kept]] = {}
    for result in packaged() if kept else ():
        with_rote.setdefault(result.record.request.study, []).append(result)
    entries: list[Entry] = []
    for name in ordered_names() if names is None else names:
        study, missed = studies[name](), list[str]()
        bodies = [body_of(study, result, "kept", missed) for result in with_rote.get(name, ())]
        bodies += [body_of(study, run, "here", missed) for run in latest_runs(store, study, listed, missed, read)]
        entries += entries_of(study, bodies, missed)
        for reason in missed:
            _leave_out(left_out, reason)
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
            _leave_out(left_out, f"the run {row.id} of {study.name}. {row.error}")
        elif row.study == study.name and row.part == STUDY and row.status == "finished":
            try:
                folder = store.root / row.folder
                run = read.setdefault(folder, read.get(folder) or StudyRun(folder))
                if set(run.record.passed) <= COUNTED and study.is_current(run.record.request):
                    scale = scale_of(study, run.record.request.config)
                    found.append((scale, is_fresh(run.record), run))
            except Exception as error:  # of its files, or of settings that the study cannot have had
                _leave_out(left_out, f"the run {row.id} of {study.name}. {_told(error)}")
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
                _leave_out(left_out, f"the run {run.id} of {study.name}. {_told(error)}")
    return list(best.values())


def _joined(first: Mapping[str, Values], second: Mapping[str, Values]) -> dict[str, Values]:
    return {label: {**first.get(label, {}), **second.get(label, {})} for label in dict.fromkeys([*first, *second])}


def _not_run(study: str, claim: Claim, missed: Sequence[str]) -> Verdict:
    if claim.kind == "identity":
        return replace(judge(claim, {}), study=study)
    reason = f"Left out: {missed[0]}" if missed else f"No finished run in the store. Run: rote run {study}"
    return Verdict(claim, "not run", reason, study=study)


def _leave_out(left_out: list[str] | None, reason: str) -> None:
    if left_out is not None and reason not in left_out:
        left_out.append(reason)


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, RoteError) else f"{type(error).__name__}: {' '.join(str(error).split())}"
