"""Text from files and records as a terminal may show it: nothing in it moves the cursor or changes colors."""

from __future__ import annotations

import re

# Control characters but tab and line feed, DEL and the C1 controls (some terminals obey U+009B as an escape), line and
# paragraph separators, what turns the direction of writing, halves of characters.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, *, lines: bool = True) -> str:
    """The text with such characters written as ``\\x1b``; without ``lines``, tabs and line feeds too."""
    shown = _OBEYED.sub(_written, text)
    return shown if lines else shown.replace("\n", "\\n").replace("\t", "\\t")


def in_json(text: str) -> str:
    """The same for a JSON document, which stays the same to whoever parses it."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def is_one_line(text: str) -> bool:
    return printable(text, lines=False) == text


def _written(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
