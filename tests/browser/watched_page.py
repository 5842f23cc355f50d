"""A page under test, with what happened behind it."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import Page


@dataclass
class Watched:
    """A page, and what it asked for and complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def from_outside(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]
