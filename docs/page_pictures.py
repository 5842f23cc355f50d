"""Takes the pictures of explorer and report that README and documents show, in Chromium.

    python docs/page_pictures.py [connectivity lookup playground report]

What stands on a page is kept in its picture as text, so that a test sees when the page says something else by now.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rote.cli import main as rote
from rote.explorer import Explorer, Workbench
from rote.laboratory import ledger
from rote.report.story import three_sentences
from rote.store import Store, write_atomically

IMAGES = Path(__file__).parent / "images"
# The state of each view, the part of it that is taken, and what is there once it has its answers.
VIEWS = {
    "connectivity": (
        "models=gru,lstm,nested_lstm&at=106&pin=1",
        ".text-rows",
        ".text-rows .glyph[aria-selected='true']",
    ),
    "lookup": ("", ".view-host", ".groups-host table"),
    "playground": ("step=160", ".view-host", ".view[data-step='160'] .seed-card"),
}
REPORTED = "realization"  # the source whose page is shown
WIDTH, HIGH, MARGIN = 1200, 1180, 24
TEXT = b"iTXt"


def with_text(png: bytes, text: str) -> bytes:
    """The picture with a text behind its header."""
    body = TEXT + b"Description\0\0\0\0\0" + text.encode()
    return png[:33] + (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big") + png[33:]


def text_of(png: bytes) -> str:
    """What ``with_text`` wrote."""
    size, kind = int.from_bytes(png[33:37], "big"), png[37:41]
    return png[41 : 41 + size].split(b"\0", 5)[-1].decode() if kind == TEXT else ""


def taken(page: Any, view: str) -> tuple[bytes, str]:
    """The picture of a view on a page of the explorer, and its text."""
    state, part, ready = VIEWS[view]
    page.goto(f"{page.url.split('#')[0]}#/{view}?{state}")
    for found in page.locator(ready).all() or [page.locator(ready).first]:
        found.wait_for()
    page.wait_for_load_state("networkidle")
    shown = page.locator(part)
    box = shown.bounding_box()
    clip = {**box, "x": box["x"] - MARGIN, "width": box["width"] + 2 * MARGIN}
    return page.screenshot(clip=clip, full_page=True), shown.inner_text()


def told() -> str:
    """The sentences on the report's page of the source that is shown."""
    with tempfile.TemporaryDirectory() as empty:
        entries = [entry for entry in ledger(Store(Path(empty) / "store")) if entry.claim.source == REPORTED]
    return "\n".join(one if isinstance(one, str) else one.text for one in three_sentences(entries))


def reported(page: Any) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.suppress(SystemExit):
            rote(["report", "--kept", str(Path(__file__).parent / "reproduction"), "--out", folder])
        page.goto((Path(folder) / f"{REPORTED}.html").as_uri())
        page.wait_for_timeout(1000)  # its first figure is drawn
        return page.screenshot(), told()


@contextlib.contextmanager
def opened() -> Iterator[Any]:
    """A page on an explorer without runs."""
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as empty,
        Explorer(Workbench(Store(Path(empty) / "store")), port=0) as explorer,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HIGH}, reduced_motion="reduce")
        page.goto(explorer.url)
        yield page
        browser.close()


def main(names: list[str]) -> None:
    take: dict[str, Callable[[Any], tuple[bytes, str]]] = {"report": reported}
    take |= {view: lambda page, view=view: taken(page, view) for view in VIEWS}  # type: ignore[misc]
    for name in names or sorted(take):
        with opened() as page:
            png, text = take[name](page)
        write_atomically(IMAGES / f"{name}.png", with_text(png, text))
        print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
