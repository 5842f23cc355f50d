"""The tables and figures of a report as files beside the page, and what the page needs to show and link them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from rote.errors import RoteError, UsageError
from rote.figures import Figure, Format, draw, export
from rote.figures.export import to_json
from rote.report.tables import to_csv, to_latex, to_markdown
from rote.store import Table

FORMATS: tuple[Format, ...] = ("png", "svg", "pdf")
_TABLE_FILES: dict[str, tuple[str, Callable[[Table], str]]] = {
    "CSV": ("csv", to_csv),
    "Markdown": ("md", to_markdown),
    "LaTeX": ("tex", to_latex),
}


@dataclass(frozen=True)
class Download:
    label: str
    path: str  # relative to the page
    size: int  # bytes


@dataclass(frozen=True)
class Drawing:
    """A figure on the page: what Vega draws, and the picture for print and for readers without scripts."""

    spec: str  # JSON without a theme: the page adds the one that fits the reader's
    picture: str
    width: int
    height: int


@dataclass(frozen=True)
class Exhibit:
    """One table, as the page shows it."""

    anchor: str
    table: Table
    downloads: tuple[Download, ...]
    drawing: Drawing | None = None
    problem: str = ""  # why there is no drawing, where there should be one


class Shelf:
    """Writes exhibits under a folder, each under a name of its own."""

    def __init__(self, folder: Path, formats: Collection[str] = ()) -> None:
        unknown = [name for name in formats if name not in FORMATS]
        if unknown:
            raise UsageError(f"Figures are kept as {', '.join(FORMATS)}. Got {unknown[0]!r}.")
        self.folder, self.formats = folder, formats
        self._names: set[str] = set()

    def put(self, table: Table, prefix: str) -> Exhibit:
        """Write the table's files and its figure's."""
        name = self._name(f"{prefix}-{table.name}" if prefix else table.name)
        # Long data are for programs; nobody sets sixty thousand rows in a paper.
        kinds = ["CSV"] if table.details else list(_TABLE_FILES)
        downloads = [self._table(table, name, kind) for kind in kinds]
        if not table.figure or not table.rows:
            return Exhibit(name, table, tuple(downloads))
        try:
            drawing, pictures = self._figure(draw(table), name)
        except RoteError as error:
            return Exhibit(name, table, tuple(downloads), problem=str(error))
        return Exhibit(name, table, (*pictures, *downloads), drawing)

    def _table(self, table: Table, name: str, kind: str) -> Download:
        ending, text = _TABLE_FILES[kind]
        # As bytes: CSV has its own line ends.
        return self._write(f"tables/{name}.{ending}", text(table).encode(), kind)

    def _figure(self, figure: Figure, name: str) -> tuple[Drawing, list[Download]]:
        # The SVG is always there, since the page shows it in print.
        wanted: list[Format] = [kind for kind in FORMATS if kind == "svg" or kind in self.formats]
        svg = export(figure, "svg")
        files = {kind: svg if kind == "svg" else export(figure, kind) for kind in wanted}
        downloads = [self._write(f"figures/{name}.{kind}", data, kind.upper()) for kind, data in files.items()]
        downloads.append(self._write(f"figures/{name}.vl.json", export(figure, "json"), "Vega-Lite"))
        spec = {key: value for key, value in figure.spec().items() if key != "config"}
        width, height = _size(svg)
        return Drawing(to_json(spec), f"figures/{name}.svg", width, height), downloads

    def _write(self, path: str, data: bytes, label: str) -> Download:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return Download(label, path, len(data))

    def _name(self, wanted: str) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-") or "table"
        name, number = slug, 2
        while name in self._names:
            name, number = f"{slug}-{number}", number + 1
        self._names.add(name)
        return name


def _size(svg: bytes) -> tuple[int, int]:
    """Width and height in the SVG's first tag: the page keeps that room for the figure until it is drawn."""
    tag = svg[: svg.find(b">", svg.find(b"<svg"))].decode()
    found = {name: float(value) for name, value in re.findall(r'\b(width|height)="([\d.]+)', tag)}
    return round(found.get("width", 640)), round(found.get("height", 400))
