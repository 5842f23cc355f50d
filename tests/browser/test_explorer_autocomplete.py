"""The autocomplete view with a real keyboard."""

from __future__ import annotations

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Page, expect

import rote

pytestmark = pytest.mark.browser


def opened(explorer: Opener, view: str = "autocomplete", **settings: object) -> Page:
    page = explorer.open(view, **settings)
    expect(page.locator(".choice-word").first).to_be_visible()
    return page


def expected(text: str) -> list[str]:
    return list(rote.suggest(rote.load_autocomplete("gru"), text, top=8).words)


def test_every_key_changes_the_suggestions(explorer: Opener) -> None:
    page = opened(explorer, "autocomplete?text=the+united+st")
    words = page.locator(".choice-word")
    expect(words).to_have_text(expected("the united st"))
    area = page.get_by_label("Type here")
    area.focus()
    area.press("End")
    area.press_sequentially("ud")
    expect(words).to_have_text(expected("the united stud"))
    area.press("Backspace")
    area.press("Backspace")
    expect(words).to_have_text(expected("the united st"))
    expect(page.locator(".view-autocomplete .glyph")).to_have_count(14)
    page.wait_for_url("**text=the+united+st&*")


def test_a_suggestion_can_be_taken(explorer: Opener) -> None:
    page = opened(explorer, "autocomplete?text=the+united+sta")
    page.get_by_role("button", name="states", exact=True).click()
    expect(page.get_by_label("Type here")).to_have_value("the united states ")
    expect(page.locator(".choice-word")).to_have_text(expected("the united states "))


def test_the_rank_of_a_word(explorer: Opener) -> None:
    page = opened(explorer, "autocomplete?text=the+united+st&word=study")
    model = rote.load_autocomplete("gru")
    own = rote.suggest(model, "the united st", target="study")
    expect(page.get_by_text(f"“study”: rank {own.rank} of {len(model.vocabulary)}")).to_be_visible()


def test_the_cells_are_shown_by_gate_and_one_unit_shades_the_text(explorer: Opener) -> None:
    page = opened(explorer, "autocomplete?text=the+united+st&units=all")
    page.get_by_label("State or gate").select_option("update")
    expect(page.get_by_label("State or gate")).to_have_value("update")
    expect(page.locator(".expected[aria-busy]")).to_have_count(0)
    frame = page.locator(".heat-frame")
    frame.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):  # the first shows the first cell
        frame.press(key)
    expect(page.locator(".heat .heat-readout")).to_contain_text("unit 1 at character 2 “t”:")
    frame.press("Enter")
    expect(page.locator(".view .hint", has_text="Shaded by unit 1 of update, layer 1")).to_be_visible()
    colors = page.evaluate("[...document.querySelectorAll('.glyph')].map(g => g.style.backgroundColor)")
    assert len(set(colors)) > 3
    assert "unit=1" in page.url


def test_the_units_that_change_most_stand_first_and_gates_are_lines(explorer: Opener) -> None:
    page = opened(explorer, "autocomplete?text=the+united+st")
    model = rote.load_autocomplete("gru")
    found = rote.trace(model, model.encode("the united st"))
    hidden = found.states[0]["hidden"][0]
    most = (hidden.amax(0) - hidden.amin(0)).topk(32).indices.tolist()
    frame, read = page.locator(".heat-frame"), page.locator(".heat .heat-readout")
    for _ in range(3):
        frame.press("ArrowDown")
        expect(read).to_contain_text("at character 1")
        assert int(read.inner_text().split()[1]) in most
    expect(page.locator(".gate-lines .chart-legend li")).to_have_text(list(found.gates[0]))
    plot = page.locator(".gate-lines .chart-plot")
    plot.press("End")
    gate = next(iter(found.gates[0].values()))
    expect(page.locator(".gate-lines .chart-readout")).to_contain_text(f"{float(gate[0, -1].mean()):.3g}")


def test_pointing_at_an_earlier_character_shows_what_was_expected_there(explorer: Opener) -> None:
    page = opened(explorer, "autocomplete?text=the+united+st")
    page.locator(".glyph[data-at='8']").hover()
    expect(page.locator(".choice-word")).to_have_text(expected(" the unit"))
    page.locator("h1").hover()
    expect(page.locator(".choice-word")).to_have_text(expected("the united st"))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (375, "light")])
def test_anybody_can_use_it(explorer: Opener, width: int, scheme: str) -> None:
    page = opened(explorer, "autocomplete?text=né+the&unit=3", width=width, color_scheme=scheme)
    expect(page.locator(".row-notes")).to_contain_text("“é”")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_accessible(page)
