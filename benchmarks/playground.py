"""The playground, from a click or key to what is painted: server, stream and page together, eight networks.

A change is seen when the page has drawn the frame that the server made under the new settings, and Chromium has painted
it. Measured in the page with real events, with the networks at rest and while they play. The baseline of the same run
is one painted frame of the same page with nothing to do, and one request that asks the server for nothing. Beside the
time on the clock stands the processor time of server and page, which other work on the machine does not change; while
the networks play it includes their training.

Target: a change is seen within 100 ms (median), at rest and while playing. On a busy machine: processor time at rest.

    python benchmarks/playground.py
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time

import torch
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table as Grid

from rote.explorer import Explorer, Workbench
from rote.store import Store

TRIALS, TARGET = 25, 100
PAINTED = """
    const painted = () => new Promise((done) =>
        requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)));
    const root = document.querySelector(".view");
    const drawn = (name) => new Promise((done) => {
        const watch = new MutationObserver(() => { watch.disconnect(); done(); });
        watch.observe(root, { attributes: true, attributeFilter: [name] });
    });
    const pause = (time) => new Promise((done) => setTimeout(done, time));
    const times = [];
"""


def measured(page: Page, action: str, attribute: str | None) -> tuple[list[float], float]:
    """Milliseconds of each trial from the action to the paint that follows the attribute's change; processor time."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = {item["name"]: item["value"] for item in session.send("Performance.getMetrics")["metrics"]}
        return 1000 * (float(metrics["TaskDuration"]) + time.process_time())

    before = spent()
    wait = f'const seen = drawn("{attribute}");' if attribute else "const seen = null;"
    found = page.evaluate(
        f"""async () => {{ {PAINTED}
            for (let trial = 0; trial < {TRIALS}; trial += 1) {{
                await pause(60);
                const begun = performance.now();
                {wait}
                {action}
                await seen;
                times.push((await painted()) - begun);
            }}
            return times;
        }}"""
    )
    after = spent()
    session.detach()
    return [float(value) for value in found], (after - before) / TRIALS


ACTIONS = {
    "a painted frame, nothing to do": ("", None),
    "a request for nothing": (
        'const { credentials } = await import("/static/lib/token.js");'
        ' await (await fetch("/api/session", { headers: credentials() })).json();',
        None,
    ),
    "a quadrant is clicked": ('document.querySelector(".quadrant.q11").click();', "data-version"),
    "the noise is moved": (
        'const slider = [...document.querySelectorAll("input[type=range]")].find((item) => item.max === "0.5");'
        " slider.value = (trial % 2) * 0.1 + 0.05; slider.dispatchEvent(new Event('input', { bubbles: true }));",
        "data-version",
    ),
    "a layer gets a unit more or less": (
        'document.querySelector(`[aria-label="${trial % 2 ? "Fewer" : "More"} units in layer 1"]`).click();',
        "data-version",
    ),
    "a step": ('document.querySelector("[aria-label=Step]").click();', "data-step"),
}


def main() -> None:
    torch.set_num_threads(1)
    console, grid = Console(), Grid("milliseconds until painted", "", "median", "slowest", "processor")
    slowest, costliest = 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        with Explorer(Workbench(Store(folder)), port=0) as server:
            page = browser.new_page(viewport={"width": 1280, "height": 1100})
            page.goto(f"{server.url}#/playground?seeds=8")
            page.locator(".view[data-step]").wait_for()
            for playing in (False, True):
                if playing:
                    page.get_by_role("button", name="Play").click()
                for name, (action, attribute) in ACTIONS.items():
                    if playing and attribute == "data-step":
                        continue  # steps come by themselves
                    times, processor = measured(page, action, attribute)
                    median = statistics.median(times)
                    state = "playing" if playing else "at rest"
                    grid.add_row(name, state, f"{median:.0f}", f"{max(times):.0f}", f"{processor:.0f}")
                    slowest = max(slowest, median if attribute else 0)
                    costliest = max(costliest, processor if attribute and not playing else 0)
            page.close()
        browser.close()
    console.print(grid)
    met = "met" if slowest <= TARGET else "missed"
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    console.print(f"Slowest median {slowest:.0f} ms, {TRIALS} trials each; target {TARGET} ms: {met}.")
    console.print(
        f"Most processor time at rest {costliest:.0f} ms. Other work on the machine: {load:.1f} per processor."
    )


if __name__ == "__main__":
    main()
