"""One headless Chromium for all browser tests, and pages that fail a test when anything goes wrong behind it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from explorer_server import Opener
from playwright.sync_api import Browser, expect, sync_playwright
from watched_page import Watched

from rote.explorer import Explorer, Workbench
from rote.store import Store

sys.path.append(str(Path(__file__).parents[1] / "unit"))  # the sample tables are shared with the unit tests
sys.path.append(str(Path(__file__).parents[1] / "explorer"))  # and the small text models


PATIENCE = 60_000  # milliseconds; a busy machine draws slowly
# The pages of the address bar, which Chromium opens with each window, and the process that it starts for a next page:
# they take longer than ours. The others are what Playwright switches off, whose list this one replaces.
UNUSED = (
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,SpareRendererForSitePerProcess,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,"
    "LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect,"
    "OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch"
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    if executable is None:
        pytest.fail("The browser tests need Chromium on the PATH. On Debian: sudo apt-get install chromium")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        # No sandbox: Chromium refuses to start as root, as in a container, with one.
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--disable-features={UNUSED}"]
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        browser.close()


ARTIFACTS = Path(__file__).parent / "artifacts"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Lets fixtures know whether their test failed."""
    report = yield
    setattr(item, f"report_{report.when}", report)
    return report


@pytest.fixture
def opened(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Watched]]:
    """Open a file or an address in a fresh context with the given settings (viewport, color_scheme, ...).

    When the test ends, no page may have written an error to its console, nor asked for anything but files and its own
    server. When it fails, its pages are kept as pictures in ``artifacts``.
    """
    contexts, watched = [], []

    def open_file(path: Path | str, **settings: object) -> Watched:
        size = {"width": settings.pop("width", 1280), "height": settings.pop("height", 900)}
        context = browser.new_context(viewport=size, **settings)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        seen = Watched(context.new_page())
        watched.append(seen)
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on(
            "console",
            lambda message: seen.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        address = path if isinstance(path, str) else path.as_uri()
        seen.server = "/".join(address.split("/")[:3]) + "/" if address.startswith("http://127.0.0.1:") else None
        seen.page.goto(address)
        return seen

    yield open_file
    called = getattr(request.node, "report_call", None)
    if called is not None and called.failed:
        ARTIFACTS.mkdir(exist_ok=True)
        for number, seen in enumerate(watched):
            seen.page.screenshot(
                path=ARTIFACTS / f"{request.node.name[:100].replace('/', '-')}-{number}.png", full_page=True
            )
    for context in contexts:
        context.close()
    assert [complaint for seen in watched for complaint in seen.complaints] == []
    assert [url for seen in watched for url in seen.from_outside] == []


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page of a report with every figure, claims of every outcome and kind, and published numbers."""
    from sample_tables import entries, section

    from rote.report import build

    return build([section()], entries(), tmp_path_factory.mktemp("browser") / "report")


@pytest.fixture(scope="session")
def source_page(report: Path) -> Path:
    """The page of its source."""
    return report.with_name("resistance.html")


@pytest.fixture(scope="session")
def explorer_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """One explorer for all browser tests, on a store that is empty."""
    with Explorer(Workbench(Store(tmp_path_factory.mktemp("explorer") / "store")), port=0) as server:
        yield server


@pytest.fixture
def explorer(explorer_server: Explorer, opened: Callable[..., Watched]) -> Opener:
    """``explorer.open("connectivity?text=the", width=375, color_scheme="dark")`` gives the page."""
    return Opener(explorer_server, opened)
