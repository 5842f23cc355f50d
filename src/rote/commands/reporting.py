"""From the store to the report: which runs count for each study, and what the report says of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rote.claims import Verdict
from rote.config import flatten
from rote.errors import UsageError
from rote.report import Section, build, keep
from rote.report.folder import check_replaceable
from rote.store import FinishedRun, Record, Store
from rote.studies import Study, latest_summary, ledger, studies
from rote.studies.ledger import judged
from rote.studies.study import in_order


def write_report(
    store: Store, out: Path, *, preset: str | None = None, verdicts: Sequence[Verdict] | None = None
) -> Path:
    """The report of everything in the store; returns the path of its first page. ``verdicts``: its ledger, if known."""
    sections = []
    verdicts = tuple(ledger(store, preset) if verdicts is None else verdicts)
    spent = {row.id: row.seconds for row in store.runs()}
    for name in in_order():
        study = studies[name]()
        summary = latest_summary(store, study, preset)
        if summary is not None:
            own = tuple(item for item in verdicts if item.study == name)
            sections.append(section_of(study, summary, own, spent))
    return build(sections, verdicts, out, sources=[studies[name].source for name in in_order()])


def keep_result(store: Store, prefix: str, out: Path) -> Path:
    """A study's summary run with its verdicts and the records of all its runs, as small files; returns the page."""
    summary = store.load(prefix)
    request = summary.record.request
    if request.part != "summary":
        raise UsageError(
            f"The run {prefix!r} is the part {request.part!r} of {request.study}. Give the study's summary: "
            f"rote runs list --study {request.study}"
        )
    study = studies[request.study]()
    rows = {row.id: row for row in store.runs()}
    used = [identity for identity in (summary.id, *summary.record.uses) if identity in rows]
    records = [dataclasses.asdict(Record.read(store.root / rows[identity].folder)) for identity in used]
    spent = {identity: rows[identity].seconds for identity in used}
    return keep(section_of(study, summary, tuple(judged(study, summary)), spent), records, out)


def check_report_folder(out: Path) -> None:
    """Refuse a folder that ``write_report`` would refuse, before the work that leads to the report."""
    check_replaceable(out.expanduser().resolve())


def section_of(
    study: Study[Any], summary: FinishedRun, verdicts: tuple[Verdict, ...], spent: Mapping[str, float]
) -> Section:
    """``spent``: seconds by run, of those that are still in the store."""
    record = summary.record
    runs = (summary.id, *record.uses)
    changed = "".join(f" {key}={value}" for key, value in record.passed.items())
    return Section(
        study=study.name,
        title=study.title,
        source=study.source,
        place=study.place,
        about=study.about,
        preset=record.request.preset,
        seeds=len(record.request.seeds),
        config=flatten(study.config_of(record.request)),
        command=f"rote run {study.name} --preset {record.request.preset}{changed}",
        tables=tuple(summary.tables().values()),
        verdicts=verdicts,
        runs=runs,
        seconds=sum(spent.get(run, 0.0) for run in runs),
        environment=record.environment,
        deviations=study.deviations,
    )
