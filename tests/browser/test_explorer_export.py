"""Every view as a file: the same in one page without a server, a picture, a table; and as a link."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Download, Page, expect
from watched_page import Watched

from rote.explorer import views

pytestmark = pytest.mark.browser
VIEWS = [view.name for view in views.VIEWS if view.name != "runs"]  # there are no runs in this store; see below


def export(page: Page, item: str) -> Download:
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name=item).click()
    return started.value


def saved(page: Page, item: str, folder: Path) -> Path:
    found = export(page, item)
    path = folder / found.suggested_filename
    found.save_as(path)
    return path


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_becomes_files(explorer: Opener, opened: Callable[..., Watched], tmp_path: Path, view: str) -> None:
    page = explorer.open(f"{view}?text=the+united+sta")
    page.wait_for_load_state("networkidle")
    html = saved(page, "Offline HTML", tmp_path)
    assert html.name == f"rote-{view}.html"
    rows = list(csv.reader(io.StringIO(saved(page, "CSV", tmp_path).read_text(encoding="utf-8"), newline="")))
    data = json.loads(saved(page, "JSON", tmp_path).read_text())
    assert rows[0] == data["columns"]
    assert len(rows) - 1 == len(data["rows"]) > 0
    drawing = ElementTree.parse(saved(page, "SVG", tmp_path)).getroot()
    assert drawing.tag.endswith("svg")
    assert float(drawing.attrib["width"]) > 100
    assert "var(--" not in (tmp_path / f"rote-{view}.svg").read_text()
    assert saved(page, "PNG", tmp_path).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

    offline = opened(html)
    expect(offline.page.locator("h1")).to_have_text(page.locator("h1").inner_text())
    expect(offline.page.locator(".view > *").first).to_be_visible()
    expect(offline.page.locator(".banner")).to_be_hidden()
    offline.page.wait_for_timeout(300)
    assert [url for url in offline.requests if url.startswith("http")] == []


def test_text_of_the_user_cannot_leave_its_place_in_the_file(
    explorer: Opener, opened: Callable[..., Watched], tmp_path: Path
) -> None:
    page = explorer.open("ledger?q=</script><script>document.title='taken'</script>")
    expect(page.get_by_role("heading", name="No claim fits")).to_be_visible()
    offline = opened(saved(page, "Offline HTML", tmp_path)).page
    expect(offline.get_by_label("Search")).to_have_value("</script><script>document.title='taken'</script>")
    assert offline.title() == "Ledger · Rote explorer"


def test_a_saved_view_says_what_needs_the_server(
    explorer: Opener, opened: Callable[..., Watched], tmp_path: Path
) -> None:
    page = explorer.open("ledger")
    expect(page.locator(".claim").first).to_be_visible()
    offline = opened(saved(page, "Offline HTML", tmp_path)).page
    offline.get_by_label("Search").fill("grammar")  # works on what was saved
    expect(offline.locator(".view-ledger .filtered")).to_contain_text("Showing")
    offline.get_by_label("Kind").select_option("audit")
    offline.locator(".claim summary").first.click()
    expect(offline.locator(".claim-body .evidence").first).to_be_visible()


def test_what_is_empty_is_not_saved(explorer: Opener) -> None:
    page = explorer.open("runs")
    expect(page.get_by_role("heading", name="The store is empty")).to_be_visible()
    page.get_by_role("button", name="Export", exact=True).click()
    page.get_by_role("menuitem", name="CSV").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing to save yet")


def test_the_menu_is_used_with_the_keyboard(explorer: Opener) -> None:
    page = explorer.open("ledger", permissions=["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name="Export", exact=True)
    button.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Offline HTML")).to_be_focused()
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    expect(page.get_by_role("menu")).to_be_hidden()
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator(".export-said")).to_have_text("Link copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
