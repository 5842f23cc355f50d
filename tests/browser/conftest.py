"""One headless Chromium for all browser tests, and pages that fail a test when anything goes wrong behind it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from watched_page import Watched

sys.path.append(str(Path(__file__).parents[1] / "unit"))  # the sample tables are shared with the unit tests


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    if executable is None:
        pytest.fail("The browser tests need Chromium on the PATH. On Debian: sudo apt-get install chromium")
    expect.set_options(timeout=30_000)  # milliseconds; a busy machine draws slowly
    with sync_playwright() as playwright:
        # No sandbox: Chromium refuses to start as root, as in a container, with one.
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Open a file in a fresh context with the given settings (viewport, color_scheme, ...).

    When the test ends, no page may have written an error to its console, nor asked for anything but files.
    """
    contexts, watched = [], []

    def open_file(path: Path, **settings: object) -> Watched:
        size = {"width": settings.pop("width", 1280), "height": settings.pop("height", 900)}
        context = browser.new_context(viewport=size, **settings)  # type: ignore[arg-type]
        contexts.append(context)
        seen = Watched(context.new_page())
        watched.append(seen)
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on(
            "console",
            lambda message: seen.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        seen.page.goto(path.as_uri())
        return seen

    yield open_file
    for context in contexts:
        context.close()
    assert [complaint for seen in watched for complaint in seen.complaints] == []
    assert [url for seen in watched for url in seen.from_outside] == []


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page of a report with every figure, every outcome but one, and a table with published numbers."""
    from sample_tables import section, verdicts

    from rote.report import build

    return build([section()], verdicts(), tmp_path_factory.mktemp("browser") / "report")


@pytest.fixture(scope="session")
def source_page(report: Path) -> Path:
    """The page of its source."""
    return report.with_name("resistance.html")
