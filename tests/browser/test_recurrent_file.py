"""The recurrent playground as one file: it trains without a server, and gives the numbers that the server would."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from explorer_server import Opener
from playwright.sync_api import Page, expect
from watched_page import Watched

from rote.explorer.recurrent_session import RecurrentSession
from rote.explorer.recurrent_settings import RecurrentSettings
from rote.explorer.training_jobs import Look

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]
# The page as a module sees it: the answers of the file, and the playground that trains on them.
ASKED = """async (asked) => {
    const { localTraining } = await import("rote/views/recurrent/local.js");
    const { recordedApi } = await import("rote/lib/api.js");
    const saved = JSON.parse(document.getElementById("saved").textContent);
    const api = localTraining(recordedApi(saved.answers));
    const found = [];
    for (const [route, body] of asked) found.push(await api.post(`/api/recurrent/${route}`, body));
    return JSON.stringify(found);
}"""


def saved(explorer: Opener, view: str, step: int, path: Path) -> Path:
    page = explorer.open(view)
    expect(page.locator(".view")).to_have_attribute("data-step", str(step))
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Offline HTML").click()
    download.value.save_as(path)
    return path


def answers(page: Page, *asked: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(page.evaluate(ASKED, asked))
    return found


@pytest.mark.parametrize("cell", ["elman", "gru", "lstm"])
def test_a_file_goes_on_with_the_numbers_of_the_server(
    cell: str, explorer: Opener, opened: Open, tmp_path: Path
) -> None:
    """With all items in a batch nothing is drawn at random: updates in the page and here are the same ones."""
    settings = RecurrentSettings(task="copy", length=2, cell=cell, units=5, batch=64, seeds=2, learning_rate=0.03)
    link = f"recurrent?task=copy&length=2&cell={cell}&units=5&batch=64&seeds=2&learning_rate=0.03&step=4"
    page = opened(saved(explorer, link, 4, tmp_path / "file.html")).page
    look = {"network": 1, "item": 2, "at": None}
    ours, session = answers(page, ("step", {"updates": 6, "look": look}))[0]["frame"], RecurrentSession(settings)
    session.advance(10)
    frame = session.frame(Look(network=1, item=2))
    assert ours["step"] == 10
    for kind in ("known", "new"):
        assert ours["loss"][kind] == pytest.approx(frame["loss"][kind], rel=1e-4)
        assert ours["accuracy"][kind] == pytest.approx(frame["accuracy"][kind], rel=1e-4)  # five digits are sent
    for measure in ("gradient", "jacobians", "products"):
        assert ours["inside"][measure] == pytest.approx(frame["inside"][measure], rel=2e-3, abs=1e-7)
    for name, terms in frame["inside"]["terms"].items():
        assert ours["inside"]["terms"][name] == pytest.approx(terms, rel=2e-3, abs=1e-7)
    for kind in ("states", "gates"):
        assert [row["name"] for row in ours["inside"][kind]] == [row["name"] for row in frame["inside"][kind]]
        for row, other in zip(ours["inside"][kind], frame["inside"][kind], strict=True):
            assert row["largest"] == pytest.approx(other["largest"], rel=1e-3)
    reset = answers(page, ("reset", {"look": look}))[0]["frame"]
    assert reset["loss"]["new"] == pytest.approx(RecurrentSession(settings).frame()["loss"]["new"], rel=1e-4)


def test_a_file_plays_changes_and_writes_a_script_that_runs(explorer: Opener, opened: Open, tmp_path: Path) -> None:
    page = opened(saved(explorer, "recurrent?seeds=2&units=4&length=3&step=2", 2, tmp_path / "file.html")).page
    expect(page.locator(".view")).to_have_attribute("data-step", "2")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".counter")).not_to_have_text("2")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_label("Cell", exact=True).select_option("lstm")
    expect(page.locator("figure figcaption", has_text="forget")).to_be_visible()
    page.get_by_label("Task", exact=True).select_option("agreement")
    expect(page.locator(".about-view")).to_contain_text("Agreement: 64 known items")
    page.get_by_label("Updates per frame").select_option("64")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".view")).to_have_attribute("data-step", "64")
    with page.expect_download() as download:
        page.get_by_role("button", name="PyTorch script").click()
    download.value.save_as(tmp_path / "rote_network.py")
    run = [sys.executable, "-I", str(tmp_path / "rote_network.py")]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    for name in ("known", "new"):
        share = float(re.search(rf"{name}: ([\d.]+)", said)[1])  # type: ignore[index]
        expect(page.locator(".seed-card").first).to_contain_text(f"{name} {100 * share:.0f}%")
    page.get_by_label("Task", exact=True).select_option("own")
    page.get_by_label(re.compile("^Own pairs")).fill("ab = x\nba = y\n---\nabab = x")
    page.get_by_label(re.compile("^Own pairs")).blur()
    expect(page.locator(".about-view")).to_contain_text("Own pairs: 2 known items, 1 new")
    page.get_by_label(re.compile("^Own pairs")).fill("nothing")
    page.get_by_label(re.compile("^Own pairs")).blur()
    expect(page.get_by_role("alert")).to_contain_text("Line 1 of the pairs must read")
    expect(page.locator(".about-view")).to_contain_text("2 known items")


def test_a_network_learns_parity_in_a_file(explorer: Opener, opened: Open, tmp_path: Path) -> None:
    """From weights of the page's own, with batches of its own."""
    page = opened(saved(explorer, "recurrent?seeds=1&units=4&length=2&step=1", 1, tmp_path / "file.html")).page
    settings = RecurrentSettings(task="parity", length=3, cell="gru", units=12, batch=4, seeds=1, learning_rate=0.03)
    found = answers(page, ("change", {"settings": settings.model_dump()}), ("step", {"updates": 400}))
    assert found[0]["frame"]["accuracy"]["known"][0] < 0.9
    assert found[1]["frame"]["accuracy"]["known"][0] == 1
    assert found[1]["frame"]["accuracy"]["new"][0] > 0.95


def test_a_cell_that_the_page_does_not_have_shows_its_past_and_says_what_to_do(
    explorer: Opener, opened: Open, tmp_path: Path
) -> None:
    view = "recurrent?seeds=1&units=4&length=3&cell=min_gru&step=2"
    page = opened(saved(explorer, view, 2, tmp_path / "file.html")).page
    expect(page.locator(".view")).to_have_attribute("data-step", "2")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The cell min_gru needs the live explorer")
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.locator(".view")).to_have_attribute("data-step", "1")
