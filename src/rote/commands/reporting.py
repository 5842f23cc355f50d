"""From the store to the report: which runs count for each study, and what the report says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rote.claims import Source, Verdict
from rote.config import flatten
from rote.errors import UsageError
from rote.report import Section, build, first_page, source_page, study_page
from rote.report.folder import check_replaceable
from rote.store import FinishedRun, Store, write_atomically
from rote.studies import Study, latest_summary, ledger, studies
from rote.studies.kept import Kept, kept_in
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


def write_kept_report(kept: Path, out: Path) -> Path:
    """The report of the results that were kept under a folder."""
    results = kept_results(kept)
    sections = [section for result in results.values() for section in result.pages.values()]
    verdicts = tuple(verdict for result in results.values() for verdict in result.verdicts)
    command = f"rote report --kept {kept}"
    return build(sections, verdicts, out, sources=[result.source for result in results.values()], command=command)


def write_pages(kept: Path, out: Path | None = None) -> Path:
    """Markdown pages of the results that were kept under a folder, beside them or under ``out``; returns the first.

    ``notes.md`` beside a source's results goes into its page.
    """
    results, out = kept_results(kept), out or kept
    for folder, result in results.items():
        notes = kept / folder / "notes.md"
        text = notes.read_text(encoding="utf-8") if notes.exists() else ""
        _write(out / folder / "README.md", source_page(result.source, text, result.pages))
        for path, section in result.pages.items():
            _write(out / folder / path, study_page(section, result.left_out[path]))
    index = {f"{folder}/README.md": (result.source, result.verdicts) for folder, result in results.items()}
    _write(out / "README.md", first_page(index))
    return out / "README.md"


@dataclass
class KeptResults:
    """What was kept of one source, by path of its page: those in subfolders were run with other settings."""

    source: Source
    pages: dict[str, Section] = field(default_factory=dict)
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(verdict for path, section in self.pages.items() if "/" not in path for verdict in section.verdicts)


def kept_results(folder: Path) -> dict[str, KeptResults]:
    """By folder, one for each source, in the order of the sources."""
    found: dict[str, KeptResults] = {}
    for kept in kept_in(folder):
        study = studies[kept.record.request.study]()
        *above, page = kept.path.relative_to(folder).with_suffix(".md").parts
        source_folder, *below = [*(above or [study.source.name]), page]
        results = found.setdefault(source_folder, KeptResults(study.source))
        spent = {record.request.id: record.seconds for record in (kept.record, *kept.runs)}
        path = "/".join(below)
        results.pages[path] = section_of(study, kept, tuple(judged(study, kept)), spent)
        results.left_out[path] = kept.left_out
    if not found:
        raise UsageError(f"No kept results in {folder}. Keep one with: rote runs keep ID --out {folder}/SOURCE")
    return dict(sorted(found.items(), key=lambda item: item[1].source.id))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


def check_report_folder(out: Path) -> None:
    """Refuse a folder that ``write_report`` would refuse, before the work that leads to the report."""
    check_replaceable(out.expanduser().resolve())


def section_of(
    study: Study[Any], summary: FinishedRun | Kept, verdicts: tuple[Verdict, ...], spent: Mapping[str, float]
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
