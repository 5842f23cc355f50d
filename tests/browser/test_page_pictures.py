"""The pictures of explorer and report in README and documents show what these pages say now."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from explorer_server import Opener

sys.path.append(str(Path(__file__).parents[2] / "docs"))
from page_pictures import HIGH, IMAGES, VIEWS, WIDTH, taken, text_of, told

pytestmark = pytest.mark.browser
NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?![\d.])")


@pytest.mark.parametrize("view", VIEWS)
def test_a_picture_of_the_explorer_is_current(view: str, explorer: Opener) -> None:
    """Run `make picture` when it fails: what the view shows has changed since."""
    _, now = taken(explorer.open("chalk", width=WIDTH, height=HIGH), view)
    kept = text_of((IMAGES / f"{view}.png").read_bytes())
    assert NUMBER.split(kept)[::2] == NUMBER.split(now)[::2]
    numbers = [list(map(float, NUMBER.split(text)[1::2])) for text in (kept, now)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1.01)  # percents round either way


def test_the_picture_of_the_report_is_current() -> None:
    """Run `make picture` when it fails: verdicts on this source have changed since."""
    assert text_of((IMAGES / "report.png").read_bytes()) == told()
