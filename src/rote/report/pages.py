"""Kept results as Markdown pages: one for each study, and one for each source with what was claimed and found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.claims import Scale, Source, Verdict
from rote.laboratory import Entry
from rote.laboratory.tally import multiplicity, summary
from rote.report.cards import ROLES, numbers_said, scale_label
from rote.report.numbers import shown, with_interval
from rote.report.section import Section
from rote.report.tables import headed, pictured, to_markdown
from rote.store import Column, Table

_REBUILD = "rote report --kept docs/reproduction --markdown"
_SCALES = {
    "published": "At the published scale",
    "altered": "With {n} of the published settings altered",
    "own": "At a scale of our own: the source gives none",
    "quick": "At the scale quick, smaller than the source's",
    "smoke": "At the scale smoke, which only shows that all works",
}


def scale_said(scale: Scale) -> str:
    """A run's scale in words, with what was altered."""
    n = len(scale.altered)
    told = _SCALES[scale.name].format(n="one" if n == 1 else n)
    settings = f" (`{'`, `'.join(scale.altered)}`)" if scale.altered else ""
    return f"{told}{settings}" + (", on stand-in data" if scale.stand_in else "")


def study_page(
    section: Section, verdicts: Sequence[Verdict], left_out: Sequence[str], pictures: Mapping[str, str] | None = None
) -> str:
    """``verdicts``: of this run alone; ``pictures``: of figures, by their tables' names, the paths from the page."""
    pictures = pictures or {}
    environment: Mapping[str, Any] = section.environment
    versions = ", ".join(f"{name} {environment.get('packages', {}).get(name)}" for name in ("torch", "numpy"))
    commit = (environment.get("commit") or "unknown")[:12]
    told = [verdict for verdict in verdicts if verdict.findings]
    numbers = [verdict for verdict in told if verdict.numbers]
    lines = [
        f"# {section.title}", "",
        f"{section.source.label}, {section.place}. {scale_said(section.scale)}, {_seeds(section.seeds)}. Made by "
        f"`{section.command}` at commit {commit}, {versions}; {len(section.runs)} runs, {section.seconds / 60:.0f} "
        "minutes of their wall time together.", "",
        *([to_markdown(counted(told))] if told else []),
        *([to_markdown(compared(numbers))] if numbers else []),
        *(_shown(table, pictures.get(table.name, "")) for table in section.tables if _has_place(table, pictures)),
    ]  # fmt: skip
    if section.deviations:
        lines += ["### Deviations from the source, and what it leaves open", ""]
        lines += [f"- {deviation}" for deviation in section.deviations] + [""]
    files = f"All digits, and every run's record, are in `{section.study}.json`. This page is made by `{_REBUILD}`."
    if left_out:
        files += f" Too long to keep: {', '.join(left_out)}."
    return "\n".join([*lines, files]) + "\n"


def _has_place(table: Table, pictures: Mapping[str, str]) -> bool:
    return not table.details or table.name in pictures


def _shown(table: Table, picture: str) -> str:
    """A table, its figure below it; of one with details the figure alone."""
    drawn = pictured(table, picture) if picture else ""
    if table.details:
        return "\n".join([*headed(table), drawn])
    return f"{to_markdown(table)}\n{drawn}" if drawn else to_markdown(table)


def source_page(source: Source, notes: str, pages: Mapping[str, Section], entries: Sequence[Entry]) -> str:
    """``pages``: by path from this page."""
    lines = [f"# {source.label}: {source.title}", ""]
    if entries:
        lines += [summary(entries), *([multiplicity(entries)] if multiplicity(entries) else []), ""]
    if notes:
        lines += [notes.strip(), ""]
    groups = {
        "What was claimed, what was found": [entry for entry in entries if entry.claim.tallied],
        "Ours": [entry for entry in entries if entry.claim.kind == "ours"],
        "Audits: a text against its own data or program": [entry for entry in entries if entry.claim.kind == "audit"],
    }
    lines += [to_markdown(found(title, group)) for title, group in groups.items() if group]
    identities = [entry for entry in entries if entry.claim.kind == "identity"]
    if identities:
        lines += [to_markdown(tested(identities))]
    lines += ["### Pages", "", *(f"- {_link(path, section)}" for path, section in pages.items()), ""]
    return "\n".join([*lines, f"Made from the kept results beside it by `{_REBUILD}`."]) + "\n"


def first_page(sources: Mapping[str, tuple[Source, Sequence[Section], Sequence[Entry]]]) -> str:
    """``sources``: by path of the source's page."""
    every = [entry for _, _, entries in sources.values() for entry in entries]
    lines = [
        "# Kept results", "",
        "What came out when the studies were run, each at the scale that its page names: at the published one where "
        "that was within reach. [How verdicts are made](../verdicts.md)", "",
    ]  # fmt: skip
    if every:
        lines += [f"{summary(every)} {multiplicity(every)}".strip(), ""]
    for path, (source, sections, entries) in sources.items():
        scales = ", ".join(dict.fromkeys(str(section.scale) for section in sections))
        said = summary(entries) if entries else "No claims."
        lines += [f"- {source.label}: [{source.title}]({path}) (scale: {scales}). {said}"]
    keeping = "A finished study is added with `rote runs keep ID --out docs/reproduction/SOURCE`; these pages are made"
    return "\n".join([*lines, "", f"{keeping} by `{_REBUILD}`."]) + "\n"


def counted(verdicts: Sequence[Verdict]) -> Table:
    """Every assertion of every claim that this run has, the verdict at the first of each."""
    rows = [
        {
            "claim": "" if number else verdict.claim.id, "verdict": "" if number else verdict.said,
            "source": "" if number else verdict.claim.published,
            "counted": one.label if one.role == "part" else f"{one.label} ({one.role})", "expected": one.expected,
            "seeds": f"{one.k}/{one.n}" if one.n else "not measured",
            "share of all": f"{one.share[0]:.2f} to {one.share[1]:.2f}" if one.n else None,
            "mean": with_interval(one.estimate) if one.n else None, "outcome": one.outcome if one.n else None,
        }
        for verdict in verdicts
        for number, one in enumerate(sorted(verdict.findings, key=lambda one: ("part", *ROLES).index(one.role)))
    ]  # fmt: skip
    columns = [Column("claim", role="label"), Column("verdict", role="label"), Column("source", "", "published")]
    columns += [Column(name) for name in ("counted", "expected", "seeds", "share of all", "mean", "outcome")]
    note = "Seeds in which it holds, and the share of all seeds that this leaves possible. In brackets: 95 % intervals."
    return Table.make("verdicts", "Verdicts", columns, rows, note=note)


def compared(verdicts: Sequence[Verdict]) -> Table:
    """Our numbers against the published ones."""
    rows = [
        {
            "claim": verdict.claim.id, "number": one.label, "theirs": one.published, "ours": one.ours, "n": one.n,
            "difference": f"{shown(one.difference)} [{shown(one.low)}, {shown(one.high)}]", "match": one.match,
            "unnoticed": one.unnoticed if one.match == "consistent" else None,
        }
        for verdict in verdicts
        for one in verdict.numbers
    ]  # fmt: skip
    columns = [Column("claim", role="label"), Column("number", role="label"), Column("theirs", "", "published")]
    columns += [Column(name) for name in ("ours", "n", "difference", "match", "unnoticed")]
    return Table.make("numbers", "Numbers against the published", columns, rows)


def found(title: str, entries: Sequence[Entry]) -> Table:
    """What was claimed and what was found, a row for each claim and scale."""
    rows = [
        {
            "place": "" if number else entry.claim.place, "claim": "" if number else entry.claim.statement,
            "source": "" if number else entry.claim.published, "scale": scale_label(verdict) or None,
            "verdict": verdict.said, "seeds": verdict.count or None, "numbers": numbers_said(verdict) or None,
            "status": verdict.status or None, "what would settle it": None if number else verdict.settle or None,
        }
        for entry in entries
        for number, verdict in enumerate(entry.verdicts)
    ]  # fmt: skip
    columns = [Column("place", role="label"), Column("claim", role="label"), Column("source", "", "published")]
    columns += [Column(name) for name in ("scale", "verdict", "seeds", "numbers", "status", "what would settle it")]
    return Table.make("claims", title, columns, rows)


def tested(entries: Sequence[Entry]) -> Table:
    """What can only fail by a mistake, with the test that would."""
    rows = [{"place": one.claim.place, "claim": one.claim.statement, "test": one.claim.test} for one in entries]
    return Table.make(
        "identities", "Identities", [Column(name, role="label") for name in ("place", "claim", "test")], rows
    )


def _link(path: str, section: Section) -> str:
    return f"[{section.title}]({path}), {section.scale}: `{section.command}`"


def _seeds(n: int) -> str:
    return "1 seed" if n == 1 else f"{n} seeds"
