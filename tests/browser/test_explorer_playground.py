"""The playground in a browser: real mouse and keys, networks that are trained by the server behind it."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from explorer_server import Opener, assert_accessible, taken_from
from PIL import Image, ImageChops
from playwright.sync_api import Page, expect
from watched_page import Watched

from rote.explorer.plane_session import PlaneSession
from rote.explorer.plane_settings import PlaneSettings
from rote.explorer.training_jobs import jobs_of

pytestmark = pytest.mark.browser
SMALL = "playground?seeds=2&hidden=4,3"


def shown(explorer: Opener, view: str = SMALL, **settings: object) -> Page:
    page = explorer.open(view, **settings)
    expect(page.locator(".view[data-step]")).to_be_attached()
    return page


def opened_at_step(explorer: Opener, step: int) -> Page:
    page = shown(explorer, f"{SMALL}&step={step}")
    expect(page.locator(".view")).to_have_attribute("data-step", str(step))
    return page


def step_of(page: Page) -> int:
    return int(page.locator(".view").get_attribute("data-step") or -1)


def until(page: Page, condition: Callable[[], bool]) -> None:
    """Playwright's own waiting for a condition needs eval, which the page does not allow."""
    for _ in range(600):
        if condition():
            return
        page.wait_for_timeout(50)
    pytest.fail("The condition did not come true within thirty seconds.")


def pixels(page: Page, card: int = 0) -> Image.Image:
    return picture(page.locator(".seed-card canvas").nth(card).evaluate("canvas => canvas.toDataURL()"))


def picture(address: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(address.partition("base64,")[2]))).convert("RGB")


def alike(one: Image.Image, other: Image.Image) -> bool:
    """But for rounding: a canvas that has been read is drawn by another part of the browser from then on."""
    return one.size == other.size and all(most <= 3 for _, most in ImageChops.difference(one, other).getextrema())


def test_space_plays_and_pauses_arrow_steps_and_r_resets(explorer: Opener) -> None:
    page = shown(explorer)
    first = pixels(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".view")).to_have_attribute("data-step", "1")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    until(page, lambda: step_of(page) > 3)
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator("#announcer")).to_contain_text("Training loss")
    assert not alike(pixels(page), first)
    page.keyboard.press("r")
    expect(page.locator(".view")).to_have_attribute("data-step", "0")
    until(page, lambda: alike(pixels(page), first))


def test_keys_belong_to_a_field_that_has_the_focus(explorer: Opener) -> None:
    page = shown(explorer)
    page.get_by_label("First seed").focus()
    for key in ("Space", "ArrowRight", "r"):
        page.keyboard.press(key)
    page.get_by_label("Noise").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".view")).to_have_attribute("data-version", "2")  # the noise was changed
    assert step_of(page) == 0


def test_what_is_shown_is_what_python_computes(explorer: Opener) -> None:
    page = shown(explorer, f"{SMALL}&step=20&learning_rate=0.3")
    expect(page.locator(".view")).to_have_attribute("data-step", "20")
    session = PlaneSession(PlaneSettings(seeds=2, hidden=(4, 3), learning_rate=0.3))
    session.advance(20)
    right = session.frame()["accuracy"]
    unseen = [f"{100 * row[3]:.0f}" for row in right]
    for card, share in enumerate(unseen):
        expect(page.locator(".seed-card").nth(card)).to_contain_text(f"unseen {share}%")
    page.reload()  # the address is enough to see the same again
    expect(page.locator(".view")).to_have_attribute("data-step", "20")
    for card, share in enumerate(unseen):
        expect(page.locator(".seed-card").nth(card)).to_contain_text(f"unseen {share}%")


def test_a_click_on_a_quadrant_changes_what_training_shows(explorer: Opener) -> None:
    page = shown(explorer)
    corner = page.get_by_role("button", name="quadrant upper right")
    expect(corner).to_have_attribute("aria-pressed", "false")
    page.locator(".quadrant.q11").click()
    expect(corner).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Training shows", exact=True)).to_have_value("all")
    expect(page).to_have_url(re.compile("combinations=00%2C01%2C10%2C11"))
    expect(page.locator(".seed-card").first).not_to_contain_text("unseen")
    page.get_by_label("Training shows", exact=True).select_option("narrow")
    expect(corner).to_have_attribute("aria-pressed", "false")
    for name in ("lower left", "lower right"):
        page.get_by_role("button", name=f"quadrant {name}").click()
    expect(page.get_by_role("button", name="quadrant lower right")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#announcer")).to_contain_text("at least one")


def test_live_settings_keep_the_networks_and_another_shape_begins_again(explorer: Opener) -> None:
    page = shown(explorer)
    page.get_by_label("Updates per frame").select_option("16")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".view")).to_have_attribute("data-step", "16")
    page.get_by_label("Learning rate").select_option("1")
    expect(page.locator(".changes")).to_contain_text("first at step 16")
    assert step_of(page) == 16
    page.get_by_role("button", name="More units in layer 1").click()
    expect(page.locator(".view")).to_have_attribute("data-step", "0")
    expect(page.locator(".changes")).to_be_hidden()
    page.get_by_role("button", name="Add a layer").click()
    expect(page.locator(".depth")).to_have_text("3 hidden layers")
    page.get_by_label("Networks", exact=True).select_option("3")
    expect(page.locator(".seed-card")).to_have_count(3)


def test_looking_back_shows_an_earlier_step(explorer: Opener) -> None:
    page = shown(explorer)
    first = pixels(page)
    for _ in range(3):
        page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".view")).to_have_attribute("data-step", "3")
    assert not alike(pixels(page), first)
    page.get_by_label("Look back").focus()
    page.keyboard.press("Home")
    expect(page.locator(".view")).to_have_attribute("data-step", "0")
    assert alike(pixels(page), first)


TWICE = """async () => {
    const { drawPanel } = await import("/static/lib/plane.js");
    const canvas = document.createElement("canvas");
    const field = Uint8Array.from({ length: 1600 }, (_, at) => (at * 7) % 256);
    const drawn = () => {
        drawPanel(canvas, 180, { field, side: 40, points: null, shown: ["00"] });
        return canvas.toDataURL();
    };
    return [drawn(), drawn()];
}"""


def test_a_panel_that_is_drawn_again_is_the_same(explorer: Opener) -> None:
    """The pen kept the boundary's round caps for the dashes of the next drawing."""
    first, second = explorer.open().evaluate(TWICE)
    assert alike(picture(first), picture(second))


def test_a_page_that_is_left_frees_its_job(explorer: Opener) -> None:
    jobs = jobs_of(explorer.server.workbench)
    page = shown(explorer)
    running = jobs.running()
    assert running >= 1
    page.goto(f"{explorer.server.address}#/runs")
    expect(page.locator("h1")).to_have_text("Runs")
    until(page, lambda: jobs.running() < running)


def test_what_is_shown_can_be_taken_away(explorer: Opener) -> None:
    page = shown(explorer, f"{SMALL}&step=2")
    expect(page.locator(".view")).to_have_attribute("data-step", "2")
    taken = taken_from(page, "playground", {"seeds": "1", "hidden": "2"}, "step")
    assert taken["data"]["columns"][:3] == ["step", "seed", "training loss"]
    assert [len(row) for row in taken["data"]["rows"]] == [len(taken["data"]["columns"])]
    assert taken["drawn"].count("<image") == 1
    assert "data:image/png" in taken["drawn"]


def test_a_saved_page_shows_the_step_at_which_it_was_saved(
    explorer: Opener, opened: Callable[..., Watched], tmp_path: Path
) -> None:
    page = opened_at_step(explorer, 3)
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="Offline HTML").click()
    started.value.save_as(tmp_path / "saved.html")
    saved = opened(tmp_path / "saved.html").page
    expect(saved.locator(".view")).to_have_attribute("data-step", "3")
    assert alike(pixels(saved), pixels(page))
    saved.get_by_label("Look back").focus()
    saved.keyboard.press("Home")
    expect(saved.locator(".view")).to_have_attribute("data-step", "0")
    saved.get_by_role("button", name="Step", exact=True).click()
    expect(saved.get_by_role("alert")).to_contain_text("needs the live explorer")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_anybody_can_use_it(explorer: Opener, scheme: str, width: int) -> None:
    page = shown(explorer, color_scheme=scheme, width=width)
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
