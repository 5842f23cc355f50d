"""Kept results as Markdown pages: one for each study, and one for each source with what was claimed and found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.claims import Source, Verdict
from rote.report.ledger import summary
from rote.report.numbers import shown
from rote.report.section import Section
from rote.report.tables import to_markdown
from rote.store import Column, Table

_REBUILD = "rote report --kept docs/reproduction --markdown"


def study_page(section: Section, left_out: Sequence[str]) -> str:
    environment: Mapping[str, Any] = section.environment
    versions = ", ".join(f"{name} {environment.get('packages', {}).get(name)}" for name in ("torch", "numpy"))
    commit = (environment.get("commit") or "unknown")[:12]
    lines = [
        f"# {section.title}", "",
        f"{section.source.label}, {section.place}. Made by `{section.command}` at commit {commit}, {versions}; "
        f"{len(section.runs)} runs, {section.seconds / 60:.0f} minutes of their wall time together.", "",
        to_markdown(measurements(section.verdicts)),
        *(to_markdown(table) for table in section.tables if not table.details),
    ]  # fmt: skip
    if section.deviations:
        lines += ["### Deviations from the source, and what it leaves open", ""]
        lines += [f"- {deviation}" for deviation in section.deviations] + [""]
    files = f"All digits, and every run's record, are in `{section.study}.json`. This page is made by `{_REBUILD}`."
    if left_out:
        files += f" Too long to keep: {', '.join(left_out)}."
    return "\n".join([*lines, files]) + "\n"


def source_page(source: Source, notes: str, pages: Mapping[str, Section]) -> str:
    """``pages``: by path from this page, the main results first; those in subfolders are other settings."""
    main = [section for path, section in pages.items() if "/" not in path]
    verdicts = [verdict for section in main for verdict in section.verdicts]
    lines = [f"# {source.label}: {source.title}", ""]
    if verdicts:
        lines += [summary(verdicts), ""]
    if notes:
        lines += [notes.strip(), ""]
    if verdicts:
        lines += [to_markdown(found(verdicts))]
    lines += ["### Pages", "", *(f"- {_link(path, section)}" for path, section in pages.items()), ""]
    return "\n".join([*lines, f"Made from the kept results beside it by `{_REBUILD}`."]) + "\n"


def first_page(sources: Mapping[str, tuple[Source, Sequence[Verdict]]]) -> str:
    """``sources``: by path of the source's page."""
    lines = [
        "# Results at the published scale", "",
        "What came out when the studies were run at the published scale, or as near to it as their pages say.", "",
    ]  # fmt: skip
    for path, (source, verdicts) in sources.items():
        said = summary(list(verdicts)) if verdicts else "No published claims."
        lines += [f"- {source.label}: [{source.title}]({path}). {said}"]
    keeping = "A finished study is added with `rote runs keep ID --out docs/reproduction/SOURCE`; these pages are made"
    return "\n".join([*lines, "", f"{keeping} by `{_REBUILD}`."]) + "\n"


def measurements(verdicts: Sequence[Verdict]) -> Table:
    """Every measurement of every claim, the verdict at the first of each."""
    rows = [
        {
            "claim": verdict.claim.id if not number else "", "verdict": verdict.outcome if not number else "",
            "source": verdict.claim.published if not number else "",
            "measured": item.label if item.role == "main" else f"{item.label} ({item.role})",
            "ours": f"{shown(item.estimate.value)} [{shown(item.estimate.low)}, {shown(item.estimate.high)}]",
            "n": item.estimate.n, "expected": item.expected,
        }
        for verdict in verdicts
        for number, item in enumerate(verdict.evidence)
    ]  # fmt: skip
    columns = [Column(name, role="label") for name in ("claim", "verdict")]
    columns += [Column("source", "", "published"), *(Column(name) for name in ("measured", "ours", "n", "expected"))]
    return Table.make("verdicts", "Verdicts", columns, rows, note="In brackets: 95 % intervals over seeds.")


def found(verdicts: Sequence[Verdict]) -> Table:
    """What was claimed and what was found, a row for each claim."""
    rows = [
        {
            "place": verdict.claim.place, "claim": verdict.claim.statement, "source": verdict.claim.published,
            "verdict": verdict.outcome, "why": verdict.reason, "preset": verdict.preset,
        }
        for verdict in verdicts
    ]  # fmt: skip
    columns = [Column("place", role="label"), Column("claim", role="label"), Column("source", "", "published")]
    columns += [Column(name) for name in ("verdict", "why", "preset")]
    return Table.make("claims", "What was claimed, what was found", columns, rows)


def _link(path: str, section: Section) -> str:
    return f"[{section.title}]({path}): `{section.command}`"
