"""The tutorials are run as a reader would: each in a process and folder of its own, printing what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import run_markdown
from command_line import script

sys.path.append(str(Path(__file__).parents[2] / "docs"))
from tutorial_pictures import IMAGES, shown_by

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.md"))
RUNNER = """
import runpy, sys, torch
torch.set_num_threads(1)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=[path.stem for path in TUTORIALS])
def test_a_tutorial_runs_and_prints_what_it_says(tutorial: Path, tmp_path: Path) -> None:
    answer = script(RUNNER, run_markdown.__file__, tutorial, cwd=tmp_path)
    assert answer.code == 0, f"{answer.out}\n{answer.err}"
    pictures = shown_by(tutorial)
    assert pictures
    for name in pictures:  # run `python docs/tutorial_pictures.py` when it fails
        kept, now = (folder.joinpath(name).read_text(encoding="utf-8") for folder in (IMAGES, tmp_path))
        assert words(kept) == words(now)
        assert len(kept) == pytest.approx(len(now), rel=0.2)


def words(picture: str) -> list[str]:
    """What is written in it; numbers may differ from machine to machine."""
    found = [re.sub(r"[-\u2212]?\d[\d.e+-]*", "0", text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", picture)]
    return sorted(set(found))


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=[path.stem for path in TUTORIALS])
def test_the_links_of_a_tutorial_lead_to_files(tutorial: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", tutorial.read_text()):
        if not target.startswith("https://"):
            assert tutorial.parent.joinpath(target).exists(), target


def test_the_runner_finds_what_is_wrong(tmp_path: Path) -> None:
    """A runner that accepts everything would let every tutorial pass."""
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n```python\nx = 2\nprint(x)\n```\nso\n```text\n3\n```\n```python\nprint(x, 'and', id(x))\n```\n"
    )
    (message,) = run_markdown.run(page)
    assert message.startswith("page.md:8 says\n3\nbut the code prints\n2\n")
    page.write_text("```python\nprint(1, 'and', id(1))\n```\n```text\n1 and ...\n```\n")
    assert run_markdown.run(page) == []
    page.write_text("A\n\n```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_markdown.run(page)
    assert caught.traceback[-1].lineno == 3  # counted from 0: the file's own line


def test_what_is_wrong_is_mended_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    right = "```python\nprint(1, 'and', id(1))\n```\n```text\n1 and ...\n```\n"
    wrong = "```python\nprint(3)\n```\n\n```text\n2\n```\n"
    page.write_text(f"{wrong}so\n{right}{wrong}")
    assert run_markdown.write(page) == 2
    mended = wrong.replace("2", "3")
    assert page.read_text() == f"{mended}so\n{right}{mended}"
    assert run_markdown.run(page) == []
