"""The text in color of source 003, in a report: pointing at a character chooses it in the texts of all cells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sample_tables import section
from watched_page import Watched

from rote.report import build
from rote.studies.memorization.published import SOURCE
from rote.studies.memorization.stored_data import load
from rote.studies.memorization.stored_tables import all_tables

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = {table.name: table for table in all_tables(load())}
    shown = section(tables["paragraph"], tables["share"], study="stored", source=SOURCE)
    first = build([shown], [], tmp_path_factory.mktemp("memorization") / "report")
    return first.with_name("memorization.html")


def test_pointing_at_a_character_shows_what_every_cell_suggests_there(
    page_file: Path, opened: Callable[..., Watched]
) -> None:
    page = opened(page_file).page
    figure = page.locator("#stored-paragraph")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".live svg")).to_be_visible()
    expect(figure.locator(".live")).to_contain_text("suggests learning (57.5%), legal (7.6%), length (4.4%)")
    figure.locator(".live svg .characters_marks path").nth(141).hover(force=True)
    for suggested in ("some (31.8%), school (5.8%)", "some (18.4%), south (4.0%)", "some (18.0%), several (5.4%)"):
        expect(figure.locator(".live")).to_contain_text(f"suggests {suggested}")
    page.locator("#stored-share").scroll_into_view_if_needed()  # without intervals, and without a complaint
    expect(page.locator("#stored-share .live svg")).to_be_visible()
