"""The profiles in a browser: two of them beside each other, with a mouse and on a phone."""

from __future__ import annotations

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import expect

from rote.examination import kept_profile, kept_profiles

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_two_profiles_are_compared_and_the_address_remembers(explorer: Opener, scheme: str, width: int) -> None:
    lstm = kept_profile("lstm")
    assert lstm is not None
    assert lstm.score is not None
    page = explorer.open("profiles", color_scheme=scheme, width=width)
    rows = page.locator("table").first.locator("tbody tr")
    expect(rows).to_have_count(len(kept_profiles()))
    expect(rows.filter(has_text="lstm").filter(has_text=f"{lstm.score.value:.2f}").first).to_be_visible()
    page.get_by_label("Profile", exact=True).select_option("kept/transformer")
    page.get_by_label("Compare with").select_option("kept/lstm")
    recall = page.locator("table").last.locator("tbody tr", has_text="recall")
    expect(recall).to_contain_text("more, 5 of 5 seeds")
    expect(page.locator(".strips circle").first).to_be_visible()
    page.reload()
    expect(recall).to_contain_text("more, 5 of 5 seeds")
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
