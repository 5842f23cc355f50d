"""A finished study as small text files that a repository can hold: what ran, what came out, every verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rote.claims import Verdict
from rote.report.numbers import shown
from rote.report.section import Section
from rote.report.tables import to_csv, to_markdown
from rote.store import Column, Table, write_atomically

MOST_ROWS = 2000  # of a table that is kept; figures' raw data can be much longer


def keep(section: Section, records: Sequence[Mapping[str, Any]], out: Path) -> Path:
    """Write ``<study>.md``, ``<study>-records.json``, ``<study>-verdicts.json`` and one CSV per table into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    kept = [table for table in section.tables if len(table.rows) <= MOST_ROWS]
    left = [table.name for table in section.tables if len(table.rows) > MOST_ROWS]
    for table in kept:
        write_atomically(out / f"{section.study}-{table.name}.csv", to_csv(table).replace("\r\n", "\n").encode())
    _write_json(out / f"{section.study}-records.json", records)
    _write_json(out / f"{section.study}-verdicts.json", [_plain(verdict) for verdict in section.verdicts])
    page = out / f"{section.study}.md"
    write_atomically(page, _page(section, kept, left).encode())
    return page


def _page(section: Section, kept: Sequence[Table], left: Sequence[str]) -> str:
    environment: Mapping[str, Any] = section.environment
    versions = ", ".join(f"{name} {environment.get('packages', {}).get(name)}" for name in ("torch", "numpy"))
    commit = (environment.get("commit") or "unknown")[:12]
    lines = [
        f"# {section.title}", "",
        f"Source {section.source.id}, {section.place}. Made by `{section.command}` at commit {commit}, {versions}; "
        f"{len(section.runs)} runs, {section.seconds / 60:.0f} minutes of their wall time together.", "",
        to_markdown(verdict_table(section.verdicts)),
        *(to_markdown(table) for table in kept if not table.details),
    ]  # fmt: skip
    if section.deviations:
        lines += ["### Deviations from the source, and what it leaves open", ""]
        lines += [f"- {deviation}" for deviation in section.deviations] + [""]
    files = f"All digits are in the CSV files beside this page, every run's record in `{section.study}-records.json`."
    if left:
        files += f" Too long to keep: {', '.join(left)}."
    return "\n".join([*lines, files]) + "\n"


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
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


def _plain(verdict: Verdict) -> dict[str, Any]:
    claim = verdict.claim
    return {
        "claim": claim.id, "place": claim.place, "statement": claim.statement, "published": claim.published,
        "verdict": verdict.outcome, "reason": verdict.reason, "preset": verdict.preset,
        "evidence": [asdict(item) for item in verdict.evidence],
    }  # fmt: skip


def _write_json(path: Path, content: Any) -> None:
    write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n").encode())
