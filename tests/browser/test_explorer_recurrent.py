"""The recurrent playground in a browser: real mouse and keys, networks that are trained by the server behind it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Page, expect

from rote.analyses import trace
from rote.explorer.recurrent_session import RecurrentSession
from rote.explorer.recurrent_settings import RecurrentSettings
from rote.explorer.training_jobs import Look

pytestmark = pytest.mark.browser
SMALL = "recurrent?seeds=2&units=4&length=3"


def shown(explorer: Opener, view: str = SMALL, **settings: object) -> Page:
    page = explorer.open(view, **settings)
    expect(page.locator(".view[data-step]")).to_be_attached()
    return page


def at_step(page: Page, step: int) -> None:
    expect(page.locator(".view")).to_have_attribute("data-step", str(step))


def test_keys_step_play_go_back_and_the_address_gives_the_same_again(explorer: Opener) -> None:
    page = shown(explorer)
    for step in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        at_step(page, step)
    session = RecurrentSession(RecurrentSettings(seeds=2, units=4, length=3))
    session.advance(3)
    for place, share in enumerate(session.frame()["accuracy"]["new"]):
        expect(page.locator(".seed-card").nth(place)).to_contain_text(f"new {100 * share:.0f}%")
    page.keyboard.press("ArrowLeft")
    at_step(page, 2)
    page.keyboard.press("ArrowRight")
    at_step(page, 3)
    expect(page).to_have_url(re.compile("step=3"))
    before = page.locator(".cards").inner_text()
    page.reload()
    at_step(page, 3)
    assert page.locator(".cards").inner_text() == before
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.locator("#announcer")).to_contain_text("New items right")


def test_another_step_item_and_cell_are_shown_under_their_own_names(explorer: Opener) -> None:
    seen = explorer.opened(f"{explorer.url}#/{SMALL}")
    page = seen.page
    expect(page.locator(".view[data-step]")).to_be_attached()
    page.get_by_role("button", name=re.compile("^Step 1:")).click()
    expect(page.locator(".hint", has_text="Loss at step 1,")).to_be_visible()
    page.get_by_label("Item", exact=True).select_option("8")  # the first new one: twice as long
    expect(page.locator(".steps .step")).to_have_count(6)
    page.get_by_label("Cell", exact=True).select_option("lstm")
    names = ("hidden", "cell", "forget", "input", "candidate", "output")
    expect(page.locator("figure figcaption")).to_have_text([re.compile(name) for name in names])
    page.get_by_label("Task", exact=True).select_option("own")
    expect(page.locator(".about-view")).to_contain_text("Own pairs: 4 known items")
    page.get_by_label(re.compile("^Own pairs")).fill("nothing")
    page.get_by_label(re.compile("^Own pairs")).blur()
    expect(page.get_by_role("alert")).to_contain_text("Line 1 of the pairs must read")
    expect(page.locator(".about-view")).to_contain_text("4 known items")  # the old networks are still there
    seen.complaints.clear()  # of the browser, about the answer 422


def test_the_network_is_drawn_out_with_its_gates_at_the_chosen_step(explorer: Opener) -> None:
    page = shown(explorer, f"{SMALL}&item=8&step=2")
    at_step(page, 2)
    page.get_by_role("button", name=re.compile("^Step 4:")).click()
    expect(page.locator(".chain .unit")).to_have_count(6)
    expect(page.locator(".chain .returned")).to_have_count(3)  # from the fourth step back to the first
    session = RecurrentSession(RecurrentSettings(seeds=2, units=4, length=3))
    session.advance(2)
    tokens = torch.from_numpy(session.task.new.tokens[:1])
    update = trace(session.network(0), torch.eye(2)[tokens]).gates[0]["update"][0, 3].mean()
    expect(page.locator("figcaption", has_text="update")).to_contain_text(f"mean {float(update):.2g} at step 4")
    widths = "(all) => all.map((one) => Number(one.getAttribute('stroke-width')))"
    thick = page.locator(".chain .returned").evaluate_all(widths)
    gradient = session.frame(Look(item=8, at=3))["inside"]["gradient"]
    assert thick == pytest.approx([max(0.4, 6 * value / max(gradient)) for value in gradient[:-1]], abs=0.02)
    column = page.locator(".chosen-column").first.evaluate("(one) => [one.style.left, one.style.width]")
    assert [float(share.rstrip("%")) for share in column] == pytest.approx([50, 100 / 6], abs=0.01)


def test_the_script_is_saved_and_runs(explorer: Opener, tmp_path: Path) -> None:
    page = shown(explorer, f"{SMALL}&step=5")
    at_step(page, 5)
    with page.expect_download() as download:
        page.get_by_role("button", name="PyTorch script").click()
    file = tmp_path / "rote_network.py"
    download.value.save_as(file)
    said = subprocess.run([sys.executable, "-I", file], capture_output=True, text=True, check=True).stdout
    share = float(said.splitlines()[1].split()[1])
    expect(page.locator(".seed-card").first).to_contain_text(f"new {100 * share:.0f}%")


@pytest.mark.parametrize("settings", [{"width": 375}, {"color_scheme": "dark"}])
def test_it_is_accessible_and_fits(explorer: Opener, settings: dict[str, object]) -> None:
    page = shown(explorer, f"{SMALL}&step=2", **settings)
    at_step(page, 2)
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
