"""Names for files, pages and places on them: what a text becomes in an address, each given once."""

from __future__ import annotations

import re


class Names:
    """``empty`` is the name of a text without a letter or digit; ``taken`` are not given."""

    def __init__(self, empty: str, *taken: str) -> None:
        self._empty, self._given = empty, set(taken)

    def new(self, wanted: str) -> str:
        """Lower-case letters, digits and hyphens; numbered from the second time on."""
        slug = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-") or self._empty
        name, number = slug, 2
        while name in self._given:
            name, number = f"{slug}-{number}", number + 1
        self._given.add(name)
        return name
