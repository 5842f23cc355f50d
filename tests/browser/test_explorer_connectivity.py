"""The connectivity view with a real mouse and keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Page, expect
from text_models import WORDS, model_of

import rote
from rote.explorer.catalog import Listing, Opened
from rote.models import AutocompleteConfig, AutocompleteModel, autocomplete_record, load_autocomplete
from rote.studies.memorization.published import PARAGRAPH
from rote.studies.memorization.stored_data import load
from rote.tasks.alphabet import CHARACTERS

pytestmark = pytest.mark.browser
SHORT = "connectivity?text=the+united+states+of+america&models=gru,lstm"


def opened(explorer: Opener, view: str = SHORT, **settings: object) -> Page:
    page = explorer.open(view, **settings)
    expect(page.locator(".text-row")).not_to_have_count(0)
    expect(page.locator(".text-row [aria-busy]")).to_have_count(0)
    expect(page.locator(".glyph").first).to_be_visible()
    return page


def shaded(page: Page, row: int) -> list[str]:
    """The background of every character of a row."""
    glyphs = page.locator(".text-row").nth(row).locator(".glyph")
    return glyphs.evaluate_all("items => items.map((item) => item.style.backgroundColor)")


def chosen(page: Page, row: int = 0) -> int:
    return int(page.locator(".text-row").nth(row).locator(".glyph[aria-selected=true]").get_attribute("data-at"))


def test_pointing_at_a_character_moves_all_rows_and_asks_nothing(explorer: Opener) -> None:
    page = opened(explorer)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/" in request.url else None)
    for at in (27, 12):
        page.locator(".text-row").nth(0).locator(f"[data-at='{at}']").hover()
        assert [chosen(page, row) for row in (0, 1)] == [at, at]
    for row in (0, 1):
        colors = shaded(page, row)
        assert colors[13:] == [""] * len(colors[13:])  # what comes later has no color
        assert len({color for color in colors[:13] if color not in ("", "transparent")}) > 2
    assert shaded(page, 0) != shaded(page, 1)
    assert asked == []


def test_suggestions_and_the_rank_are_those_of_the_model(explorer: Opener) -> None:
    page = opened(explorer)
    page.locator(".text-row").nth(1).locator("[data-at='13']").hover()  # " the united st"
    own = rote.suggest(rote.load_autocomplete("lstm"), " the united st", top=5, target="states")
    row = page.locator(".text-row").nth(1)
    assert row.locator(".suggestions b").all_inner_texts() == list(own.words)
    expect(row.locator(".rank")).to_contain_text(f"states: rank {own.rank} ")


def test_keys_move_pin_and_read_values(explorer: Opener) -> None:
    page = opened(explorer)
    text = page.locator(".glyphs").first
    text.focus()
    for key, at in (("Home", 0), ("ArrowRight", 1), ("End", 28), ("ArrowLeft", 27), ("PageUp", 0), ("End", 28)):
        text.press(key)
        assert chosen(page) == chosen(page, 1) == at
    text.press("Enter")
    expect(page.locator(".text-rows")).to_have_class("text-rows pinned")
    text.press("Shift+ArrowLeft")
    assert chosen(page) == 28  # the output stays, the value before it is read
    expect(page.locator(".row-readout").first).to_contain_text("“c” (28):")
    text.press("Escape")
    expect(page.locator(".text-rows")).to_have_class("text-rows")


def test_a_click_pins_and_then_pointing_reads_values(explorer: Opener) -> None:
    page = opened(explorer)
    row = page.locator(".text-row").first
    row.locator("[data-at='20']").click()
    row.locator("[data-at='18']").hover()
    assert chosen(page) == 20
    expect(row.locator(".row-readout")).to_contain_text("(19):")
    row.locator("[data-at='20']").click()
    row.locator("[data-at='9']").hover()
    assert chosen(page) == 9


def test_a_tap_chooses_a_character(explorer: Opener) -> None:
    page = opened(explorer, width=375, has_touch=True)
    page.locator(".text-row").first.locator("[data-at='11']").tap()
    assert chosen(page) == chosen(page, 1) == 11


def test_rows_are_added_reordered_and_removed(explorer: Opener) -> None:
    page = opened(explorer)
    page.get_by_role("button", name="Add a model").click()
    rows = page.locator(".text-row")
    expect(rows).to_have_count(3)
    expect(rows.nth(2)).to_have_attribute("aria-label", "Nested LSTM")
    rows.nth(2).get_by_role("button", name="Move this row up").click()
    assert [rows.nth(row).get_attribute("aria-label") for row in range(3)] == ["GRU", "Nested LSTM", "LSTM"]
    rows.nth(0).get_by_role("button", name="Remove this row").click()
    expect(rows).to_have_count(2)
    assert "models=nested_lstm%2Clstm" in page.url


def test_own_text_with_characters_outside_the_alphabet(explorer: Opener) -> None:
    page = opened(explorer)
    page.get_by_label("Text", exact=True).fill("Zürich 9")
    expect(page.locator(".text-row").first.locator(".glyph")).to_have_count(9)
    expect(page.locator(".row-notes").first).to_contain_text("2 characters are not in the model's alphabet")
    expect(page.locator(".glyph.changed").first).to_have_attribute("data-at", "2")
    page.get_by_label("Text", exact=True).fill(" ")
    expect(page.locator(".row-readout").first).to_have_text("Type a text above.")
    expect(page.locator(".glyph")).to_have_count(0)


def test_options_change_what_is_shown_and_come_back_with_the_link(explorer: Opener) -> None:
    page = opened(explorer)
    page.get_by_text("What is shown and measured").click()
    page.locator(".text-row").first.locator("[data-at='15']").hover()
    before = shaded(page, 0)
    page.get_by_label("Shade").select_option("words")
    words = shaded(page, 0)
    assert words != before
    assert len(set(words[4:11])) == 1  # " united" is one
    page.get_by_label("Measure").select_option("signed")
    expect(page.locator(".bar-what")).to_contain_text("gradient × input")
    expect(page.locator(".text-row [aria-busy]")).to_have_count(0)
    page.get_by_label("Show").select_option("column")
    colors = shaded(page, 0)
    assert colors[:10] == [""] * 10  # an input influences what comes after it
    page.wait_for_url("**view=column**")
    again = opened(explorer, page.url.split("#/")[1])
    expect(again.get_by_label("Measure")).to_have_value("signed")
    assert chosen(again) == 15
    assert shaded(again, 0) == colors


def test_the_full_matrix_reads_its_numbers(explorer: Opener) -> None:
    page = opened(explorer, f"{SHORT}&view=matrix")
    expect(page.locator(".matrix canvas")).to_have_count(2)
    frame = page.locator(".heat-frame").first
    frame.focus()
    frame.press("Home")
    frame.press("ArrowRight")
    expect(page.locator(".heat-readout").first).to_contain_text("input 2 “t”")
    page.locator(".numbers summary").click()
    expect(page.locator(".numbers tbody tr")).to_have_count(29)
    page.locator(".glyphs").first.press("Home")
    expect(page.locator(".numbers tbody tr").nth(1).locator("td").first).to_have_text("–")  # the table follows


def test_the_walk_leads_through_the_articles_situations(explorer: Opener) -> None:
    page = opened(explorer)
    page.get_by_role("button", name="Situation 1: “learning”, two letters known").click()
    expect(page.locator(".text-row").first.locator(".glyph")).to_have_count(len(PARAGRAPH))
    expect(page.locator(".glyph[data-at='106'][aria-selected=true]")).to_have_count(2)
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="second: g|rammar").click()
    assert chosen(page) == 159
    expect(page.locator(".rank").first).to_contain_text("grammar: rank")
    page.get_by_role("button", name="Previous").click()
    assert chosen(page) == 106
    assert "walk=1" in page.url


def test_the_first_text_stands_beside_the_articles_own_networks_and_the_walk_says_both_ranks(explorer: Opener) -> None:
    page = opened(explorer, "connectivity?walk=1")
    rows = page.locator(".text-row")
    expect(rows).to_have_count(6)
    expect(rows.nth(1)).to_have_attribute("aria-label", "GRU, the article's own")
    expect(page.locator(".model-about").nth(0)).to_contain_text("steps of 32 texts · test loss")
    expect(page.locator(".model-about").nth(1)).to_contain_text("14,278 steps of 64 texts · test loss 2.12 nats")
    own = rote.suggest(rote.load_autocomplete("gru"), PARAGRAPH[:107], target="learning")
    expect(page.locator(".walk-ranks li").first).to_contain_text(f"GRU here rank {own.rank}, ")
    expect(page.locator(".walk-ranks li").first).to_contain_text("; published first, 57.5%")
    expect(page.locator(".walk-ranks li").nth(2)).to_contain_text("; published not among the first 3")
    page.locator(".text-rows").evaluate("list => list.lastElementChild.scrollIntoView()")
    expect(page.locator(".walk-page h2")).to_be_in_viewport()  # it stays beside the rows
    page.get_by_label("Text", exact=True).fill("the dogs")
    expect(rows).to_have_count(3)  # of another text nothing is stored


def test_a_users_model_with_words_and_an_error_that_leaves_the_view_usable(explorer: Opener) -> None:
    shelf = explorer.server.workbench.catalog
    key = shelf.add_model(model_of(len(WORDS)), WORDS, None, "Mine")
    try:
        seen = explorer.opened(f"{explorer.url}#/connectivity")
        page = seen.page
        expect(page.locator(".glyph")).to_have_text(["the", "dogs", "bark", "cat", "sleeps", ".", "The"])
        page.get_by_text("What is shown and measured").click()
        page.get_by_label("Asked about", exact=True).select_option("word")
        page.get_by_label("The word that is asked about").fill("wolves")
        expect(page.locator(".row-readout")).to_contain_text("'wolves' is not among the 8 outputs")
        expect(page.locator(".rank")).to_have_text("")
        page.get_by_label("The word that is asked about").fill("cat")
        expect(page.locator(".banner")).to_be_hidden()
        expect(page.locator(".rank")).to_contain_text("cat: rank")
        assert all("422" in complaint for complaint in seen.complaints)  # the browser's own note of that answer
        seen.complaints.clear()
    finally:
        del shelf._brought[key]


def test_a_slider_leads_over_the_checkpoints_of_training(explorer: Opener) -> None:
    words = ["<eos>", "<unknown>", "the", "dogs", "bark"]
    listing = Listing("kept", "Kept", "autocomplete", "gru", "character", len(words), "yours", (10, 20))
    seeds = {10: 1, 20: 2, None: 3}

    def load(step: int | None) -> Opened:
        return Opened(
            listing, AutocompleteModel(AutocompleteConfig(units=8), words, seeds[step]), CHARACTERS, tuple(words)
        )

    shelf = explorer.server.workbench.catalog
    shelf.add(listing, load)
    try:
        page = opened(explorer, "connectivity?text=the+dogs&models=kept")
        slider = page.get_by_role("slider")
        slider.focus()
        for key, said, link in (("Home", "step 10", "kept%4010"), ("ArrowRight", "step 20", "kept%4020")):
            slider.press(key)
            expect(page.locator(".checkpoint output")).to_have_text(said)
            page.wait_for_url(f"**models={link}*")
        expect(page.locator(".text-row [aria-busy]")).to_have_count(0)
        own = rote.suggest(load(20).model, " the dogs", top=5)
        page.locator(".glyphs").press("End")
        expect(page.locator(".suggestions b")).to_have_text(list(own.words))
        expect(opened(explorer, page.url.split("#/")[1]).locator(".checkpoint output")).to_have_text("step 20")
    finally:
        del shelf._brought["kept"]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
def test_anybody_can_use_it(explorer: Opener, width: int, scheme: str) -> None:
    page = opened(explorer, f"{SHORT}&view=matrix&walk=2&unit=words", width=width, color_scheme=scheme)
    expect(page.locator(".matrix canvas")).to_have_count(2)
    page.locator(".numbers summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_accessible(page)


def test_the_articles_own_matrices_stand_beside_the_live_models(explorer: Opener) -> None:
    page = opened(explorer)
    page.get_by_role("button", name="Add the article's own networks").click()
    rows = page.locator(".text-row")
    expect(rows).to_have_count(5)
    expect(page.locator(".text-row [aria-busy]")).to_have_count(0)
    expect(rows.nth(2).locator(".glyph")).to_have_count(len(PARAGRAPH))
    assert chosen(page, 0) == chosen(page, 2) == 106
    expect(rows.nth(2).locator(".rank")).to_have_text("learning: rank 1 (57.5%)")
    assert rows.nth(3).locator(".suggestions b").all_inner_texts() == load().words[1, 106].tolist()
    expect(rows.nth(4).locator(".rank")).to_have_text("learning: below the 3 that were stored")
    rows.nth(2).locator("[data-at='28']").hover()
    assert chosen(page, 0) == chosen(page, 4) == 28
    page.wait_for_url("**at=28**")
    again = opened(explorer, page.url.split("#/")[1])
    expect(again.locator(".text-row")).to_have_count(5)
    expect(again.locator(".text-row").nth(2)).to_have_attribute("aria-label", "GRU, the article's own")


def test_of_another_text_the_article_stored_nothing(explorer: Opener) -> None:
    seen = explorer.opened(f"{explorer.url}#/connectivity?text=the+dogs&models=gru,article:gru")
    expect(seen.page.locator(".row-readout").nth(1)).to_contain_text("stored its own paragraph alone")
    expect(seen.page.locator(".text-row").first.locator(".glyph")).to_have_count(9)
    assert all("422" in complaint for complaint in seen.complaints)
    seen.complaints.clear()


def grouped(values: dict[str, Any]) -> str:
    """Each value with the titles that it belongs to; alone where it is that of all."""
    found = dict.fromkeys(values.values())
    titles = {one: f" ({', '.join(title for title in values if values[title] == one)})" for one in found}
    return ", ".join(f"{one:,}{titles[one] if len(found) > 1 else ''}" for one in found)


def test_the_view_says_whether_the_models_were_trained_alike(explorer: Opener) -> None:
    """As their records have it, in all settings but how often was recorded; sizes count as equal within 1 %."""
    told = {"batch": "texts a step", "recurrent": "recurrent parameters"}
    facts: dict[str, dict[str, Any]] = {}
    for key, title in (("gru", "GRU"), ("lstm", "LSTM"), ("nested_lstm", "Nested LSTM")):
        made = autocomplete_record(key)["request"]["config"]
        size = load_autocomplete(key).parameter_counts()
        parts = (made["task"], made["training"], made["softmax"])
        facts[title] = {name: value for part in parts for name, value in part.items() if name != "record_every"}
        facts[title] |= {"parameters": sum(size.values()), "recurrent": size["recurrent"]}
    sizes = [found["parameters"] for found in facts.values()]
    apart = [name for name in facts["GRU"] if len({str(found[name]) for found in facts.values()}) > 1]
    apart = [name for name in apart if name != "recurrent" and (name != "parameters" or max(sizes) > 1.01 * min(sizes))]
    said = [
        f"{values} {told.get(name, name)}" if name in {*told, "steps", "parameters"} else f"{name} {values}"
        for name in apart or ("steps", "batch", "parameters", "recurrent")
        for values in (grouped({title: found[name] for title, found in facts.items()}),)
    ]
    page = explorer.open("connectivity?text=the&models=gru,lstm,nested_lstm")
    alike = page.locator(".alike")
    if apart:
        expect(alike).to_have_text(f"Not trained alike: {'; '.join(said)}. What tells them apart may come from that.")
    else:
        expect(alike).to_have_text(f"Trained alike: {'; '.join(said)}.")
    for left in (2, 1):
        page.locator(".text-row").last.get_by_role("button", name="Remove").click()
        expect(page.locator(".text-row")).to_have_count(left)
    expect(alike).to_have_text("")  # one model is like itself
