"""The tokens of a sequence along an axis: written out while each of them has room, else only the steps' numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rote.store import Table

NAMED = 40  # steps whose tokens are written out
_SEEN = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥"})


def visible(name: str) -> str:
    """A token as it can be seen: spaces before and after it, line breaks and tabs as signs."""
    bare = name.strip()
    if not bare:
        return name.translate(_SEEN)
    before, after = name.split(bare, 1)
    return before.translate(_SEEN) + bare.replace("\n", "↵").replace("\t", "⇥") + after.translate(_SEEN)


def tokens_of(table: Table, sequence: int) -> Sequence[str] | None:
    """The tokens of a sequence of the batch, where ``Result.figure`` was told the vocabulary."""
    found = table.options.get("tokens")
    return None if found is None else list(map(visible, found[sequence]))


def turned(names: Sequence[str]) -> dict[str, Any]:
    """Names below an axis that are wider than a step stand upright, so that none is left out or lies on another."""
    if max(map(len, names)) < 2:
        return {"labelAngle": 0}
    return {"labelAngle": -90, "labelBaseline": "middle", "labelAlign": "right"}
