"""The units view: the figure that plays, the gradient to play with, diagrams that are live with a typed text."""

from __future__ import annotations

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Page, expect

import rote
from rote.studies.memorization.stored_data import load

pytestmark = pytest.mark.browser
LONG, SHORT = 28, 34  # what the article's text points at


def opened(explorer: Opener, view: str = "units", **settings: object) -> Page:
    page = explorer.open(view, **settings)
    expect(page.locator(".hero .glyph").first).to_be_visible()
    expect(page.locator(".unit-diagram")).to_be_visible()
    return page


def place(page: Page) -> int:
    return int(page.locator(".hero").get_attribute("data-at"))


def test_the_opening_figure_plays_by_itself_rests_under_the_pointer_and_goes_on(explorer: Opener) -> None:
    page = opened(explorer)
    seen = set()
    for _ in range(4):
        seen.add(place(page))
        page.wait_for_timeout(300)
    assert len(seen) > 1
    page.locator(".hero .glyph[data-at='20']").first.hover()
    page.wait_for_timeout(700)
    assert place(page) == 20
    marked = page.locator(".hero .glyph[aria-selected=true]").evaluate_all("all => all.map((one) => one.dataset.at)")
    assert marked == ["20"] * 3
    page.mouse.move(5, 5)
    expect(page.locator(".hero")).not_to_have_attribute("data-at", "20")
    page.get_by_role("button", name="Pause").click()
    page.mouse.move(5, 5)
    stopped = place(page)
    page.wait_for_timeout(700)
    assert place(page) == stopped
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_links_of_the_opening_figure_lead_to_the_articles_places_and_its_own_suggestions(explorer: Opener) -> None:
    page = opened(explorer)
    for name, at in (("initially draws on the words before", LONG), ("as more letters are known", SHORT)):
        page.get_by_role("button", name=name).click()
        assert place(page) == at
        words = page.locator(".hero-row").nth(2).locator(".hero-says b").all_inner_texts()  # the GRU
        assert words == load().words[0, at].tolist()
    page.get_by_label("Shown:").select_option("")
    own = rote.suggest(rote.load_autocomplete("gru"), " context the formal study of gramma", top=3)
    expect(page.locator(".hero-row").nth(2).locator(".hero-says b")).to_have_text(list(own.words))
    assert place(page) == SHORT


def test_who_wants_no_motion_gets_none(explorer: Opener) -> None:
    page = opened(explorer, reduced_motion="reduce")
    assert place(page) == LONG
    page.wait_for_timeout(700)
    assert place(page) == LONG
    page.get_by_role("button", name="Play").click()
    page.mouse.move(5, 5)
    expect(page.locator(".hero")).not_to_have_attribute("data-at", str(LONG))


def values(page: Page) -> dict[str, str]:
    """What the boxes of the diagram say, by their names; the last of each name is the state after the step."""
    parts = (page.locator(f".unit-diagram .node .{part}") for part in ("node-name", "node-value"))
    return dict(zip(*(part.all_text_contents() for part in parts), strict=True))


def test_the_diagram_has_the_cells_own_gates_and_follows_what_is_typed(explorer: Opener) -> None:
    page = opened(explorer, "units?model=lstm&unit=7")
    page.get_by_label("Type here").fill("the united sta")
    expect(page.locator(".view-units .panel").nth(2).locator(".glyph")).to_have_count(15)
    model = rote.load_autocomplete("lstm")
    found = rote.trace(model, model.encode("the united sta"))
    said = values(page)
    assert {"σ input", "σ forget", "σ output", "tanh candidate", "hidden", "cell", "x"} <= set(said)
    assert float(said["σ forget"]) == pytest.approx(float(found.gates[0]["forget"][0, -1, 7]), rel=6e-3)
    assert float(said["cell"]) == pytest.approx(float(found.states[0]["cell"][0, -1, 7]), rel=6e-3)
    page.locator(".view-units .panel").nth(2).locator(".glyph[data-at='4']").hover()
    said = values(page)
    assert said["x"] == "space"
    assert float(said["cell"]) == pytest.approx(float(found.states[0]["cell"][0, 4, 7]), rel=6e-3)
    page.wait_for_url("**at=4**")


def test_every_cell_is_drawn_from_its_own_step(explorer: Opener) -> None:
    page = opened(explorer)
    for key, own, count in (("nested_lstm", "tanh candidate₁", 24), ("gru", "σ reset", 11)):
        page.get_by_label("Model", exact=True).select_option(key)
        expect(page.locator(".unit-diagram .node-name", has_text=own)).to_have_count(1)
        expect(page.locator(".unit-diagram .node")).to_have_count(count)


def test_a_box_of_the_network_leads_to_its_character(explorer: Opener) -> None:
    page = opened(explorer, "units?text=the+united")
    page.locator(".unit-answer .unrolled .box[data-step='3']").hover()
    expect(page.locator(".unit-answer .heat-readout")).to_contain_text("After “e” (4)")
    expect(page.locator(".unit-answer .unrolled .box.chosen")).to_have_attribute("data-step", "3")


def test_the_gradient_vanishes_by_the_rule_that_is_set_and_in_networks(explorer: Opener) -> None:
    page = opened(explorer)
    panel = page.get_by_label("The vanishing gradient", exact=True)
    expect(panel.locator(".heat-readout")).to_contain_text("1 back 80.00%, 5 back 32.77%, 10 back 10.74%")
    slider = panel.get_by_label("Share that is kept")
    slider.fill("0.5")
    expect(panel.locator(".heat-readout")).to_contain_text("5 back 3.13%")
    slider.fill("1.1")
    expect(panel.locator(".heat-readout")).to_contain_text("5 back 161.05%")  # it explodes
    panel.locator(".box[data-step='2']").first.hover()
    expect(panel.locator(".heat-readout")).to_contain_text("1 back 110.00%.")
    panel.get_by_label("Gradient", exact=True).select_option("elman")
    expect(panel).to_have_attribute("data-network", "elman")
    panel.get_by_label("Output at character", exact=True).fill("20")
    elman = panel.locator(".heat-readout").inner_text()
    panel.get_by_label("Gradient", exact=True).select_option("lstm")
    expect(panel).to_have_attribute("data-network", "lstm")
    assert panel.locator(".heat-readout").inner_text() != elman
    page.wait_for_url("**flow=lstm**")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_anybody_can_use_it(explorer: Opener, width: int, scheme: str) -> None:
    page = opened(explorer, "units?model=nested_lstm", width=width, color_scheme=scheme, reduced_motion="reduce")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_accessible(page)
