"""Names of files that are made from texts: of studies, of tables, of parts of a study."""

from __future__ import annotations

import re
from collections.abc import Container

from rote.printable import is_one_line

LONGEST = 200  # bytes: an ending such as .json.tmp must fit too
SHORT = 120  # bytes of a name that is made here


def is_file_name(text: str) -> bool:
    """Whether a text is a plain name: no path, not hidden, nothing that a terminal would obey."""
    if not is_one_line(text) or text.startswith(".") or {"/", "\\"} & set(text):
        return False
    return 0 < len(text.encode()) <= LONGEST


def file_name(text: str, taken: Container[str] = ()) -> str:
    """The text as the name of one file in whatever folder: no path, not hidden, not too long, none that is taken."""
    plain = re.sub(r"[/\\\x00-\x1f\x7f-\x9f]", "-", text).lstrip(".").encode(errors="replace")[:SHORT]
    name = wanted = plain.decode(errors="ignore") or "unnamed"
    number = 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    return name
