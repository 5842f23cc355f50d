"""The documentation is built as `make docs` does, warnings being errors; its links hold, its code runs."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import run_markdown
from command_line import PATIENCE, environment

ROOT = Path(__file__).parents[2]
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
WITH_CODE = [page for page in GUIDE if "```python" in page.read_text(encoding="utf-8")]


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("img", "script", "link", "source"):
            self.loaded += [found[name] for name in ("src", "href") if name in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the command of the Makefile, into another folder."""
    (line,) = re.findall(r"python (-m sphinx .*) docs/_build$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, *line.split(), str(folder)],
        cwd=ROOT, env=environment(OMP_NUM_THREADS="1"), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert "-W" in line.split()
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_markdown_page_and_every_tutorial_is_in_the_site(site: Path) -> None:
    found = [path for folder in ("docs", "tutorials") for path in (ROOT / folder).rglob("*.md")]
    written = [path for path in found if path.name != "notes.md"]  # those are in the pages of kept results
    assert len(written) > 20
    for path in written:
        if "_build" not in path.parts:
            assert (site / path.relative_to(ROOT)).with_suffix(".html").exists(), path


def test_a_test_that_a_page_names_is_there() -> None:
    """A guarantee stands with the test that would fail without it; renamed or removed, it would be an empty promise."""
    files = list((ROOT / "tests").rglob("test_*.py"))
    known = {path.name for path in files}
    known |= {name for path in files for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)}
    named = {
        (page.name, name)
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"\btest_\w+(?:\.py)?", page.read_text(encoding="utf-8"))
    }
    assert {(page, name) for page, name in named if name not in known} == set()
    assert {"store.md", "scaling.md", "explorer.md"} <= {page for page, _ in named}


def test_links_lead_to_pages_and_places_that_are_there(pages: dict[Path, Page]) -> None:
    followed = 0
    for path, page in pages.items():
        for link in page.links:
            target = urlsplit(link)
            if target.scheme:
                continue
            found = (path.parent / unquote(target.path)).resolve() if target.path else path
            assert found.exists(), f"{path.name}: {link}"
            if target.fragment and found in pages:
                assert unquote(target.fragment) in pages[found].places, f"{path.name}: {link}"
            followed += 1
    assert followed > 500


def test_a_page_needs_no_network(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for address in page.loaded:
            assert not urlsplit(address).netloc, f"{path.name} loads {address}"
            assert (path.parent / unquote(urlsplit(address).path)).exists(), f"{path.name} loads {address}"


def test_equations_are_drawn_and_none_is_left_as_text(site: Path) -> None:
    text = (site / "docs" / "guide" / "mathematics.html").read_text(encoding="utf-8")
    assert text.count("<math ") > 50
    article = text[text.index("<article") : text.index("</article")]
    assert "\\" not in re.sub(r"<annotation.*?</annotation>", "", article), "LaTeX that was not understood"
    assert "<mi>&</mi>" not in article, "an alignment that was not understood"


def test_the_reference_has_every_function_with_its_example(site: Path) -> None:
    import rote

    text = (site / "docs" / "api" / "rote.html").read_text(encoding="utf-8")
    for name in rote.__all__:
        if name[0].islower():
            assert f'id="rote.{name}"' in text
    assert text.count("&gt;&gt;&gt; </span>") > 40


@pytest.mark.parametrize("page", WITH_CODE, ids=[page.stem for page in WITH_CODE])
def test_the_code_of_the_guide_runs_and_prints_what_it_says(page: Path) -> None:
    """Where what is kept has changed: `python tests/cli/run_markdown.py --write docs/guide/examine.md`."""
    assert run_markdown.run(page) == []
