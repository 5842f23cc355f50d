"""Views inside a notebook: one document in a frame, at work without a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from playwright.sync_api import expect
from text_models import WORDS, model_of
from watched_page import Watched

import rote
from rote.errors import UnknownNameError, UsageError
from rote.explorer import Explorer

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]


def notebook(folder: Path, *cells: str) -> Path:
    path = folder / "notebook.html"
    path.write_text(f"<!doctype html><title>notebook</title>{''.join(cells)}", encoding="utf-8")
    return path


def test_all_three_views_work_without_a_server(explorer_server: Explorer, opened: Open, tmp_path: Path) -> None:
    text = "the united <b>st"
    shown = [
        explorer_server.inline("connectivity", text=text, models=["gru", "lstm"], at=5),
        explorer_server.inline("autocomplete", text=text, word="states"),
        explorer_server.inline("decomposition", text=text, phrase=(4, 10), at=12),
    ]
    page = opened(notebook(tmp_path, *(view._repr_html_() for view in shown))).page
    rows, typed, phrase = (page.frame_locator("iframe").nth(index) for index in range(3))
    row = rows.locator(".text-row").nth(1)
    row.locator("[data-at='13']").hover()
    read = " the united  b"
    own = rote.suggest(rote.load_autocomplete("lstm"), read, top=5)
    expect(row.locator(".suggestions b")).to_have_text(list(own.words))
    typed.locator(".glyph[data-at='8']").hover()
    earlier = rote.suggest(rote.load_autocomplete("gru"), " the unit", top=8)
    expect(typed.locator(".choice-word")).to_have_text(list(earlier.words))
    expect(phrase.locator(".phrase-name")).to_have_text("“united”")
    expect(phrase.locator("[data-tree]")).to_be_attached()  # all has come
    phrase.locator(".glyph[data-at='2']").click()
    expect(phrase.locator(".phrase-name")).to_have_text("“the”")
    expect(phrase.locator(".tree")).to_be_visible()


def test_a_users_model_shows_itself_and_what_was_not_asked_needs_the_explorer(opened: Open, tmp_path: Path) -> None:
    with rote.explore(model_of(len(WORDS)), WORDS, store=tmp_path / "store", port=0) as explorer:
        cell = explorer._repr_html_()
    frame = opened(notebook(tmp_path, cell)).page.frame_locator("iframe")
    expect(frame.locator(".glyph")).to_have_text(["the", "dogs", "bark", "cat", "sleeps", ".", "The"])
    frame.get_by_label("Text", exact=True).fill("the cat")
    expect(frame.locator(".banner")).to_contain_text("needs the live explorer")


def test_a_space_that_is_expected_is_written_out(opened: Open, tmp_path: Path) -> None:
    model = model_of(4)
    with torch.no_grad():
        model.readout.bias.copy_(torch.tensor([9.0, 0.0, 0.0, 0.0]))
    with rote.explore(model, " abc", store=tmp_path / "store", port=0) as explorer:
        shown = [explorer.inline(view, text="ab c")._repr_html_() for view in ("connectivity", "autocomplete")]
        shown.append(explorer.inline("decomposition", text="ab c", phrase=(0, 1))._repr_html_())
    page = opened(notebook(tmp_path, *shown)).page
    rows, typed, phrase = (page.frame_locator("iframe").nth(index) for index in range(3))
    expect(rows.locator(".suggestions b").first).to_have_text("space")
    expect(typed.locator(".choice-word").first).to_have_text("space")
    expect(phrase.locator("dd").nth(1)).to_have_text("space")


def test_mistakes_are_told_in_one_line(explorer_server: Explorer, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'connectivity'"):
        explorer_server.inline("connectivty")
    with pytest.raises(UnknownNameError, match="Unknown option 'txt' of the view connectivity"):
        explorer_server.inline("connectivity", txt="the")
    with pytest.raises(UsageError, match="Did you mean 'gru'"):
        explorer_server.inline("connectivity", models=["gruu"])
    shown = explorer_server.inline("connectivity", text="the", models=["gru"])
    shown.save(tmp_path / "view.html")
    assert (tmp_path / "view.html").read_text(encoding="utf-8") == shown.html
