"""Pictures in the documentation are those that the program draws now."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))
NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?![\d.])")


def test_the_moving_picture_is_current() -> None:
    """Run `make picture` when it fails: models, analysis or drawing have changed since."""
    from moving_picture import PATH, moving_picture

    kept, now = PATH.read_text(encoding="utf-8"), moving_picture()
    assert NUMBER.split(kept)[::2] == NUMBER.split(now)[::2]
    numbers = [list(map(float, NUMBER.split(text)[1::2])) for text in (kept, now)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1.01)  # percents round either way; shades have two digits
    shades = [list(map(float, re.findall(r'opacity="([\d.]+)"', text))) for text in (kept, now)]
    assert shades[0] == pytest.approx(shades[1], abs=0.011)


def test_every_picture_that_a_page_shows_is_there_and_none_is_left_over() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    pages += (ROOT / "tutorials").glob("*.md")
    shown = {
        (page.parent / path).resolve()
        for page in pages
        for path in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    }
    assert {path for path in shown if not path.exists()} == set()
    assert {path for path in (ROOT / "docs" / "images").iterdir() if path.resolve() not in shown} == set()
