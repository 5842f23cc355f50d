"""The tables and figures of a report as files beside the page, and what the page needs to show and link them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rote.errors import RoteError
from rote.figures import Figure, draw
from rote.figures.export import PICTURES, Picture, render, size_of, to_json
from rote.report.names import Names
from rote.report.tables import to_csv, to_latex, to_markdown
from rote.store import Table

LONG = 40_000  # bytes of a table's file above which it is compressed
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


class Exhibits:
    """Writes exhibits under a folder, each under a name of its own."""

    def __init__(self, folder: Path, earlier: Path | None = None) -> None:
        self.folder, self.earlier = folder, earlier
        self._names = Names("table")

    def put(self, table: Table, prefix: str) -> Exhibit:
        """Write the table's files and its figure's."""
        name = self._names.new(f"{prefix}-{table.name}" if prefix else table.name)
        # Long data are for programs; nobody sets sixty thousand rows in a paper.
        kinds = ["CSV"] if table.details else list(_TABLE_FILES)
        downloads = [self._table(table, name, kind) for kind in kinds]
        if not table.figure or not table.rows:
            return Exhibit(name, table, tuple(downloads))
        try:
            drawing, pictures = self._figure(draw(table), name)
        except RoteError as error:
            return Exhibit(name, table, tuple(downloads), problem=str(error))
        except Exception as error:  # whatever a figure makes of a table that it does not fit
            return Exhibit(name, table, tuple(downloads), problem=f"{type(error).__name__}: {error}.")
        return Exhibit(name, table, (*pictures, *downloads), drawing)

    def _table(self, table: Table, name: str, kind: str) -> Download:
        ending, text = _TABLE_FILES[kind]
        data = text(table).encode()  # as bytes: CSV has its own line ends
        if len(data) <= LONG:
            return self._write(f"tables/{name}.{ending}", data, kind)
        # Programs read it as it is; mtime=0: the same table is the same file.
        return self._write(f"tables/{name}.{ending}.gz", gzip.compress(data, mtime=0), f"{kind}, gzip")

    def _figure(self, figure: Figure, name: str) -> tuple[Drawing, list[Download]]:
        complete = figure.spec()
        described = to_json(complete).encode() + b"\n"
        pictures = self._drawn_before(name, described) or render(figure)
        downloads = [self._write(f"figures/{name}.{kind}", data, kind.upper()) for kind, data in pictures.items()]
        downloads.append(self._write(f"figures/{name}.vl.json", described, "Vega-Lite"))
        spec = {key: value for key, value in complete.items() if key != "config"}
        # The page keeps that room for the figure until it is drawn.
        width, height = map(round, size_of(pictures["svg"].decode()))
        return Drawing(to_json(spec), f"figures/{name}.svg", width, height), downloads

    def _drawn_before(self, name: str, described: bytes) -> dict[Picture, bytes] | None:
        """The pictures of the report that this one replaces, if the figure has not changed."""
        if self.earlier is None:
            return None
        figures = self.earlier / "figures"
        try:
            if (figures / f"{name}.vl.json").read_bytes() != described:
                return None
            return {kind: (figures / f"{name}.{kind}").read_bytes() for kind in PICTURES}
        except OSError:
            return None

    def _write(self, path: str, data: bytes, label: str) -> Download:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return Download(label, path, len(data))
