"""The lesson plan of docs/lesson.md: it fills the time, names every task, and its links lead to figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from explorer_server import Opener
from playwright.sync_api import expect

from rote.commands.lesson_tasks import TASKS

pytestmark = pytest.mark.browser
TEXT = (Path(__file__).parents[2] / "docs" / "lesson.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("| ")]
LINKS = re.findall(r"\(http://127\.0\.0\.1:8765/#/([^)]+)\)", TEXT)
# What must be seen of each view, beside the absence of a complaint.
FIGURES = {
    "chalk": ".chalk-graph svg", "recurrent": ".panel.presented", "connectivity": ".text-row",
    "units": ".panel.presented", "ledger": ".presented .claims-overview circle", "autocomplete": ".choice-word",
}  # fmt: skip


def test_the_plan_takes_90_minutes_and_has_every_task_once_in_order() -> None:
    assert sum(int(minutes) for minutes, *_ in ROWS[1:]) == 90
    told = [row[-1].partition(",")[0] for row in ROWS[1:] if row[-1]]
    assert told == [str(task.number) for task in TASKS]
    assert len(LINKS) == len(set(LINKS)) >= 12


@pytest.mark.parametrize("link", LINKS)
def test_a_link_of_the_plan_shows_its_figure_on_a_beamer(link: str, explorer: Opener) -> None:
    page = explorer.open(link, width=1024, height=768)
    expect(page.locator(FIGURES[link.partition("?")[0]]).first).to_be_visible()
    step = re.search(r"[?&]step=(\d+)", link)
    if step:
        expect(page.locator(".view")).to_have_attribute("data-step", step[1])
    expect(page.locator(".banner:visible")).to_have_count(0)
    expect(page.locator(".loading:visible")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
