"""Views that were written as files (rote share, make gallery) work without a server and complain of nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from watched_page import Watched

from rote.cli import main
from rote.explorer.inline import check_view
from rote.explorer.views import VIEWS

sys.path.append(str(Path(__file__).parents[2] / "docs"))
from gallery import PAGES, write_gallery

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]
SEEN = {"connectivity": ".text-row", "autocomplete": ".choice-word", "decomposition": ".phrase-name",
        "units": ".unit-answer", "lookup": "table.steps", "ledger": ".counts li", "profiles": ".share",
        "chalk": ".chalk-graph svg", "recurrent": ".view[data-step='60'] .maps figure",
        "playground": ".view[data-step='200'] .seed-card"}  # fmt: skip


def test_every_page_of_the_gallery_opens_by_itself(opened: Open, tmp_path: Path) -> None:
    first = write_gallery(tmp_path / "gallery")
    page = opened(first).page
    links = page.locator("li a").evaluate_all("(all) => all.map((link) => link.getAttribute('href'))")
    assert links == [f"{file}.html" for file, *_ in PAGES]
    for file, view, *_ in PAGES:
        shown = opened(first.with_name(f"{file}.html")).page
        expect(shown.locator(SEEN[view]).first).to_be_visible()
        expect(shown.locator(".banner:visible")).to_have_count(0)
        if view == "connectivity":  # it opens as the explorer does: each network beside the article's
            expect(shown.locator(".suggestions:not(:empty)")).to_have_count(6)
        if view == "decomposition":
            expect(shown.locator(".phrase-name")).to_have_text("“los”")
            expect(shown.locator(".tree")).to_be_visible()
    with pytest.raises(Exception, match="other files than a gallery"):
        write_gallery(tmp_path)


def test_a_shared_playground_trains_on_in_the_file(opened: Open, tmp_path: Path) -> None:
    out, store = tmp_path / "page.html", str(tmp_path / "store")
    words = ["recurrent", "task=copy", "cell=elman", "units=4", "seeds=1", "step=3", "present=2", "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        main(["share", *words, "--store", store])
    assert not ended.value.code
    page = opened(out, width=1024, height=768).page
    expect(page.locator(".view")).to_have_attribute("data-step", "3")
    expect(page.locator("#recurrent-back")).to_be_visible()  # as the lecturer left it
    expect(page.locator("#recurrent-inside")).to_be_hidden()
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".view")).to_have_attribute("data-step", "4")
    page.keyboard.press("Escape")
    expect(page.locator("#recurrent-inside")).to_be_visible()


def test_every_view_can_be_shared() -> None:
    """But the first, which has links to the others and nothing of its own."""
    for view in VIEWS[1:]:
        check_view(view.name, ["present"])


def test_a_shared_view_has_the_state_of_its_link(opened: Open, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    link = "http://127.0.0.1:8765/#/ledger?outcome=contradicted&source=resistance"
    with pytest.raises(SystemExit) as ended:
        main(["share", link, "--out", str(out), "--store", str(tmp_path / "store")])
    assert not ended.value.code
    page = opened(out).page
    expect(page.locator("[data-outcome=contradicted] button, button[aria-pressed=true]").first).to_be_visible()
    expect(
        page.locator("details", has_text="The first step already puts the boundary where it stays").first
    ).to_be_visible()
    assert page.get_by_text("GRU and LSTM have almost the same accuracy").count() == 0
