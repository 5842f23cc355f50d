"""From the store to the report: which runs count for each study, and what the report says of them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rote.claims import Source, Verdict
from rote.config import dotted
from rote.errors import DamagedFileError, UsageError
from rote.laboratory import Study, latest_run, ledger, studies
from rote.laboratory.kept_results import Kept, kept_in, used
from rote.laboratory.ledger import judged
from rote.laboratory.study import ordered_names
from rote.laboratory.study_run import StudyRun
from rote.report import Section, build, first_page, source_page, study_page
from rote.report.folder import check_replaceable
from rote.store import FinishedRun, Record, Store, write_atomically
from rote.store.files import read_regular
from rote.store.index import UNREAD


def write_report(
    store: Store,
    out: Path,
    *,
    preset: str | None = None,
    verdicts: Sequence[Verdict] | None = None,
    left_out: list[str] | None = None,
    read: dict[Path, StudyRun] | None = None,
) -> Path:
    """The report of everything in the store; returns the path of its first page. ``verdicts``: its ledger, if known.
    ``left_out`` gets what is damaged. ``read``: studies' runs that were read already, by folder."""
    sections = []
    read = {} if read is None else read
    verdicts = tuple(ledger(store, preset, left_out, read) if verdicts is None else verdicts)
    listed = store.runs()
    folders = {row.id: store.root / row.folder for row in listed if row.status not in UNREAD}
    for name in ordered_names():
        study = studies[name]()
        run = latest_run(store, study, preset, listed, left_out, read)
        if run is not None:
            own = tuple(item for item in verdicts if item.study == name)
            sections.append(section_of(study, run, own, (run.record, *used(run.record, folders))))
    return build(sections, verdicts, out, sources=[studies[name].source for name in ordered_names()])


def write_kept_report(kept: Path, out: Path, left_out: list[str] | None = None) -> Path:
    """The report of the results that were kept under a folder."""
    results = kept_results(kept, left_out)
    sections = [section for result in results.values() for section in result.pages.values()]
    verdicts = tuple(verdict for result in results.values() for verdict in result.verdicts)
    command = f"rote report --kept {kept}"
    return build(sections, verdicts, out, sources=[result.source for result in results.values()], command=command)


def write_pages(kept: Path, out: Path | None = None, left_out: list[str] | None = None) -> Path:
    """Markdown pages of the results that were kept under a folder, beside them or under ``out``; returns the first.

    ``notes.md`` beside a source's results goes into its page.
    """
    results, out = kept_results(kept, left_out), out or kept
    for folder, result in results.items():
        notes = kept / folder / "notes.md"
        text = read_regular(notes).decode(errors="replace") if notes.exists() else ""
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


def kept_results(folder: Path, left_out: list[str] | None = None) -> dict[str, KeptResults]:
    """By folder, one for each source, in the order of the sources. What is damaged raises, or is named in
    ``left_out``."""
    found: dict[str, KeptResults] = {}
    for kept in kept_in(folder, left_out):
        try:
            study = studies[kept.record.request.study]()
            section = section_of(study, kept, tuple(judged(study, kept, left_out)), (kept.record, *kept.runs))
        except UsageError as error:  # no such study, or none with these settings
            if left_out is None:
                raise
            left_out.append(f"{kept.path}. {error}")
            continue
        *above, page = kept.path.relative_to(folder).with_suffix(".md").parts
        source_folder, *below = [*(above or [study.source.name]), page]
        results = found.setdefault(source_folder, KeptResults(study.source))
        path = "/".join(below)
        results.pages[path] = section
        results.left_out[path] = kept.left_out
    if left_out and not found:
        raise DamagedFileError(f"Of {folder} everything is left out: {left_out[0]}")
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
    study: Study[Any], summary: FinishedRun | Kept, verdicts: tuple[Verdict, ...], records: Sequence[Record]
) -> Section:
    """``records``: of the study's run and of those that it was made from, as far as they are still in the store."""
    record = summary.record
    runs = tuple(dict.fromkeys((summary.id, *record.uses, *(one.request.id for one in records))))
    words = ["rote", "run", study.name, "--preset", record.request.preset]
    words += [f"{key}={value}" for key, value in record.passed.items()]
    return Section(
        study=study.name,
        title=study.title,
        source=study.source,
        place=study.place,
        about=study.about,
        preset=record.request.preset,
        seeds=len(record.request.seeds),
        config=_as_set(record.request.config),  # also of a kept result whose study has other keys now
        command=shlex.join(words),
        tables=tuple(summary.tables().values()),
        verdicts=verdicts,
        runs=runs,
        seconds=sum(one.seconds for one in records),
        environment=record.environment,
        deviations=study.deviations,
    )


def _as_set(config: Mapping[str, Any]) -> dict[str, object]:
    """The settings of a record by their dotted keys, lists as configurations have them."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in dotted(config).items()}
