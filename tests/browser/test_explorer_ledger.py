"""The ledger and the runs in a browser: with a mouse, with a keyboard, on a phone, and with nothing in the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from explorer_server import Opener, assert_accessible
from picture_models import trained_in
from playwright.sync_api import Page, expect
from sample_store import FAILED, make_store
from watched_page import Watched

from rote.explorer import Explorer, Workbench
from rote.laboratory import Laboratory
from rote.recipes import Trained
from rote.store import FinishedRun, Request, Store

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """An explorer on a store with runs, some of networks that read symbols."""
    store = make_store(tmp_path_factory.mktemp("filled") / "store")
    Laboratory(store, workers=1).run("elman-letters", "smoke", {"seeds": 5})
    with Explorer(Workbench(store), port=0) as server:
        yield server


@pytest.fixture
def lab(filled: Explorer, opened: Callable[..., Watched]) -> Opener:
    return Opener(filled, opened)


def no_sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_an_empty_store_says_what_to_do(explorer: Opener) -> None:
    page = explorer.open("runs")
    expect(page.get_by_role("heading", name="The store is empty")).to_be_visible()
    expect(page.get_by_text("rote run plane")).to_be_visible()
    page.get_by_role("link", name="Ledger").click()
    expect(page.get_by_role("heading", name="Nothing has been run here yet")).to_be_visible()
    expect(page.get_by_text("rote reproduce")).to_be_visible()


def test_claims_are_filtered_and_the_address_remembers(lab: Opener) -> None:
    page = lab.open("ledger")
    expect(page.locator(".claim").first).to_be_visible()
    everything = page.locator(".claim").count()
    page.get_by_label("Source", exact=True).select_option("resistance")
    page.get_by_label("Kind").select_option("tallied")
    page.get_by_label("Search").fill("seeds")
    page.wait_for_url("**q=seeds**")
    found = page.locator(".claim").count()
    assert 0 < found < everything
    page.locator(".claim summary").first.click()
    expect(page.locator(".claim-body").first).to_be_visible()
    assert "source=resistance" in page.url
    assert "kind=tallied" in page.url
    page.reload()
    expect(page.locator(".claim")).to_have_count(found)
    expect(page.locator(".claim-body").first).to_be_visible()
    expect(page.get_by_label("Search")).to_have_value("seeds")


def test_the_overview_has_a_mark_for_each_claim_and_leads_to_it(lab: Opener) -> None:
    page = lab.open("ledger")
    claims, marks = page.locator(".claim"), page.locator(".claim-mark")
    expect(claims.first).to_be_visible()
    assert marks.count() == claims.count()
    marks.nth(40).locator("circle").first.click()
    expect(claims.nth(40).locator(".claim-body")).to_be_in_viewport()
    page.set_viewport_size({"width": 390, "height": 844})
    overview = page.locator(".claims-overview")
    expect(overview.locator("svg")).to_have_attribute("width", str(overview.evaluate("all => all.clientWidth")))
    said = page.locator(".claim .as-said").all_inner_texts()
    assert len(said) == marks.count()
    assert any("published" in text and "here" in text for text in said)


def test_a_count_filters_by_verdict_with_the_keyboard(lab: Opener) -> None:
    page = lab.open("ledger")
    button = page.get_by_role("button", name="not run")
    expect(button).to_be_visible()
    count = int(button.locator(".count").inner_text())
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".claim")).to_have_count(count)
    expect(page.locator(".view-ledger .filtered")).to_contain_text(f"Showing {count} of")
    page.get_by_label("Search").fill("zzzz")
    expect(page.get_by_role("heading", name="No claim fits")).to_be_visible()
    expect(page.locator(".view-ledger .filtered")).to_have_text(re.compile(r"^Showing 0 of \d+ claims\.$"))
    page.get_by_role("button", name="Show all claims").click()
    expect(page.locator(".claim")).not_to_have_count(count)


def test_kinds_and_status_filter_and_the_counts_follow(lab: Opener) -> None:
    page = lab.open("ledger")
    page.get_by_label("Kind").select_option("identity")
    tested = page.get_by_role("button", name="tested").locator(".count")
    expect(tested).not_to_have_text("0")
    expect(page.locator(".claim.is-tested")).to_have_count(int(tested.inner_text()))
    assert page.locator(".claim").count() == page.locator(".claim.is-tested").count()
    page.get_by_label("Kind").select_option("")
    page.get_by_label("Status").select_option("exploratory")
    expect(page.locator(".claim.is-tested")).to_have_count(0)


def test_a_claim_shows_what_is_kept_beside_what_ran_here(lab: Opener) -> None:
    page = lab.open("ledger?open=plane-corner")
    claim = page.locator("#claim-plane-corner")
    scales = 3  # published and quick are kept, smoke ran here
    expect(claim.locator(".figures .line")).to_have_count(scales)
    expect(claim.locator(".figures")).to_contain_text("published, kept")
    expect(claim.locator(".verdicts")).to_contain_text("smoke, here, exploratory")
    strips = claim.locator(".evidence .strip")
    assert strips.count() == 2 * scales  # a part and a condition
    assert strips.first.locator(".dot").count() == 256
    expect(claim.get_by_role("link", name=re.compile("See its .* runs"))).to_be_visible()


def test_the_runs_open_with_a_comparison_and_follow_those_that_are_going_on(lab: Opener) -> None:
    page = lab.open("runs?present=1", width=1024, height=768)
    expect(page.locator(".chart-line").first).to_be_visible()
    expect(page.locator(".run-side")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollHeight") <= 768
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Clear the selection").click()
    expect(page.get_by_role("heading", name="Compare runs")).to_be_visible()
    going = Request("plane", 0, "going", {"model": {"hidden": 3}}, (0,), "quick")
    store = lab.server.workbench.store
    with store.open(going) as run:
        run.metrics.append({"step": 0, "loss": [1.0]})
        page = lab.open("runs")
        expect(page.locator("tbody tr.chosen")).to_contain_text("running")
        run.metrics.append({"step": 5, "loss": [0.5]})
        expect(page.locator("path.chart-line")).to_have_attribute("d", re.compile("L"))  # a second point is there
        page.locator(".chart-plot").press("End")
        expect(page.locator(".chart-readout")).to_contain_text("step 5")
    expect(page.locator("tbody tr.chosen")).to_contain_text("interrupted")  # nobody goes on with it


def test_chosen_runs_are_compared_in_one_chart(lab: Opener) -> None:
    page = lab.open("runs?study=plane")
    expect(page.get_by_role("heading", name="Compare runs")).to_be_visible()
    rows = page.locator("tbody tr", has_text="finished").filter(has_text="training")
    rows.nth(0).click()
    rows.nth(1).get_by_role("checkbox").check()
    expect(page.locator(".chart-line")).to_have_count(2)
    expect(page.get_by_text("Settings that differ")).to_be_visible()
    box = page.locator(".chart-plot").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 80)
    expect(page.locator(".chart-readout")).to_contain_text("step ")
    page.reload()
    expect(page.locator(".chart-line")).to_have_count(2)


def test_the_chart_is_read_with_the_arrow_keys(lab: Opener) -> None:
    page = lab.open(f"runs?runs={FAILED.id}")
    page.locator(".chart-plot").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".chart-readout")).to_contain_text("step 0: plane broken, seed 0 1")


def test_a_network_of_a_run_is_opened_in_a_view_on_texts(lab: Opener) -> None:
    page = lab.open("runs?study=elman")
    page.locator("tbody tr", has_text="training").click()
    networks = page.get_by_role("region", name="Networks")
    networks.get_by_role("combobox").select_option("Elman network, elman smoke, letters, seed 4")  # the list has three
    networks.get_by_role("link", name="Connectivity").click()
    expect(page.locator(".picker select")).to_have_value(re.compile("run-.*-4"))
    expect(page.locator(".picker option:checked")).to_have_text("Elman network, elman smoke, letters, seed 4")
    expect(page.locator(".glyph").first).to_have_text(re.compile("[bdg]"))
    expect(page.locator(".banner")).to_be_hidden()
    page = lab.open("runs?study=elman-letters")
    page.locator("tbody tr", has_text="measurement").click()
    expect(page.get_by_text("A measurement has tables, no network. Open one of the trainings")).to_be_visible()


def test_text_from_a_run_is_text(lab: Opener) -> None:
    page = lab.open("runs?status=failed")
    expect(page.locator("td small.reason")).to_contain_text("<b>nothing to divide</b>")
    assert page.locator("td b").count() == 0


@pytest.mark.parametrize("view", ["ledger", "runs"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_anybody_can_use_it(lab: Opener, view: str, scheme: str, width: int) -> None:
    page = lab.open(f"{view}?runs={FAILED.id}&open=plane-seeds", color_scheme=scheme, width=width)
    expect(page.locator(".claim-body, .chart-line").first).to_be_visible()
    assert_accessible(page)
    assert no_sideways(page)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """An explorer on a store in which a recipe was trained with six settings."""
    store = Store(tmp_path_factory.mktemp("swept") / "store")
    for hidden in (2, 4, 8):
        for rate in (0.01, 0.1):
            config = {"model": {"hidden": hidden}, "training": {"learning_rate": rate, "steps": 10}}
            with store.open(Request("plane", 0, "training", config, (0, 1), "quick")) as run:
                run.metrics.append({"step": 0, "loss": [1.0, 1.0]})
                run.metrics.append({"step": 10, "loss": [hidden * rate, hidden * rate + 0.2]})
                run.finish({})
    with Explorer(Workbench(store), port=0) as server:
        yield server


def test_settings_that_were_tried_are_lines_over_parallel_axes(swept: Explorer, opened: Callable[..., Watched]) -> None:
    page = Opener(swept, opened).open("runs")
    lines = page.locator(".tried")
    expect(lines).to_have_count(6)
    panel = page.get_by_role("region", name="Settings that were tried")
    expect(panel).to_contain_text("plane training quick: 6 trainings")
    for axis in ("hidden", "learning_rate", "last loss"):
        expect(panel.locator("text", has_text=axis)).to_be_visible()
    plot = panel.locator(".parallel")
    plot.press("ArrowDown")  # the lowest first: the mean of 0.02 and 0.22
    expect(panel.locator(".parallel-readout")).to_have_text(
        "model.hidden 2, training.learning_rate 0.01, last loss 0.12"
    )
    named = page.locator(".chart-legend li").all_inner_texts()
    assert "plane training, hidden 2, learning_rate 0.01" in named
    assert len(set(named)) == 6  # each is told from the others
    assert_accessible(page)
    plot.press("Enter")  # it is compared no longer
    expect(page.locator("tr.chosen")).to_have_count(5)
    expect(page.locator(".tried.compared")).to_have_count(5)


def test_a_run_that_is_going_on_says_how_far_it_is(lab: Opener) -> None:
    config = {"model": {"hidden": 5}, "training": {"steps": 40}}
    with lab.server.workbench.store.open(Request("plane", 0, "far", config, (0,), "quick")) as run:
        run.metrics.append({"step": 10, "loss": [1.0]})
        page = lab.open("runs")
        row = page.locator("tbody tr", has_text="far")
        expect(row).to_contain_text("step 10 of 40")
        run.metrics.append({"step": 30, "loss": [0.5]})
        expect(row).to_contain_text("step 30 of 40")
        assert row.locator("progress").evaluate("bar => bar.position") == 0.75


def test_networks_that_read_pictures_show_what_they_say(opened: Callable[..., Watched], tmp_path: Path) -> None:
    run = trained_in(store := Store(tmp_path))
    with Explorer(Workbench(store), port=0) as server:
        page = opened(f"{server.url}#/runs?runs={run.id}").page
        part = page.get_by_label("Networks", exact=True)
        expect(part.locator(".described li canvas")).to_have_count(16)
        trained = Trained(FinishedRun(store.root / run.folder))
        said = [re.compile(re.escape(item.said or "nothing")) for item in trained.recipe.described(trained, 0)]
        expect(part.locator(".described .wrong, .described .right")).to_have_text(said)
        part.get_by_role("combobox").select_option("3")
        expect(part.locator(".answers:not([aria-busy])")).to_be_visible()
        assert_accessible(page)
