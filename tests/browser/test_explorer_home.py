"""The first view: a sentence and a moving picture for each of the others, which shows what its view would."""

from __future__ import annotations

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Page, expect
from text_models import model_of

import rote
from rote.explorer.views import VIEWS

pytestmark = pytest.mark.browser
OTHERS = [view for view in VIEWS if view.name != "home"]
ALL = "svg => svg.textContent.replace(/\\s+/g, ' ')"


def drawn(page: Page) -> Page:
    expect(page.locator(".view-home")).to_have_attribute("data-drawn", "1")
    return page


def test_the_page_opens_on_a_sentence_and_a_moving_picture_for_each_view(explorer: Opener) -> None:
    page = drawn(explorer.open())
    assert page.url.endswith("#/home")
    links = page.locator(".view-home a").evaluate_all("all => all.map((link) => link.getAttribute('href'))")
    assert sorted(links) == sorted(f"#/{view.name}" for view in OTHERS)
    said = page.locator(".view-home").inner_text()
    for view in OTHERS:
        assert view.about in said
    for card in page.locator(".home-card").all():
        assert card.locator("svg, canvas").bounding_box()["height"] > 60  # type: ignore[index]
    chalk = page.locator(".home-card[data-view=chalk]")
    before = chalk.get_attribute("data-frame") or ""
    expect(chalk).not_to_have_attribute("data-frame", before)
    hero = page.locator(".hero")
    before = hero.get_attribute("data-at") or ""
    expect(hero).not_to_have_attribute("data-at", before)


def test_a_picture_rests_under_the_pointer_and_all_rest_at_the_button(explorer: Opener) -> None:
    page = drawn(explorer.open("home"))
    page.locator(".home-card[data-view=chalk]").hover()
    frames = "() => [...document.querySelectorAll('.home-card')].map((card) => card.dataset.frame)"
    first = page.evaluate(frames)
    page.wait_for_timeout(700)
    second = page.evaluate(frames)
    resting = [view.name for view in OTHERS if view.name != "connectivity"].index("chalk")
    assert [was == now for was, now in zip(first, second, strict=True)] == [
        at == resting for at in range(len(first))
    ]  # all the others go on
    page.get_by_role("button", name="Pause the pictures").click()
    third = page.evaluate(frames)
    page.wait_for_timeout(700)
    assert page.evaluate(frames) == third


def test_who_wants_no_motion_sees_the_whole_pictures_and_they_are_true(explorer: Opener) -> None:
    page = drawn(explorer.open("home", reduced_motion="reduce"))
    expect(page.get_by_role("button", name="Play the pictures")).to_be_visible()
    typed = page.locator("[data-view=autocomplete] svg").evaluate(ALL)
    expected = rote.suggest(rote.load_autocomplete("gru"), "the united states")
    assert typed.startswith("the united states")
    assert all(word in typed for word in expected.words[:3])
    assert f"{100 * expected.probabilities[0]:.1f}%" in typed
    assert "16" in page.locator("[data-view=chalk] svg").evaluate(ALL)  # (2 (-3) + 10)^2
    marks = page.locator("[data-view=ledger] circle")
    page.goto(f"{explorer.url}#/ledger")
    expect(page.locator(".claim-mark").first).to_be_visible()
    claims = page.locator(".claim-mark").count()
    page.goto(f"{explorer.url}#/home")
    expect(marks).to_have_count(claims)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_anybody_can_use_it_on_any_screen(explorer: Opener, scheme: str) -> None:
    page = drawn(explorer.open("home", width=390, color_scheme=scheme, reduced_motion="reduce"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert_accessible(page)


def test_a_model_of_the_users_own_stands_first(explorer: Opener) -> None:
    shelf = explorer.server.workbench.catalog
    key = shelf.add_model(model_of(3), tuple("abc"), None, "Mine")
    try:
        page = drawn(explorer.open("home", reduced_motion="reduce"))
        page.get_by_role("link", name="Mine").click()
        expect(page.get_by_label("Model of this row")).to_have_value(key)
    finally:
        del shelf._brought[key]
