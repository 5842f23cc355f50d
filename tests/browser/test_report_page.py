"""The report as a reader meets it: opened from a file, without a network, on a wide screen, a phone and paper."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, expect
from watched_page import Watched

from rote.figures.style import MUTED

pytestmark = pytest.mark.browser

Open = Callable[..., Watched]
PAGES = ("index.html", "resistance.html")
FIGURES = ("plane-data", "plane-boundaries", "plane-training", "plane-seeds")
# The contrast of each piece of visible text with what is behind it (WCAG 2, relative luminance).
CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => [r, g, b].map((c) => linear(c / 255))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || element.closest("svg, script, .hidden, .skip, [hidden]")) continue;
    if (!element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const [a, b] = [luminance(parse(style.color)), luminance(behind(element))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    found.push([(a + 0.05) / (b + 0.05), large ? 3 : 4.5, walker.currentNode.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""


def draw_all(page: Page) -> None:
    """Bring each figure on the screen, since figures are drawn when they come near it."""
    for live in page.locator(".live").all():
        live.scroll_into_view_if_needed()
        expect(live).to_have_attribute("data-state", "drawn")


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")


def column(page: Page, table: str, number: int) -> list[str]:
    return page.locator(f"{table} tbody tr :nth-child({number} of th, td)").all_inner_texts()


def test_every_figure_is_drawn_under_the_strict_policy(source_page: Path, opened: Open) -> None:
    seen = opened(source_page)
    draw_all(seen.page)
    assert seen.page.locator(".live").count() == len(FIGURES)
    for name in FIGURES:
        figure = seen.page.locator(f"#{name} .live svg")
        box = figure.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 100
        assert figure.locator("path, image, line, rect").count() > 20
        expect(seen.page.locator(f"#{name} .still")).to_be_hidden()


def test_heat_maps_are_pictures_that_arrive(source_page: Path, opened: Open) -> None:
    page = opened(source_page).page
    draw_all(page)
    images = page.locator("#plane-boundaries .live svg image")
    assert images.count() == 6
    assert images.first.get_attribute("href").startswith("data:image/png;base64,")
    widths = """(images) => Promise.all(images.map(async (image) => {
      const probe = new Image();
      probe.src = image.getAttribute("href");
      await probe.decode();
      return probe.naturalWidth;
    }))"""
    assert images.evaluate_all(widths) == [11] * 6


@pytest.mark.parametrize("name", PAGES)
def test_every_link_and_download_leads_somewhere(report: Path, opened: Open, name: str) -> None:
    page = opened(report.with_name(name)).page
    links = page.locator("a").evaluate_all("(links) => links.map((link) => link.href)")
    assert len(links) > 15
    for link in links:
        target = urlsplit(link)
        path = Path(unquote(target.path))
        assert path.is_relative_to(report.parent), link
        assert path.stat().st_size > 0, link
        if target.fragment:
            assert f'id="{unquote(target.fragment)}"' in path.read_text(), link
        if path.suffix == ".json":
            assert json.loads(path.read_text())["$schema"]


def test_a_click_on_a_download_saves_the_file(source_page: Path, opened: Open) -> None:
    page = opened(source_page, accept_downloads=True).page
    unfold(page)
    with page.expect_download() as started:
        page.locator("#plane-outcome a", has_text="CSV").click()
    assert started.value.suggested_filename == "plane-outcome.csv"


def test_the_ledger_leads_to_the_verdict(report: Path, opened: Open) -> None:
    page = opened(report).page
    page.get_by_role("link", name="The claim fails holds.", exact=True).click()
    card = page.locator("#claim-fails")
    expect(card).to_be_in_viewport()
    expect(card.locator(".badge").first).to_have_text("contradicted")


def test_a_table_sorts_by_click_and_back(source_page: Path, opened: Open) -> None:
    page = opened(source_page).page
    unfold(page)
    table = "#plane-outcome table"
    heading = page.locator(f"{table} thead th").nth(1)
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert column(page, table, 2) == ["6", "6", "10"]  # as numbers, not as text
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert column(page, table, 2) == ["10", "6", "6"]


def test_missing_values_come_last_in_both_directions(source_page: Path, opened: Open) -> None:
    page = opened(source_page).page
    unfold(page)
    table = "#plane-outcome table"
    button = page.locator(f"{table} thead th").nth(3).get_by_role("button")
    button.click()
    assert column(page, table, 4) == ["0.875", "0.900", "–"]
    button.click()
    assert column(page, table, 4) == ["0.900", "0.875", "–"]


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_table_sorts_by_keyboard(report: Path, opened: Open, key: str) -> None:
    page = opened(report).page
    headings = page.locator("table.tallied thead th")
    headings.first.get_by_role("button").focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press(key)
    expect(headings.nth(2)).to_have_attribute("aria-sort", "ascending")
    outcomes = ["supported", "contradicted", "open", "void", "not run"]
    assert [text.split("\n")[0] for text in page.locator("table.tallied .verdict .badge").all_inner_texts()] == outcomes
    page.keyboard.press(key)
    assert page.locator("table.tallied .verdict .badge").all_inner_texts() == outcomes[::-1]
    expect(page.locator("table.tallied [aria-sort]")).to_have_count(1)


def test_a_count_filters_the_ledger_and_releases_it(report: Path, opened: Open) -> None:
    page = opened(report).page
    button = page.get_by_role("button", name="contradicted")
    button.click()
    expect(page.locator("table.tallied tbody tr:visible")).to_have_count(1)
    expect(page.get_by_role("status")).to_have_text("Showing 1 of 5 claims: contradicted.")
    button.click()
    expect(page.locator("table.tallied tbody tr:visible")).to_have_count(5)


def test_a_claim_has_a_strip_for_each_scale_and_the_forest_leads_to_it(source_page: Path, opened: Open) -> None:
    page = opened(source_page).page
    unfold(page)
    page.locator(".forest").get_by_role("link", name="holds", exact=True).click()
    card = page.locator("#claim-holds")
    expect(card).to_be_in_viewport()
    strips = card.locator(".strip")
    assert strips.count() == 5  # part and condition at two scales, the rival at one
    assert strips.first.locator(".dot").count() == 6
    assert strips.first.locator(".open-dot").count() == 3
    assert strips.first.locator(".dot title").first.text_content() == "seed 0: 0.2"


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_text_stands_out_and_the_page_never_scrolls_sideways(
    report: Path, opened: Open, name: str, width: int, scheme: str
) -> None:
    page = opened(report.with_name(name), width=width, color_scheme=scheme).page
    draw_all(page)
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    measured = page.evaluate(CONTRASTS)
    assert len(measured) > 50
    assert [item for item in measured if item[0] < item[1]] == []
    page.set_viewport_size({"width": 768, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 768


def test_figures_follow_the_readers_light_or_dark_paper(source_page: Path, opened: Open) -> None:
    page = opened(source_page, color_scheme="light").page
    draw_all(page)
    ink = page.locator("#plane-training .live svg .role-axis-label text").first
    expect(ink).to_have_attribute("fill", MUTED["light"])
    expect(page.locator("body")).to_have_css("background-color", "rgb(252, 252, 251)")
    page.emulate_media(color_scheme="dark")
    expect(ink).to_have_attribute("fill", MUTED["dark"])
    expect(page.locator("body")).to_have_css("background-color", "rgb(18, 21, 26)")
    expect(page.locator(".live[data-state=drawn]")).to_have_count(len(FIGURES))


def test_pointing_at_a_mark_tells_its_value(source_page: Path, opened: Open) -> None:
    page = opened(source_page).page
    draw_all(page)
    page.locator("#plane-seeds .live svg [aria-roledescription='circle']").first.hover()
    tip = page.locator("#vg-tooltip-element")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("corner wrong")


def test_a_small_figure_shrinks_to_a_phone_and_a_wide_one_scrolls(source_page: Path, opened: Open) -> None:
    page = opened(source_page, width=375).page
    draw_all(page)
    small = page.locator("#plane-data .live svg").bounding_box()
    wide = page.locator("#plane-training .live svg").bounding_box()
    assert small is not None
    assert wide is not None
    assert small["width"] < 343 < wide["width"]
    assert page.locator("#plane-training .drawing").get_attribute("tabindex") == "0"


def test_without_scripts_the_still_pictures_are_there(source_page: Path, opened: Open) -> None:
    page = opened(source_page, java_script_enabled=False).page
    for name in FIGURES:
        still = page.locator(f"#{name} .still")
        expect(still).to_be_visible()
        assert len(still.get_attribute("alt") or "") > 5
    expect(page.locator("button.copy").first).to_be_hidden()


def test_on_paper_pictures_replace_figures_and_the_folded_is_unfolded(source_page: Path, opened: Open) -> None:
    page = opened(source_page, color_scheme="light").page
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for name in FIGURES:
        expect(page.locator(f"#{name} .still")).to_be_visible()
        expect(page.locator(f"#{name} .live")).to_be_hidden()
    expect(page.locator("nav.contents")).to_be_hidden()
    expect(page.get_by_text("model.hidden")).to_be_visible()
    assert page.pdf(format="A4").startswith(b"%PDF-")


def test_the_command_can_be_copied(source_page: Path, opened: Open) -> None:
    page = opened(source_page, permissions=["clipboard-read", "clipboard-write"]).page
    button = page.locator("#study-plane .again button.copy").first
    page.evaluate("window.setTimeout = (action) => { window.later = action; }")  # else it may be over before we look
    button.click()
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "rote run plane --preset quick"
    page.evaluate("window.later()")
    expect(button).to_contain_text("Copy")


@pytest.mark.parametrize("name", PAGES)
def test_structure_for_readers_who_hear_the_page(report: Path, opened: Open, name: str) -> None:
    page = opened(report.with_name(name)).page
    assert page.locator("h1").count() == 1
    levels = page.locator("h1, h2, h3, h4").evaluate_all("(all) => all.map((h) => Number(h.tagName[1]))")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for label in page.locator(".live").evaluate_all("(all) => all.map((e) => e.getAttribute('aria-label'))"):
        assert len(label) > 5
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_the_first_page_shows_each_source_with_a_mark_for_each_claim(report: Path, opened: Open) -> None:
    page = opened(report).page
    marks = page.locator(".sources .marks a")
    assert marks.count() == 8
    expect(page.locator(".sources .is-not-run")).to_have_count(1)
    page.get_by_role("link", name="contradicted: The claim fails holds.").click()
    expect(page.locator("#claim-fails")).to_be_in_viewport()
    page.get_by_role("link", name="All claims").click()
    expect(page.locator("#ledger-title")).to_be_visible()


def test_the_first_page_is_light(report: Path, opened: Open) -> None:
    seen = opened(report)
    names = [Path(urlsplit(url).path).name for url in seen.requests]
    assert "vega.js" not in names
    assert sum((report.parent / "assets" / name).stat().st_size for name in names if name.endswith(("js", "css"))) < 1e5


def test_a_sources_page_begins_with_what_was_found_and_a_figure(source_page: Path, opened: Open) -> None:
    page = opened(source_page).page
    hero = page.locator(".hero .live")
    expect(hero).to_have_attribute("data-state", "drawn")
    top = hero.evaluate("(figure) => figure.getBoundingClientRect().top")
    assert top < 900, "the first plot is on the first screen"
    assert page.locator(".told li").count() == 3
    page.locator(".told a").first.click()
    expect(page.locator(".card:target")).to_be_in_viewport()
    assert page.locator(".card details[open]").count() == 0
    assert page.locator(".beside .open-dot").count() > 0
    assert page.locator(".beside .dot").count() > 0


def test_the_first_page_says_what_differs_from_the_sources(report: Path, opened: Open) -> None:
    page = opened(report).page
    expect(page.locator(".findings li")).to_have_count(1)
    scales = page.locator(".by-scale tbody tr")
    assert scales.count() >= 1
    above = [page.locator(part).bounding_box()["y"] for part in (".by-scale", ".findings", ".sources")]  # type: ignore[index]
    assert above == sorted(above)
    assert above[1] < 900, "tally and findings are on the first screen"
    page.locator(".findings a").first.click()
    expect(page.locator("#claim-fails")).to_be_in_viewport()
