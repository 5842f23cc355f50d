"""The decomposition view with a real mouse and keyboard."""

from __future__ import annotations

import re

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Page, expect
from text_models import WORDS, model_of

import rote

pytestmark = pytest.mark.browser
VIEW = "decomposition?text=a+young+age+through+advanced+le&phrase=20-28&at=30"


def opened(explorer: Opener, view: str = VIEW, **settings: object) -> Page:
    page = explorer.open(view, **settings)
    expect(page.locator(".facts-line dd").first).to_be_visible()
    expect(page.locator(".tree")).to_be_visible()
    return page


def phrase(page: Page) -> str:
    return "".join(page.locator(".glyph.phrase").all_inner_texts())


def fact(page: Page, name: str) -> float:
    return float(page.locator(".facts-line div", has=page.get_by_text(name, exact=True)).locator("dd").inner_text())


def test_the_facts_of_a_phrase_are_those_of_rote_decompose(explorer: Opener) -> None:
    page = opened(explorer)
    model = rote.load_autocomplete("gru")
    tokens = model.encode("a young age through advanced le")
    parts = rote.decompose(model, tokens, [(20, 28)])
    word = int(model(tokens)[0, 30].argmax())
    assert phrase(page) == " advanced"
    assert fact(page, "logit from the phrase") == pytest.approx(float(parts.logits()[0, 0, 30, word]), rel=0.01)
    rest = float(parts.logits(irrelevant=True)[0, 0, 30, word])
    assert fact(page, "from the rest") == pytest.approx(rest, rel=0.01)
    growth = int(10 * parts.growth.max()) / 10
    expect(page.locator(".method-error")).to_contain_text(f"Largest part: {growth}")


def test_dragging_chooses_a_phrase(explorer: Opener) -> None:
    page = opened(explorer)
    start, end = (page.locator(f".glyph[data-at='{at}']").bounding_box() for at in (2, 7))
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 4, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(end["x"] + 4, end["y"] + 8, steps=6)
    page.mouse.up()
    assert phrase(page) == " young"
    expect(page.locator(".phrase-name")).to_have_text("“young”")
    page.wait_for_url("**phrase=2-7**")


def test_shift_and_arrows_extend_the_phrase_and_arrows_move_the_output(explorer: Opener) -> None:
    page = opened(explorer)
    text = page.locator(".glyphs")
    text.focus()
    text.press("Shift+ArrowLeft")
    assert phrase(page) == " advance"
    text.press("Shift+ArrowRight")
    expect(page.locator(".phrase-name")).to_have_text("“advanced”")
    text.press("ArrowRight")
    expect(page.locator(".facts-line dd").first).to_have_text("32 “e”")
    text.press("Home")
    assert phrase(page) == " "


def test_a_click_takes_a_word_before_and_an_output_behind(explorer: Opener) -> None:
    page = opened(explorer)
    page.locator(".glyph[data-at='10']").click()
    assert phrase(page) == " age"
    expect(page.locator(".phrase-name")).to_have_text("“age”")
    page.locator(".glyph[data-at='25']").click()
    expect(page.locator(".glyph.looked")).to_have_attribute("data-at", "25")
    assert phrase(page) == " age"


def test_the_tree_has_all_spans_and_a_span_becomes_the_phrase(explorer: Opener) -> None:
    page = opened(explorer)
    expect(page.locator(".view-decomposition")).to_have_attribute("data-tree", "21")
    expect(page.locator(".tree tbody tr")).to_have_count(12)
    frame = page.locator(".tree .heat-frame")
    frame.focus()
    for _ in range(6):
        frame.press("ArrowDown")
    frame.press("Home")
    expect(page.locator(".tree .heat-readout")).to_contain_text("“a”:")
    frame.press("Enter")
    assert phrase(page) == " a"


def test_too_long_a_tree_says_its_bound_and_the_rest_works(explorer: Opener) -> None:
    text = "+".join(["the"] * 40)
    page = explorer.open(f"decomposition?text={text}&phrase=0-3&at=150")
    expect(page.get_by_text("The tree holds at most 32 words")).to_be_visible()
    expect(page.locator(".facts-line dd").first).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
def test_anybody_can_use_it(explorer: Opener, width: int, scheme: str) -> None:
    page = opened(explorer, f"{VIEW}&unit=symbols&look=target", width=width, color_scheme=scheme)
    expect(page.locator(".view-decomposition")).to_have_attribute("data-tree", str(31 * 32 // 2))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_accessible(page)


def test_it_opens_with_a_phrase_that_decides_and_the_tree_writes_its_numbers(explorer: Opener) -> None:
    page = opened(explorer, "decomposition")
    assert phrase(page) == " los"
    assert fact(page, "logit from the phrase") > 3 * fact(page, "from the rest")
    written = [float(text.replace("−", "-")) for text in page.locator(".heat-writing span").all_inner_texts()]
    assert len(written) == int(page.locator(".view-decomposition").get_attribute("data-tree") or 0)
    ends = page.locator(".tree .color-bar > span").all_inner_texts()[:2]
    assert max(abs(value) for value in written) == pytest.approx(float(ends[1]), abs=0.06)


def test_no_two_spans_are_called_alike_and_places_are_whole_numbers(explorer: Opener) -> None:
    page = opened(explorer, "decomposition?text=made+in+los+&phrase=8-11&at=12")  # a word and the space behind it
    called = page.locator(".tree tbody th").all_inner_texts()
    assert len(called) > 3
    assert len({*called}) == len(called)
    assert "los␣" in called
    below = page.locator(".chart svg text[text-anchor='middle']").all_text_contents()
    assert [text for text in below if text.replace(".", "").isdigit()] == ["9", "10", "11", "12", "13"]


@pytest.mark.parametrize("unit", ["words", "symbols"])
def test_spans_that_differ_in_spaces_alone_have_names_of_their_own(unit: str, explorer: Opener) -> None:
    page = opened(explorer, f"decomposition?text=the++++king+&unit={unit}&phrase=1-3")
    called = [name for name in page.locator(".tree tbody th").all_inner_texts() if "k" in name]
    assert len({*called}) == len(called) > 4


def test_the_axis_of_a_model_of_words_counts_words(explorer: Opener) -> None:
    shelf = explorer.server.workbench.catalog
    key = shelf.add_model(model_of(len(WORDS)), WORDS, None, "Mine")
    try:
        for view, said in (("decomposition", "output (word)"), ("autocomplete", "word")):
            page = explorer.open(f"{view}?model={key}&text=the+dogs+bark")
            expect(page.locator(".chart svg text", has_text=re.compile(f"^{re.escape(said)}$"))).to_have_count(1)
    finally:
        del shelf._brought[key]
