"""What a source published and what came out here in one figure, wherever both have the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.report.section import Section
from rote.store import Table

AS_PUBLISHED = "as published"  # how a source measured, in a table that measures in several ways
OWN_DASHES = ("memorization-accuracy",)  # figures that tell other things by dashes: six networks would look alike
NOTE = "What is called published is the source's own."


def laid_over(sections: Sequence[Section]) -> list[Section]:
    """The sections, with the source's own curves in their figures too: those of a section without seeds, which worked
    out what the source stored, where figure and title are the same. That section keeps its figures."""
    stored = {
        (section.source.name, table.figure, table.title): table
        for section in sections
        for table in section.tables
        if section.seeds == 0 and table.figure and table.figure not in OWN_DASHES
    }

    def together(section: Section, table: Table) -> Table:
        theirs = stored.get((section.source.name, table.figure, table.title))
        return table if theirs is None or section.seeds == 0 or not table.rows else _joined(table, theirs)

    return [replace(one, tables=tuple(together(one, table) for table in one.tables)) for one in sections]


def _joined(ours: Table, theirs: Table) -> Table:
    """Behind each network of ours the published one of its name; the first column of theirs says which it is."""
    name = theirs.names[0]
    if name not in ours.names:
        return ours
    mine, published = ours.records(), [_as_ours(row, ours) for row in theirs.records()]
    rows: list[Mapping[str, Any]] = []
    for one in dict.fromkeys(row[name] for row in (*mine, *published)):
        rows += [row for row in mine if row[name] == one]
        rows += [{**row, name: f"{one}, published"} for row in published if row[name] == one]
    joined = Table.make(ours.name, ours.title, ours.columns, rows)
    return replace(ours, rows=joined.rows, note=f"{ours.note} {NOTE}".strip())


def _as_ours(row: Mapping[str, Any], ours: Table) -> dict[str, Any]:
    """A row of theirs with the labels that ours has beside: it was measured as it was published."""
    missing = [name for name in ours.names if name not in row]
    ways = [name for name in missing if AS_PUBLISHED in ours.column(name)]
    return {**row, **dict.fromkeys(ways, AS_PUBLISHED)}
