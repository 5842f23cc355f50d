"""Kept results have the data of their figures, however long, and their pages show them."""

from __future__ import annotations

import base64
import lzma
import math
from dataclasses import replace
from pathlib import Path

import pytest

from rote.errors import DamagedFileError, RoteError
from rote.laboratory import kept_results
from rote.laboratory.kept_results import MOST_ROWS, packed, unpacked
from rote.report import draw_figures, figure_paths
from rote.report.pages import study_page
from rote.report.tables import headed
from rote.store import Column, Table

LONG = Table.make(
    "curves", "Over training", (Column("step", role="label"), Column("set", role="label"), Column("loss")),
    [{"step": step, "set": "valid", "loss": math.sin(step) / 3} for step in range(MOST_ROWS + 1)],
    details=True, figure="lines", note="A long one.",
)  # fmt: skip


class Finished:
    """Of a finished run, what is kept of it."""

    record = None

    def tables(self) -> dict[str, Table]:
        raw = replace(LONG, name="raw", figure="")
        return {"curves": LONG, "raw": raw, "short": replace(LONG, name="short", rows=LONG.rows[:3])}


def test_no_figure_loses_its_data_to_the_limit_of_rows() -> None:
    kept = kept_results.of_run(Finished(), (), Path("plane.json"))
    assert (list(kept.tables()), kept.left_out) == (["short"], ("raw",))
    found = kept.drawn()["curves"]
    assert replace(found, rows=()) == replace(LONG, rows=())
    assert len(found.rows) == len(LONG.rows)
    for mine, own in zip(found.rows, LONG.rows, strict=True):
        assert mine[:2] == own[:2]
        assert mine[2] == pytest.approx(own[2], rel=5.1e-4)
    assert len(kept.packed) < 30_000  # of 76,000 as JSON with all digits


def test_results_without_long_figures_have_no_more_in_their_file_than_before() -> None:
    assert packed([]) == ""
    assert unpacked("", Path("a.json")) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("%%%", "cannot be unpacked"),
        (base64.b64encode(b"no archive").decode(), "cannot be unpacked"),
        (base64.b64encode(lzma.compress(b"[1")).decode(), "cannot be unpacked"),
        (base64.b64encode(lzma.compress(b"{}" * 500)[:60]).decode(), "cut off"),
        (base64.b64encode(lzma.compress(b'{"tables": [1]}')).decode(), "a.json"),
    ],
)
def test_a_damaged_figure_is_told_by_its_file(text: str, told: str) -> None:
    with pytest.raises(DamagedFileError, match=told):
        unpacked(text, Path("a.json"))


def test_more_than_fits_into_memory_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_results, "LARGEST", 1000)
    with pytest.raises(DamagedFileError, match="of more than 1000 bytes"):
        unpacked(base64.b64encode(lzma.compress(b" " * 100_000)).decode(), Path("a.json"))


def test_a_page_shows_the_figure_of_a_long_table_and_not_its_rows() -> None:
    from sample_tables import section

    made = replace(section(), tables=(LONG, replace(LONG, name="short", details=False, rows=LONG.rows[:3])))
    text = study_page(made, [], [], {"curves": "figures/a.png", "short": "figures/b.png"})
    assert "\n".join([*headed(LONG), "![Over training](figures/a.png)", ""]) in text
    assert text.index("| 2 | valid") < text.index("](figures/b.png)")
    assert "| 3 | valid" not in text


def test_figures_are_drawn_beside_the_page_under_the_names_that_it_links(tmp_path: Path) -> None:
    from sample_tables import section

    first = next(table for table in section().tables if table.figure)
    one = replace(section(), tables=(first, replace(LONG, figure="")))
    paths = figure_paths(one)
    assert paths == {first.name: f"figures/{one.study}-{first.name}.png"}
    draw_figures(one, paths, tmp_path)
    assert [path.name for path in tmp_path.rglob("*.*")] == [f"{one.study}-{first.name}.png"]
    assert (tmp_path / paths[first.name]).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_figure_that_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    from sample_tables import section

    wrong = replace(section(), tables=(replace(LONG, figure="no-such-figure"),))
    with pytest.raises(RoteError, match="The figure of the table 'curves' of"):
        draw_figures(wrong, figure_paths(wrong), tmp_path)
