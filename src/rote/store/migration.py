"""What leads from an earlier format of a document to the present one.

Files stay as they were written, since others know their checksums: an earlier format is brought up to date in memory,
whenever it is read, in one step for each version. Who changes what a kind of document holds raises its version there
and adds the step here. ``tests/unit/test_versions.py`` reads a store of version 0.1, with a document of every kind, and
fails where a step is missing. A kept result holds records and tables, so its step takes theirs.

Weights were not packed in their first version. Every other format is the one that Rote 0.1 wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS: dict[tuple[str, int], Callable[[Any], Any]] = {  # kind and version -> its body as the next version has it
    ("rote weights", 1): lambda body: body,
}


def up_to_date(body: Any, kind: str, found: int, wanted: int) -> Any:
    """The body of a document of the version ``found`` as one of the version ``wanted``."""
    for version in range(found, wanted):
        body = STEPS[kind, version](body)
    return body
