"""The explorer in a real browser: a page of it, and the check that anybody can use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


TAKEN = """async ([name, values, mark]) => {
    const { view } = await import(`/static/views/${name}.js`);
    const { liveApi, Recording } = await import("/static/lib/api.js");
    const root = document.createElement("section");
    root.className = `view-${name}`;
    document.querySelector("#view").append(root);
    const state = { get: () => values, set() {} };
    const context = { api: liveApi(new Recording()), state, announce() {}, fail(error) { throw error; } };
    const mounted = view.mount(root, context);
    while (!root.dataset[mark]) await new Promise((done) => setTimeout(done, 20));
    const taken = { data: mounted.data(), drawn: new XMLSerializer().serializeToString(mounted.svg()) };
    mounted.unmount();
    root.remove();
    return JSON.stringify(taken);
}"""


def taken_from(page: Page, view: str, values: dict[str, str], mark: str) -> dict[str, Any]:
    """What a view with this state gives to be taken away, ``data`` and the picture ``drawn``, as soon as it is marked:
    as soon as its section has the data attribute ``mark``."""
    taken: dict[str, Any] = json.loads(page.evaluate(TAKEN, [view, values, mark]))
    return taken


def assert_accessible(page: Page) -> None:
    """axe finds nothing serious or critical on the page as it is now."""
    found = Axe().run(page).response["violations"]
    serious = [
        f"{item['id']}: {item['help']}: {[node['html'][:160] for node in item['nodes'][:3]]}"
        for item in found
        if item["impact"] in SERIOUS
    ]
    assert serious == []
