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
    server: str | None = None  # where it comes from, if not from a file

    @property
    def from_outside(self) -> list[str]:
        inside = ("file:", "data:", "blob:") + ((self.server,) if self.server else ())
        return [url for url in self.requests if not url.startswith(inside)]
