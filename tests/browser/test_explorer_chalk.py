"""Chalk in a browser: the view, and the page that rote.chalk.show writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from explorer_server import Opener, assert_accessible
from playwright.sync_api import Page, expect
from watched_page import Watched

from rote.chalk import Tensor, show

pytestmark = pytest.mark.browser


def stepped_through(page: Page) -> None:
    """x·x + 2x at 3: five tensors and the constant, then the chain rule."""
    said = page.get_by_role("status").first
    expect(said).to_contain_text("Nothing is computed yet")
    page.get_by_role("button", name="Forward pass").click()
    expect(said).to_contain_text("is 15.")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(said).to_contain_text("the gradient of add is 1; it passes 1 to multiply, 1 to multiply")
    page.get_by_role("button", name="Backward pass").click()
    expect(page.locator("svg text", has_text="grad 8")).to_be_visible()
    page.get_by_role("button", name="Back", exact=True).click()
    page.get_by_role("button", name="Forward pass").click()
    expect(page.locator("svg text", has_text="grad 8")).to_have_count(0)


def test_an_example_is_stepped_through_and_linked(explorer: Opener) -> None:
    page = explorer.open("chalk")
    expect(page.locator(".chalk-player")).to_be_visible()
    stepped_through(page)
    expect(page).to_have_url(re.compile("at=5"))
    page.get_by_label("Example").select_option("lstm")
    expect(page.get_by_role("status").first).to_contain_text("Nothing is computed yet")
    page.get_by_role("button", name="Backward pass").click()
    expect(page.locator("svg text", has_text="grad 1").first).to_be_visible()
    expect(page.locator("svg text", has_text="value 1 -1")).to_have_count(1)  # x, in numbers
    expect(page.locator(".chalk-graph g", has_text="h0").first).to_be_in_viewport()
    page.get_by_role("button", name="Forward pass").click()
    expect(page.locator(".chalk-graph g", has_text="reduce_sum")).to_be_in_viewport()  # it is scrolled to
    assert_accessible(page)


def test_a_written_page_works_without_a_server(opened: Callable[..., Watched], tmp_path: Path) -> None:
    x = Tensor(3.0, name="x")
    show(x * x + 2 * x).save(tmp_path / "graph.html")
    stepped_through(opened(tmp_path / "graph.html").page)


def test_the_graph_is_dark_on_a_dark_page(explorer: Opener) -> None:
    page = explorer.open("chalk?example=neuron&at=12", color_scheme="dark")
    expect(page.locator(".chalk-graph")).to_be_visible()
    filled = page.locator(".chalk-graph rect").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fill)")
    filled.append(page.locator(".chalk-graph").evaluate("(one) => getComputedStyle(one).backgroundColor"))
    darkness = [max(map(int, re.findall(r"\d+", color)[:3])) for color in filled]
    assert len({*filled}) == 4  # paper, leaves, results and what is computed now
    assert max(darkness) < 160
    ink = page.locator(".chalk-graph text").first.evaluate("(one) => getComputedStyle(one).fill")
    assert min(map(int, re.findall(r"\d+", ink)[:3])) > 200
