"""The explorer in a real browser: a page of it, and the check that anybody can use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from watched_page import Watched

from rote.explorer import Explorer

SERIOUS = ("serious", "critical")


@dataclass
class Opener:
    """``explorer.open("connectivity?text=the")`` shows that view; keywords go to the browser context."""

    server: Explorer
    opened: Callable[..., Watched]

    @property
    def url(self) -> str:
        return self.server.url

    def open(self, view: str = "", **settings: object) -> Page:
        page = self.opened(f"{self.server.url}#/{view}", **settings).page
        expect(page.locator("#view .view")).to_be_attached()
        return page


def assert_accessible(page: Page) -> None:
    """axe finds nothing serious or critical on the page as it is now."""
    found = Axe().run(page).response["violations"]
    serious = [
        f"{item['id']}: {item['help']}: {[node['html'][:160] for node in item['nodes'][:3]]}"
        for item in found
        if item["impact"] in SERIOUS
    ]
    assert serious == []
