"""From the store to the report: which runs count for each study, and what the report says of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rote.claims import Source, Verdict
from rote.config import dotted
from rote.errors import DamagedFileError, StoreError, UnknownNameError, UsageError
from rote.laboratory import Entry, Study, latest_runs, ledger, studies
from rote.laboratory.bodies import Body, body_of
from rote.laboratory.changes import changes
from rote.laboratory.kept_results import Kept, kept_in, used
from rote.laboratory.laboratory import cores
from rote.laboratory.ledger import entries_of, judged
from rote.laboratory.scale import scale_of
from rote.laboratory.settling import Settling
from rote.laboratory.study import PRESETS, ordered_names
from rote.laboratory.study_run import StudyRun
from rote.report import Section, build, draw_figures, figure_paths, first_page, source_page, study_page
from rote.report.folder import check_replaceable
from rote.store import FinishedRun, Record, Store, Table, write_atomically
from rote.store.files import read_regular
from rote.store.index import UNREAD


def write_report(
    store: Store,
    out: Path,
    *,
    preset: str | None = None,
    entries: Sequence[Entry] | None = None,
    left_out: list[str] | None = None,
    read: dict[Path, StudyRun] | None = None,
    changed: Sequence[str] | None = None,
) -> Path:
    """The report of everything in the store, beside what comes with Rote; returns the path of its first page.

    Of each study the run nearest to the source's scale is shown, or the one of ``preset``. ``entries``: the ledger, if
    known. ``left_out`` gets what is damaged. ``read``: studies' runs that were read already, by folder.
    ``changed``: what came out otherwise than the last time; looked up where the ledger is not known."""
    known = dict.fromkeys((*PRESETS, *(one for name in studies for one in studies[name].presets)))
    if preset is not None and preset not in known:
        raise UnknownNameError("preset", preset, known)
    sections = []
    read = {} if read is None else read
    if entries is None:
        entries = ledger(store, left_out, read)
        changed = changes(store, entries, note=False)
    listed = store.runs()
    folders = {row.id: store.root / row.folder for row in listed if row.status not in UNREAD}
    for name in ordered_names():
        study = studies[name]()
        runs = latest_runs(store, study, listed, left_out, read)
        run = next((run for run in runs if preset in (None, run.record.request.preset)), None)
        if run is not None:
            sections.append(section_of(study, run, (run.record, *used(run.record, folders))))
    settling = Settling(store, cores())
    return build(
        sections, entries, out, sources=[studies[name].source for name in ordered_names()],
        settling={entry.claim.id: told for entry in entries if (told := settling(entry))}, changed=changed,
    )  # fmt: skip


def write_kept_report(kept: Path, out: Path, left_out: list[str] | None = None) -> Path:
    """The report of the results that were kept under a folder."""
    results = kept_results(kept, left_out).values()
    pages = [page for result in results for page in result.pages.values()]
    sources, command = list(dict.fromkeys(result.source for result in results)), f"rote report --kept {kept}"
    return build([page.section for page in pages], _entries(pages), out, sources=sources, command=command)


def write_pages(
    kept: Path, out: Path | None = None, left_out: list[str] | None = None, *, figures: bool = True
) -> Path:
    """Markdown pages of the results that were kept under a folder, beside them or under ``out``; returns the first.

    ``notes.md`` beside a source's results goes into its page. The figures are drawn into folders beside the pages,
    unless they are there already (``figures=False``).
    """
    results, out = kept_results(kept, left_out), out or kept
    for folder, result in results.items():
        notes = kept / folder / "notes.md"
        text = read_regular(notes).decode(errors="replace") if notes.exists() else ""
        _write(out / folder / "README.md", source_page(result.source, text, result.sections, result.entries))
        for path, page in result.pages.items():
            pictures = figure_paths(page.section)
            if figures:
                draw_figures(page.section, pictures, (out / folder / path).parent)
            _write(out / folder / path, study_page(page.section, page.verdicts, page.left_out, pictures))
    index = {
        f"{folder}/README.md": (result.source, list(result.sections.values()), result.entries)
        for folder, result in results.items()
    }
    _write(out / "README.md", first_page(index))
    return out / "README.md"


@dataclass(frozen=True)
class KeptPage:
    """One kept run of a study."""

    section: Section
    body: Body
    verdicts: tuple[Verdict, ...]  # of this run alone
    left_out: tuple[str, ...]  # tables that were too long


@dataclass
class KeptResults:
    """What was kept of one source, by path of its page: those in subfolders were run with other settings."""

    source: Source
    pages: dict[str, KeptPage] = field(default_factory=dict)

    @property
    def sections(self) -> dict[str, Section]:
        return {path: page.section for path, page in self.pages.items()}

    @property
    def entries(self) -> list[Entry]:
        return _entries(self.pages.values())


def _entries(pages: Iterable[KeptPage]) -> list[Entry]:
    """The claims of these studies over all scales that were kept, each once."""
    bodies: dict[str, list[Body]] = {}
    for page in pages:
        bodies.setdefault(page.section.study, []).append(page.body)
    return [entry for name, kept in bodies.items() for entry in entries_of(studies[name](), kept)]


def kept_results(folder: Path, left_out: list[str] | None = None) -> dict[str, KeptResults]:
    """By folder, one for each source, in the order of the sources. What is damaged raises, or is named in
    ``left_out``."""
    found: dict[str, KeptResults] = {}
    for kept in kept_in(folder, left_out):
        try:
            study = studies[kept.record.request.study]()
            body = body_of(study, kept, "kept", left_out)
            section = section_of(study, kept, (kept.record, *kept.runs), kept.drawn())
        except (
            UsageError,
            StoreError,
        ) as error:  # no such study, none with these settings, or figures that are damaged
            if left_out is None:
                raise
            left_out.append(f"{kept.path}. {error}")
            continue
        *above, page = kept.path.relative_to(folder).with_suffix(".md").parts
        source_folder, *below = [*(above or [study.source.name]), page]
        results = found.setdefault(source_folder, KeptResults(study.source))
        results.pages["/".join(below)] = KeptPage(section, body, tuple(judged(study, body)), kept.left_out)
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
    study: Study[Any],
    summary: FinishedRun | Kept,
    records: Sequence[Record],
    tables: Mapping[str, Table] | None = None,
) -> Section:
    """``records``: of the study's run and of those that it was made from, as far as they are still in the store;
    ``tables``: those to be shown, else all that it has."""
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
        scale=scale_of(study, record.request.config),
        seeds=len(record.request.seeds),
        config=_as_set(record.request.config),  # also of a kept result whose study has other keys now
        command=shlex.join(words),
        tables=tuple((summary.tables() if tables is None else tables).values()),
        runs=runs,
        seconds=sum(one.seconds for one in records),
        environment=record.environment,
        deviations=study.deviations,
    )


def _as_set(config: Mapping[str, Any]) -> dict[str, object]:
    """The settings of a record by their dotted keys, lists as configurations have them."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in dotted(config).items()}
