"""Links from the first page to the gallery, where that is built into the site."""

from __future__ import annotations

import html
from typing import Any

from gallery import PAGES

PLACE = "<!-- gallery -->"


def link_gallery(app: Any, name: str, source: list[str]) -> None:
    """Put the list of its pages in the place that the first page keeps for it."""
    if name == app.config.root_doc and app.config.html_extra_path:
        items = [
            f'<li><a href="../gallery/{file}.html">{html.escape(title)}</a> {html.escape(about)}</li>'
            for file, _, title, about, _ in PAGES
        ]
        source[0] = source[0].replace(PLACE, "<ul>" + "".join(items) + "</ul>")


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", link_gallery)
    return {"parallel_read_safe": True}
