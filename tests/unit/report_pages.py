"""A small report, and what a browser would make of its pages."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from sample_tables import outcome_table, section

from rote.report import Section


class Page(HTMLParser):
    """What a browser would make of pages: tags, attributes, scripts and text."""

    def __init__(self, *paths: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data_scripts: dict[str, str] = {}
        self.text = ""
        self._inside: str | None = None
        for path in paths:
            self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "script" and attributes.get("type") == "application/json":
            self._inside = attributes["id"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.text += data
        else:
            self.data_scripts[self._inside] = self.data_scripts.get(self._inside, "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def whole(first: Path) -> Page:
    """The first page of a report and those of its sources."""
    return Page(*sorted(first.parent.glob("*.html")))


def small(**changes: object) -> Section:
    return section(outcome_table(), **changes)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
