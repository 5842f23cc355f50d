"""The explorer's frame: navigation, permalinks, keyboard, light and dark, phone width."""

from __future__ import annotations

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_the_page_opens_on_a_view_and_says_which(explorer: Opener) -> None:
    page = explorer.open()
    expect(page.locator("#views a[aria-current=page]")).to_have_count(1)
    expect(page).to_have_title(f"{page.locator('#views a[aria-current]').inner_text()} · Rote explorer")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_anybody_can_use_the_runs(explorer: Opener, scheme: str) -> None:
    page = explorer.open("runs", color_scheme=scheme)
    expect(page.locator("h1")).to_have_text("Runs")
    assert_accessible(page)


def test_text_and_model_go_along_between_the_views_on_texts(explorer: Opener) -> None:
    page = explorer.open("autocomplete?model=lstm&text=the+uni")
    page.get_by_label("Type here").fill("the cold w")
    page.wait_for_url("**text=the+cold+w*")
    tabs = page.locator("#views")
    tabs.get_by_text("Decomposition").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("the cold w")
    expect(page.get_by_label("Model", exact=True)).to_have_value("lstm")
    tabs.get_by_text("Connectivity").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("the cold w")
    expect(page.locator(".text-row")).to_have_count(1)
    expect(page.get_by_label("Model of this row")).to_have_value("lstm")
