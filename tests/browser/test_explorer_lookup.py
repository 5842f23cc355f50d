"""The lookup view in a browser: real mouse and keys, the models that come with the package."""

from __future__ import annotations

import re
import threading

import pytest
from explorer_server import Opener, assert_accessible, taken_from
from playwright.sync_api import Page, expect

from rote.explorer.lookup_models import LookupModel
from rote.studies.realization.starter import load_starter

pytestmark = pytest.mark.browser


def opened(explorer: Opener, view: str = "lookup", **settings: object) -> Page:
    page = explorer.open(view, **settings)
    expect(page.locator(".view[data-composition]")).to_be_attached()
    return page


def shown(page: Page, composition: str) -> None:
    expect(page.locator(".view")).to_have_attribute("data-composition", composition)


@pytest.fixture(autouse=True)
def quick_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search finds is tested elsewhere; here it takes no time."""

    def groups(self: LookupModel, closed: threading.Event) -> list[dict[str, object]]:
        common = {"label": "table", "accuracy": 1.0, "group_accuracy": 0.96, "majority": 0.125, "of_units": 176}
        return [
            {**common, "part": "encoder", "of": "state", "units": [3, 70]},
            {**common, "part": "encoder", "of": "state", "units": [5], "label": "time step"},
            {**common, "part": "decoder", "of": "reset", "units": [1, 2, 3]},
            {**common, "part": "decoder", "of": "update", "units": [170]},
        ]

    monkeypatch.setattr(LookupModel, "groups", groups)


def test_a_composition_is_typed_and_completed(explorer: Opener) -> None:
    page = opened(explorer)
    field = page.get_by_role("combobox", name="Composition")
    field.fill("")
    page.keyboard.type("010 t")
    options = page.get_by_role("listbox", name="Symbols").get_by_role("option")
    expect(options).to_have_count(8)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(field).to_have_value("010 t2 ")
    options.filter(has_text="t6").click()
    page.keyboard.press("Escape")
    expect(options.first).to_be_hidden()
    shown(page, "010 t2 t6 .")
    expect(page).to_have_url(re.compile(r"composition=010\+t2\+t6"))
    page.reload()
    shown(page, "010 t2 t6 .")


def test_outputs_are_those_of_the_models(explorer: Opener) -> None:
    page = opened(explorer, "lookup?composition=010 t7 t8 .")
    for row, kind in ((1, "baseline"), (2, "guided")):
        model, config = load_starter(kind)
        answer = LookupModel(model, config.task).answer(("010", "t7", "t8", "."))
        symbols = page.locator(".steps tbody tr").nth(row).locator(".symbol").all_inner_texts()
        assert symbols == [best[0]["symbol"] for best in answer["answers"]]
    right = page.locator(".steps tbody tr").nth(0).locator(".symbol").all_inner_texts()
    guided = page.locator(".steps tbody tr").nth(2)
    expect(guided.locator("td.wrong")).to_have_count(
        sum(one != other for one, other in zip(guided.locator(".symbol").all_inner_texts(), right, strict=True))
    )
    expect(page.locator(".place")).to_contain_text("new tables")


def test_what_is_wrong_is_said_beside_the_field(explorer: Opener) -> None:
    page = opened(explorer)
    field = page.get_by_role("combobox", name="Composition")
    before = page.locator(".view").get_attribute("data-composition")
    for text, says in (("000 t9", "“t9” is not a table"), ("t1", "begins with 3 bits"), ("000", "at least one table")):
        field.fill(text)
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        expect(page.locator(".mistake")).to_contain_text(says)
        expect(field).to_have_attribute("aria-invalid", "true")
    assert page.locator(".view").get_attribute("data-composition") == before  # the last good one stays
    page.get_by_role("button", name="in training").click()
    expect(page.locator(".mistake")).to_be_empty()
    expect(field).not_to_have_attribute("aria-invalid", "true")


def test_attention_and_gates_are_read_with_pointer_and_keys(explorer: Opener) -> None:
    page = opened(explorer, "lookup?composition=000 t1 t2 .")
    attention = page.get_by_role("group", name="Attention of the guided model")
    attention.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".map", has=attention).locator(".map-readout")).to_contain_text("looks at 000: 100.0%")
    gates = page.get_by_role("group", name="Gates of the baseline model")
    box = gates.bounding_box()
    assert box is not None
    gates.scroll_into_view_if_needed()
    gates.hover(position={"x": box["width"] / 2, "y": 15})
    expect(page.locator(".map", has=gates).locator(".map-readout")).to_contain_text(
        re.compile(r"Unit \d+.*update gate")
    )
    page.get_by_label("Part").select_option("decoder")
    page.get_by_label("Shown").select_option("state")
    gates.hover(position={"x": box["width"] / 2, "y": 18})
    expect(page.locator(".map", has=gates).locator(".map-readout")).to_contain_text(
        re.compile(r"state -?[\d.]+ at 000")
    )


def test_the_units_of_a_functional_group_are_marked(explorer: Opener) -> None:
    page = opened(explorer)
    marks = page.get_by_role("group", name="Gates of the guided model").locator("svg path")
    expect(marks).to_have_count(2)
    expect(page.locator(".groups-host td.group-size").nth(1)).to_have_text("2 of 176")  # the guided model's
    page.get_by_label("Group that tells").select_option("time step")
    expect(marks).to_have_count(1)
    page.get_by_label("Part").select_option("decoder")
    page.get_by_label("Shown").select_option("reset")
    page.get_by_label("Units").select_option("group")
    expect(marks.first).to_be_visible()  # how many depends on the machine's rounding
    expect(page).to_have_url(re.compile("part=decoder&of=reset&units=group"))


def test_what_is_shown_can_be_taken_away(explorer: Opener) -> None:
    page = opened(explorer)
    taken = taken_from(page, "lookup", {"composition": "000 t1 ."}, "composition")
    assert {len(row) for row in taken["data"]["rows"]} == {len(taken["data"]["columns"])}
    kinds = {(row[0], row[1]) for row in taken["data"]["rows"]}
    assert kinds == {
        (model, what) for model in ("baseline", "guided") for what in ("right", "answer", "attention", "encoder update")
    }
    assert taken["drawn"].count("<image") == 4


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_anybody_can_use_it(explorer: Opener, scheme: str, width: int) -> None:
    page = opened(explorer, "lookup?composition=000 t1 t2 t5 t7 t3", color_scheme=scheme, width=width)
    expect(page.locator(".groups-host table")).to_be_visible()
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
