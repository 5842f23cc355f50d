"""The explorer's views on texts: from a pointer or a key to what is seen, through the server and a real browser.

- Connectivity of 200 characters as an answer of the server, beside ``rote.connectivity`` alone. Target: under 1.5 s.
- One more key: the answer with suggestions and activity, beside reading the whole text again. Target: under 50 ms.
- In Chromium: from pointing at a character to the painted frame, beside an empty frame of the same page; and from a key
  to the suggestions in the page. Targets: under 50 ms each.

They take turns in the same run; one thread each.

    python benchmarks/explorer_texts.py [rounds]
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table as Grid

import rote
from rote.explorer import Explorer, Workbench
from rote.explorer.prefix_cache import Trails
from rote.explorer.reading import Reader
from rote.explorer.text_connectivity import link
from rote.store import Store
from rote.studies.memorization.published import PARAGRAPH

MODELS = ("gru", "lstm", "nested_lstm")
TEXT = f"{PARAGRAPH} t"
POINTED = """async ([first, empty]) => {
  const glyphs = document.querySelector('.text-row').querySelectorAll('.glyph');
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();  // its message comes after the frame is drawn
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
  await painted();
  const start = performance.now();
  if (!empty) glyphs[first].dispatchEvent(new PointerEvent('pointerover', { bubbles: true, pointerType: 'mouse' }));
  await painted();
  return performance.now() - start;
}"""


def seconds(action: Callable[..., object], *given: object) -> float:
    start = time.perf_counter()
    action(*given)
    return time.perf_counter() - start


def asked(explorer: Explorer, path: str, body: dict[str, object]) -> bytes:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {explorer.token}"}
    request = urllib.request.Request(explorer.address + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return bytes(response.read())


def served(explorer: Explorer, rounds: int, grid: Grid) -> None:
    for name in MODELS:
        reader = Reader.of(rote.load_autocomplete(name))
        body = {"model": name, "text": TEXT}
        asked(explorer, "api/connectivity", body)
        pairs = [
            (seconds(asked, explorer, "api/connectivity", body), seconds(link, reader, TEXT)) for _ in range(rounds)
        ]
        row(grid, f"connectivity of 200 characters, {name}", pairs, "1500 ms", "rote's own")
        keys = []
        for count in range(150, 150 + 4 * rounds):
            longer = {"model": name, "text": TEXT[:count], "since": count - 1}
            whole = reader.read(TEXT[:count], 400)
            again = seconds(Trails().follow, reader, whole)
            keys.append((seconds(asked, explorer, "api/autocomplete", longer), again))
        row(grid, f"one more key, answer, {name}", keys[2:], "50 ms", "the whole text again")


def in_the_browser(url: str, rounds: int, grid: Grid) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{url}#/connectivity")
        page.locator(".text-row .suggestions li").nth(14).wait_for()
        places = [20 + (7 * number) % 170 for number in range(6 * rounds)]
        pairs = [
            (page.evaluate(POINTED, [at, False]) / 1000, page.evaluate(POINTED, [at, True]) / 1000) for at in places
        ]
        row(grid, "pointing to paint, three rows of 198", pairs[3:], "50 ms", "an empty frame")
        page.goto(f"{url}#/autocomplete?text=the")
        page.locator(".choice-word").first.wait_for()
        area = page.get_by_label("Type here")
        area.press("End")
        keys = []
        for letter in " united states of america in the north"[: 4 * rounds]:
            before = page.locator(".view").get_attribute("data-milliseconds")
            area.press("Space" if letter == " " else letter)
            page.wait_for_function("old => document.querySelector('.view').dataset.milliseconds !== old", arg=before)
            keys.append((float(page.locator(".view").get_attribute("data-milliseconds") or 0) / 1000, float("nan")))
        row(grid, "a key to suggestions in the page", keys[2:], "50 ms", "")
        browser.close()


def row(grid: Grid, name: str, pairs: list[tuple[float, float]], target: str, baseline: str) -> None:
    mine, other = (sorted(times) for times in zip(*pairs, strict=True))
    middle, late = statistics.median(mine), mine[int(0.9 * (len(mine) - 1))]
    ratio = f"{middle / statistics.median(other):.2f} x {baseline}" if baseline else ""
    grid.add_row(name, f"{1000 * middle:.1f} ms", f"{1000 * late:.1f} ms", target, ratio)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    torch.set_num_threads(1)
    grid = Grid("", "median", "90 %", "target", "baseline")
    with (
        tempfile.TemporaryDirectory() as folder,
        Explorer(Workbench(Store(Path(folder) / "store")), port=0) as explorer,
    ):
        served(explorer, rounds, grid)
        if shutil.which("chromium"):
            in_the_browser(explorer.url, rounds, grid)
    Console().print(grid)


if __name__ == "__main__":
    main()
