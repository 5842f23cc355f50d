"""docs/reproduction: its pages are what the present code makes of the results that are kept there."""

from __future__ import annotations

import re
from pathlib import Path

from rote.commands.reporting import kept_results, write_pages
from rote.laboratory.study import ordered_names

KEPT = Path(__file__).parents[2] / "docs" / "reproduction"


def pages(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*.md") if path.name != "notes.md")
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_the_pages_are_current(tmp_path: Path) -> None:
    write_pages(KEPT, tmp_path, figures=False)
    made, there = pages(tmp_path), pages(KEPT)
    stale = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    assert not stale, "Rebuild them: rote report --kept docs/reproduction --markdown"


def test_every_figure_that_a_page_shows_is_there_and_small() -> None:
    linked = [
        (page, KEPT / Path(page).parent / found)
        for page, text in pages(KEPT).items()
        for found in re.findall(r"^!\[.*\]\(([^)]+)\)$", text, re.MULTILINE)
    ]
    assert [(page, path.name) for page, path in linked if not path.exists()] == []
    assert set(KEPT.rglob("figures/*")) == {path for _, path in linked}  # none is left of an earlier page
    assert sum(path.stat().st_size for _, path in linked) < 8_000_000


def test_what_is_kept_says_at_which_scale_it_was_run() -> None:
    sections = [page.section for result in kept_results(KEPT).values() for page in result.pages.values()]
    assert {section.study for section in sections} <= set(ordered_names())
    assert all(section.scale is not None and section.tables for section in sections)
