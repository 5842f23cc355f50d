"""The figures of kept results as small pictures beside their Markdown pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rote.errors import RoteError
from rote.figures.export import compact_png
from rote.report.names import Names
from rote.report.section import Section
from rote.store import write_atomically

FOLDER = "figures"


def figure_paths(section: Section) -> dict[str, str]:
    """Name of a table with a figure -> path of its picture, from the folder of the section's page."""
    names = Names("figure")
    drawn = [table for table in section.tables if table.figure and table.rows]
    return {table.name: f"{FOLDER}/{names.new(f'{section.study}-{table.name}')}.png" for table in drawn}


def draw_figures(section: Section, paths: Mapping[str, str], folder: Path) -> None:
    """Write the pictures under the folder of the section's page."""
    for table in section.tables:
        if table.name not in paths:
            continue
        path = folder / paths[table.name]
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            picture = compact_png(table)
        except RoteError as error:
            raise RoteError(f"The figure of the table {table.name!r} of {section.study}: {error}") from error
        write_atomically(path, picture)
