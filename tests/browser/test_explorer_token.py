"""The token of the printed address in a browser: it lets in, is seen nowhere afterwards, and its lack is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from explorer_server import Opener
from playwright.sync_api import Page, expect
from watched_page import Watched

from rote.explorer import Explorer, Workbench
from rote.store import Store

pytestmark = pytest.mark.browser
VIEW = "autocomplete?text=the+uni"
NEEDED = "The token of this explorer is needed. Open the address that it printed"


def working(page: Page) -> None:
    expect(page.locator(".choice-word").first).to_be_visible()


def test_the_token_lets_in_and_is_nowhere_afterwards(explorer: Opener) -> None:
    server, seen = explorer.server, explorer.opened("about:blank")
    seen.server, page, referrers = server.address, seen.page, []
    page.on("request", lambda request: referrers.append(request.headers.get("referer")))
    page.goto(f"{server.url}#/{VIEW}")
    working(page)
    assert page.url.startswith(f"{server.address}#/autocomplete?")
    assert [url for url in seen.requests if str(server.token) in url] == [server.url]
    assert not any(referrers)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Offline HTML").click()
    saved = Path(download.value.path()).read_text(encoding="utf-8")
    assert "the+uni" in saved or "the uni" in saved
    assert str(server.token) not in saved
    other = page.context.new_page()  # a link that was copied, in another tab
    other.goto(page.url)
    working(other)
    other.reload()
    working(other)


def test_who_has_no_token_reads_how_to_get_in(explorer: Opener) -> None:
    seen = explorer.opened(f"{explorer.server.address}#/{VIEW}")
    expect(seen.page.get_by_role("alert")).to_contain_text(NEEDED)
    expect(seen.page.locator("#views a")).to_have_count(0)
    assert all("403 (Forbidden)" in complaint for complaint in seen.complaints)
    seen.complaints.clear()


def test_an_old_tab_is_told_that_the_explorer_was_restarted_and_goes_on_once_one_is_let_in(
    opened: Callable[..., Watched], tmp_path: Path
) -> None:
    with Explorer(Workbench(Store(tmp_path)), port=0) as first:
        seen = opened(f"{first.url}#/{VIEW}")
        working(seen.page)
    with Explorer(Workbench(Store(tmp_path)), port=int(first.address.split(":")[2][:-1])) as second:
        assert second.address == first.address
        area = seen.page.get_by_label("Type here")
        area.press_sequentially("t")
        expect(seen.page.get_by_role("alert")).to_contain_text(NEEDED)
        new = seen.page.context.new_page()
        new.goto(f"{second.url}#/{VIEW}")
        working(new)
        area.press_sequentially("e")
        expect(seen.page.locator(".choice-word").first).to_have_text("united")
        expect(seen.page.get_by_role("alert")).to_be_hidden()
        seen.page.goto("about:blank")  # it asks for what was expected earlier, still
    assert any("403 (Forbidden)" in complaint for complaint in seen.complaints)
    seen.complaints.clear()
