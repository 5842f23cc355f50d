"""A link to a folder, as the repository shows it, leads to the README of that folder, or to its first page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<=\]\()[^)#\s:]+(?=\))")


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", resolve)
    return {"parallel_read_safe": True}


def resolve(app: Any, document: str, source: list[str]) -> None:
    here = Path(app.env.doc2path(document)).parent

    def page(found: re.Match[str]) -> str:
        pages = [here / found[0] / "README.md", *sorted((here / found[0]).glob("*.md"))]
        return next((f"{found[0]}/{path.name}" for path in pages if path.exists()), found[0])

    source[0] = LINK.sub(page, source[0])
