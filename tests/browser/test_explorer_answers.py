"""No view shows a number that belongs to something else: an answer stands with its question, an older one looks old."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from explorer_server import Opener
from playwright.sync_api import Error, Page, Route, expect
from text_models import model_of
from watched_page import Watched

import rote
from rote.explorer import Explorer, Workbench
from rote.explorer.views import VIEWS
from rote.models.saved_autocomplete import describe_autocomplete
from rote.store import Store

pytestmark = pytest.mark.browser
OUTPUTS = len(describe_autocomplete("gru")[1])
SYMBOLS = tuple("①②③④⑤")


@pytest.fixture
def foreign(explorer: Opener) -> Iterator[str]:
    """A model of another alphabet on the shelf; its key."""
    shelf = explorer.server.workbench.catalog
    key = shelf.add_model(model_of(len(SYMBOLS)), SYMBOLS, None, "Foreign")
    yield key
    del shelf._brought[key]
    shelf._kept.pop((key, None), None)  # another model may get this key


class Slow:
    """Answers to one address are held until they are let go."""

    def __init__(self, page: Page, path: str) -> None:
        self.held: list[Route] = []
        self.page, self.path = page, path
        page.route(f"**{path}", self.hold)

    def hold(self, route: Route) -> None:
        self.held.append(route)

    def go(self) -> None:
        self.page.unroute(f"**{self.path}")
        for route in self.held:
            with contextlib.suppress(Error):  # of a question that was overtaken
                route.continue_()


def opacity(page: Page, selector: str) -> float:
    """When its changes have come to an end."""
    script = """async (selector) => {
        const element = document.querySelector(selector);
        await new Promise((done) => setTimeout(done, 60));
        await Promise.all(element.getAnimations().map((animation) => animation.finished));
        return Number(getComputedStyle(element).opacity);
    }"""
    return float(page.evaluate(script, selector))


def test_a_rank_is_that_of_the_word_that_was_asked_about(explorer: Opener) -> None:
    page = explorer.open("autocomplete?model=gru&text=the+capital+of+france+is+p&word=paris")
    rank = page.locator(".expected .hint").first
    expect(rank).to_contain_text("“paris”: rank")
    field = page.get_by_label("Rank of the word")
    for part in ("fr", "fra", "zzzqqq"):  # as it is typed
        field.fill(part)
        expect(rank).to_contain_text(f"'{part}' is not among the {OUTPUTS} outputs")
    page.locator(".glyph[data-at='8']").hover()
    expect(page.locator(".choice-word").first).to_have_text(suggested("the capi"))
    page.locator("h1").hover()
    expect(page.locator(".choice-word").first).to_have_text(suggested("the capital of france is p"))
    expect(rank).to_have_text(f"'zzzqqq' is not among the {OUTPUTS} outputs of the model.")
    page.get_by_label("Type here").fill("the united sta")  # goes on with an unknown word
    expect(page.locator(".choice-word").first).to_have_text("states")
    expect(page.locator(".banner")).to_be_hidden()


def suggested(text: str) -> str:
    return rote.suggest(rote.load_autocomplete("gru"), text).words[0]


def test_while_an_answer_is_awaited_what_is_shown_looks_old(explorer: Opener) -> None:
    page = explorer.open("autocomplete?text=the+united+st&word=study&units=all")
    expect(page.locator(".choice-word").first).to_be_visible()
    expect(page.locator(".loading")).to_be_hidden()
    assert opacity(page, ".expected") == 1
    slow = Slow(page, "/api/autocomplete")
    page.get_by_label("State or gate").select_option("update")
    page.get_by_label("Rank of the word").fill("state")
    expect(page.locator(".expected[aria-busy=true]")).to_be_visible()
    assert opacity(page, ".expected") < 0.5
    frame = page.locator(".heat-frame")
    for key in ("ArrowDown", "ArrowDown"):  # the old map reads its own numbers
        frame.press(key)
    expect(page.locator(".heat .heat-readout")).to_contain_text("unit 1 at character 1")
    expect(page.locator(".expected .hint").first).to_contain_text("“study”: rank")
    slow.go()
    expect(page.locator(".expected .hint").first).to_contain_text("“state”: rank")
    assert opacity(page, ".expected") == 1


def test_a_model_that_cannot_read_the_text_has_no_words_of_another(explorer: Opener, foreign: str) -> None:
    seen = explorer.opened(f"{explorer.url}#/autocomplete?model=gru&text=the+united+st")
    expect(seen.page.locator(".choice-word").first).to_be_visible()
    seen.page.get_by_label("Model", exact=True).select_option(foreign)
    expect(seen.page.locator(".loading")).to_be_hidden()
    expect(seen.page.locator(".banner")).to_contain_text("has no symbol that the model reads")
    expect(seen.page.locator(".choice-word").first).to_be_hidden()
    expect(seen.page.locator(".view .glyph").first).to_be_hidden()
    assert all("422" in complaint for complaint in seen.complaints)
    seen.complaints.clear()


TWO = "connectivity?text=the+united+states&models=gru,lstm&at=13"


def rows(page: Page) -> list[str]:
    """What each row says: suggestions, rank, text and readout."""
    return [" ".join(text.split()) for text in page.locator(".row-answer").all_inner_texts()]


def test_of_another_text_no_row_keeps_anything_and_of_another_measure_it_looks_old(explorer: Opener) -> None:
    page = explorer.open(f"{TWO}&view=matrix&pin=1")
    expect(page.locator(".matrix canvas")).to_have_count(2)
    page.locator(".numbers summary").click()
    slow = Slow(page, "/api/connectivity")
    page.get_by_label("Measure").select_option("signed")
    expect(page.locator(".row-answer[aria-busy=true]")).to_have_count(2)
    for part in (".row-answer", ".matrices", ".numbers"):
        assert opacity(page, part) < 0.5
    expect(page.locator(".bar-what")).to_contain_text("norm of the gradient")  # what the colors are of, still
    page.get_by_label("Text", exact=True).fill("north africa")
    expect(page.locator(".text-row").first.locator(".glyph")).to_have_count(13)
    assert rows(page) == ["north africa"] * 2
    expect(page.locator(".matrix")).to_have_count(0)
    expect(page.locator(".numbers table")).to_have_count(0)
    expect(page.locator(".legend-line .hint")).to_contain_text("Click to pin it")  # the pin was the other text's
    slow.go()
    expect(page.locator(".rank").first).to_contain_text("africa: rank")
    expect(page.locator(".bar-what")).to_contain_text("gradient × input")
    assert opacity(page, ".row-answer") == 1


def test_a_row_tells_itself_what_is_wrong_with_it(explorer: Opener) -> None:
    seen = explorer.opened(f"{explorer.url}#/connectivity?text=the+united&models=gru,nothing&ask=word&word=fr")
    told = seen.page.locator(".row-readout")
    expect(told.nth(0)).to_contain_text(f"'fr' is not among the {OUTPUTS} outputs")
    expect(told.nth(1)).to_have_text(
        "Unknown model 'nothing' in the catalog and in the store. Known: gru, lstm, nested_lstm."
    )
    expect(seen.page.locator(".banner")).to_be_hidden()
    seen.page.get_by_label("The word that is asked about").fill("france")
    expect(seen.page.locator(".rank").first).to_contain_text("france: rank")
    expect(told.nth(1)).to_contain_text("Unknown model 'nothing'")
    seen.complaints.clear()


def test_no_word_is_named_that_has_not_been_read(explorer: Opener) -> None:
    page = explorer.open("connectivity?walk=2&models=gru&at=28")
    page.get_by_role("button", name="first: no letter yet").click()
    expect(page.locator(".row-readout")).to_contain_text("draws most on")
    said = set()
    for at in range(26, 36):
        page.locator(f".glyph[data-at='{at}']").click()
        said.add(page.locator(".row-readout").inner_text())
    assert any("“gram" in text for text in said)
    page.locator(".glyph[data-at='28']").click()
    expect(page.locator(".row-readout")).not_to_contain_text("grammar")


PHRASE = "decomposition?model=gru&text=a+young+age+through+advanced+le&phrase=20-28&at=30"


def test_a_phrase_is_chosen_only_in_the_text_that_was_asked_about(explorer: Opener) -> None:
    page = explorer.open(PHRASE)
    expect(page.locator(".phrase-name")).to_have_text("“advanced”")
    expect(page.locator(".tree")).to_be_visible()
    slow = Slow(page, "/api/decomposition/phrase")
    page.get_by_label("Text", exact=True).fill("the end")
    expect(page.locator(".phrase-text[aria-busy=true]")).to_be_visible()
    for part in (".phrase-text", ".view-decomposition > .answers:last-child"):
        assert opacity(page, part) < 0.5
    page.locator(".glyph[data-at='29']").click(force=True)
    page.locator(".glyphs").press("ArrowRight")
    page.wait_for_url("**text=the+end*")
    assert "phrase=6-6" in page.url
    assert "at=" not in page.url
    slow.go()
    expect(page.locator(".phrase-name")).to_have_text("“n”")
    expect(page.locator(".glyph")).to_have_count(8)
    expect(page.locator(".tree")).to_be_visible()
    assert opacity(page, ".phrase-text") == 1


def test_another_models_parts_do_not_stay_under_a_new_name(explorer: Opener, foreign: str) -> None:
    seen = explorer.opened(f"{explorer.url}#/{PHRASE}")
    page = seen.page
    expect(page.locator(".tree")).to_be_visible()
    page.get_by_label("Model", exact=True).select_option(foreign)
    expect(page.locator(".banner")).to_contain_text("has no symbol that the model reads")
    for part in (".facts-line", ".tree", ".glyph >> nth=0"):
        expect(page.locator(part)).to_be_hidden()
    page.get_by_label("Text", exact=True).fill("①②③")
    expect(page.locator(".glyph")).to_have_text(["①", "②", "③"])
    expect(page.locator(".phrase-name")).to_have_text("“①”")
    seen.complaints.clear()


def test_the_playground_says_that_its_server_has_ended(opened: Callable[..., Watched], tmp_path: Path) -> None:
    with Explorer(Workbench(Store(tmp_path)), port=0) as server:
        seen = opened(f"{server.url}#/playground?seeds=1&hidden=2")
        expect(seen.page.locator(".view")).to_have_attribute("data-step", "0")
        seen.page.get_by_role("button", name="Play").click()
        expect(seen.page.locator(".view")).not_to_have_attribute("data-step", "0")  # frames come
    expect(seen.page.get_by_role("alert")).to_contain_text("The explorer does not answer.")
    expect(seen.page.get_by_role("button", name="Play")).to_be_visible()
    seen.complaints.clear()  # of the browser, about the connection


def test_networks_look_old_while_others_are_made(explorer: Opener) -> None:
    page = explorer.open("recurrent?seeds=1&units=2&length=2")
    slow = Slow(page, "/api/recurrent/start")
    page.reload()
    expect(page.locator(".loading")).to_have_text("Making the networks …")
    expect(page.locator(".bench")).to_be_hidden()  # of nothing there are no curves
    slow.go()
    expect(page.locator(".about-view")).to_contain_text("Parity")
    slow = Slow(page, "/api/recurrent/change")
    page.get_by_label("Task", exact=True).select_option("xor")
    for part in (".cards", ".bench"):
        expect(page.locator(f"{part}[aria-busy=true]")).to_be_visible()
        assert opacity(page, part) < 0.5
    slow.go()
    expect(page.locator(".about-view")).to_contain_text("XOR")
    assert opacity(page, ".bench") == 1


LONG = "ab " * 700


@pytest.mark.parametrize("pasted", [True, False])
def test_a_text_that_is_too_long_is_told_and_not_cut(explorer: Opener, pasted: bool) -> None:
    text = "the" if pasted else LONG.strip().replace(" ", "+")
    seen = explorer.opened(f"{explorer.url}#/connectivity?models=gru&text={text}")
    area = seen.page.get_by_label("Text", exact=True)
    if pasted:
        expect(seen.page.locator(".rank")).not_to_have_text("")
        area.fill(LONG.strip())
    expect(area).to_have_value(LONG.strip())
    expect(seen.page.locator(".counter.over")).to_have_text("2099 of 400 characters: too long by 1699")
    expect(seen.page.locator(".row-readout")).to_have_text(
        "The text has 2099 characters; at most 400 are read here. Shorten it."
    )
    expect(seen.page.locator(".rank")).to_have_text("")
    seen.complaints.clear()


@pytest.mark.parametrize(("letters", "width"), [(180, 1280), (45, 390)])
def test_a_long_word_stays_on_the_page(explorer: Opener, letters: int, width: int) -> None:
    page = explorer.open(f"connectivity?models=gru&text=the+{'x' * letters}", width=width)
    expect(page.locator(".rank")).not_to_have_text("")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.locator(".glyph").evaluate_all("items => items.map((item) => item.getBoundingClientRect().right)")
    assert max(boxes) <= width
    spaces = page.locator(".glyph[aria-label=space]").evaluate_all("items => items.map((item) => item.offsetWidth)")
    assert min(spaces) > 5


def test_signs_of_every_script_stand_in_the_order_of_reading_while_they_wait(explorer: Opener) -> None:
    page = explorer.open("connectivity?models=gru&text=the")
    expect(page.locator(".rank")).not_to_have_text("")
    slow = Slow(page, "/api/connectivity")
    page.get_by_label("Text", exact=True).fill("שלום 🙂 a")
    glyphs = page.locator(".glyph")
    expect(glyphs).to_have_text([" ", *"שלום", " ", "🙂", " ", "a"])
    left = glyphs.evaluate_all("items => items.map((item) => item.getBoundingClientRect().left)")
    assert left == sorted(left)
    expect(page.locator(".glyphs.tokens")).to_have_count(0)
    slow.go()
    expect(page.locator(".row-notes")).to_contain_text("5 characters are not in the model's alphabet")


def test_tabs_lead_back_to_what_was_there_and_all_of_them_are_seen(explorer: Opener) -> None:
    page = explorer.open("autocomplete?text=the+uni", width=390)
    area = page.get_by_label("Type here")
    area.fill("the united")
    page.wait_for_url("**text=the+united*")
    tabs = page.locator("#views a")
    edges = tabs.evaluate_all("items => items.map((item) => item.getBoundingClientRect().right)")
    assert len(edges) == len(VIEWS)
    assert max(edges) <= 390
    tabs.get_by_text("Ledger").click()
    expect(page.locator("h1")).to_have_text("Ledger")
    for name in ("Autocomplete", "Autocomplete"):  # also the one that is open
        tabs.get_by_text(name).click()
        expect(page.get_by_label("Type here")).to_have_value("the united")


def test_nothing_is_typed_that_the_first_text_of_a_view_would_replace(explorer: Opener) -> None:
    page = explorer.open("runs")
    expect(page.locator(".empty")).to_be_visible()
    slow = Slow(page, "/api/models*")
    page.evaluate("location.hash = '#/autocomplete?text=the+uni'")
    area = page.get_by_label("Type here")
    expect(area).to_be_disabled()  # the models are not there yet
    slow.go()
    expect(area).to_be_enabled()
    expect(area).to_have_value("the uni")


def test_the_bar_ends_with_the_darkest_color_of_the_matrix(explorer: Opener) -> None:
    page = explorer.open("connectivity?models=gru&text=the+united&view=matrix")
    expect(page.locator(".matrix canvas")).to_be_visible()
    darkest = """(selector) => {
        const canvas = document.querySelector(selector);
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let least = [255, 255, 255];
        for (let at = 0; at < data.length; at += 4) {
            if (data[at + 3] === 255 && data[at] < least[0]) least = [...data.slice(at, at + 3)];
        }
        return least;
    }"""
    assert page.evaluate(darkest, ".matrix canvas") == page.evaluate(darkest, ".bar-colors")


WIDE = """() => {
    const row = (tag, text) => `<tr>${`<${tag}>${text}</${tag}>`.repeat(13)}</tr>`;
    const head = `<thead>${row("th", "elman-xor redundant")}</thead>`;
    const table = `<table class="data">${head}${row("td", "24dd0d0ae8e9aed9")}</table>`;
    const panel = '<div class="comparison-panel"><section class="panel"><div class="scroll">';
    document.querySelector(".view-runs").innerHTML = `${panel}${table}</div></section></div>`;
}"""


def test_headers_break_between_words_and_a_wide_table_fits_on_paper(explorer: Opener) -> None:
    page = explorer.open("runs", width=718)  # A4 without margins
    expect(page.locator(".empty")).to_be_visible()
    page.evaluate(WIDE)
    head = page.locator(".comparison-panel thead th").last
    spread = "cell => cell.scrollWidth <= cell.clientWidth && getComputedStyle(cell).overflowWrap !== 'anywhere'"
    assert head.evaluate(spread)
    assert page.locator(".comparison-panel table").evaluate("table => table.offsetWidth") > 718  # it scrolls
    page.emulate_media(media="print")
    assert page.locator(".comparison-panel table").evaluate("table => table.getBoundingClientRect().right") <= 718


@pytest.mark.parametrize("view", ["connectivity?models=gru&", "decomposition?", "units?", "autocomplete?"])
def test_what_is_shown_looks_old_from_the_first_key_on(view: str, explorer: Opener) -> None:
    page = explorer.open(f"{view}text=the+united")
    expect(page.locator(".glyph").first).to_be_visible()
    typed = page.evaluate("""() => {
        const field = document.querySelector("textarea");
        field.value = "the king";
        field.dispatchEvent(new Event("input"));
        return getComputedStyle(document.querySelector(".answers")).pointerEvents;
    }""")
    assert typed == "none"
    expect(page.locator(".typed")).to_have_count(0)
    expect(page.locator(".glyphs").last).to_contain_text("king")
    expect(page.locator(".answers").first).to_have_css("pointer-events", "auto")
