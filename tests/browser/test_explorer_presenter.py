"""Presenter mode: one figure and its controls, in large type, on a screen of 1024 x 768."""

from __future__ import annotations

import re

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
SCREEN = {"width": 1024, "height": 768}
# What is seen of each view once it has its answers, and how many figures it has.
SEEN = {
    "connectivity?text=the+united+states&models=gru,lstm": (".text-row", 1),
    "autocomplete?text=the+un": (".choice-word", 3),
    "units": (".hero-row", 5),
    "decomposition": (".phrase-name", 2),
    "playground?step=2": (".view[data-step='2']", 5),
    "recurrent?step=2": (".view[data-step='2'] .maps figure", 4),
    "chalk?example=lstm&at=30": (".chalk-graph", 1),
    "lookup": ("table.steps", 3),
    "profiles?second=gru": (".share", 2),
    "ledger?q=padding": (".claims-overview circle", 3),  # all of them, then claim by claim
}


def fits(page: Page) -> None:
    """Nothing is scrolled, also once everything has arrived."""
    page.wait_for_timeout(300)
    expect(page.locator("html.presenting")).to_be_attached()
    size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert size[0] <= SCREEN["width"]
    assert size[1] <= SCREEN["height"]


@pytest.mark.parametrize("view", SEEN)
def test_one_figure_and_its_controls_fill_the_screen(view: str, explorer: Opener) -> None:
    selector, count = SEEN[view]
    page = explorer.open(f"{view}{'&' if '?' in view else '?'}present=1", **SCREEN)
    expect(page.locator(selector).first).to_be_visible()
    for hidden in ("#views", ".export", ".view-title", ".lead-in"):
        for found in page.locator(hidden).all():
            expect(found).to_be_hidden()
    assert float(page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")) >= 18
    for _ in range(count):
        fits(page)
        assert page.locator(".panel:visible").count() <= 1
        page.keyboard.press("PageDown")


def test_it_is_begun_and_left_and_the_address_has_it(explorer: Opener) -> None:
    page = explorer.open("recurrent?seeds=1&units=4", **SCREEN)
    expect(page.locator(".view[data-step]")).to_be_attached()
    page.get_by_role("button", name="Present", exact=True).click()
    expect(page.locator("#recurrent-inside")).to_be_visible()
    expect(page.locator("#recurrent-back")).to_be_hidden()
    page.get_by_role("button", name=re.compile("^Next figure")).click()
    expect(page.locator("#recurrent-back")).to_be_visible()
    expect(page).to_have_url(re.compile("present=2"))
    page.reload()
    expect(page.locator("#recurrent-back")).to_be_visible()
    expect(page.locator(".view[data-step='0']")).to_be_attached()
    page.get_by_role("button", name="Step", exact=True).click()  # the controls are there
    expect(page.locator(".view")).to_have_attribute("data-step", "1")
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(page.locator("#views")).to_be_visible()
    expect(page.locator("#recurrent-inside")).to_be_visible()
    expect(page).not_to_have_url(re.compile("present"))
