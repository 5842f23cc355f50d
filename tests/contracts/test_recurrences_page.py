"""Pages on the units of today: a measured row for every one of them, and what is kept of the matrix."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from rote.cells import cells

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import matrix_table  # noqa: E402

PAGE = (ROOT / "docs" / "recurrences.md").read_text(encoding="utf-8")
ELSEWHERE = {"attention", "block"}  # docs/blocks.md


def of_the_page() -> set[str]:
    """Registered by the package itself; other tests register cells of their own."""
    own = {name for name in cells if cells[name].__module__.startswith("rote.cells.")}
    return {name for name in own if not cells[name].recurrent_matrix} - ELSEWHERE


def rows(name: str) -> list[list[str]]:
    """The cells of a generated table, without its head."""
    begin, end = f"<!-- {name}: benchmarks/recurrences_table.py -->", f"<!-- end of {name} -->"
    table = PAGE.split(begin)[1].split(end)[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


@pytest.mark.parametrize(("name", "others"), [("measured", set()), ("speed", set()), ("rules", {"gru", "lstm"})])
def test_every_cell_of_the_page_is_in_its_measured_tables(name: str, others: set[str]) -> None:
    assert {row[0].strip("`") for row in rows(name)} == of_the_page() | others


def test_what_was_measured_keeps_what_the_page_promises() -> None:
    for cell, lines, agreement, missing, growth, connected in rows("measured"):
        assert int(lines) > 0, cell
        assert float(missing) < 1e-10, cell
        assert float(growth) < 2, cell
        assert float(connected) < 1e-8, cell
        if found := re.search(r": (\S+)$", agreement):
            assert float(found.group(1)) < (1e-4 if "float32" in agreement else 1e-9), cell
    for cell, update, connectivity, spans in rows("speed"):
        assert float(update) > 0, cell
        assert float(connectivity) >= 5, cell
        assert float(spans) > 0, cell


def test_every_cell_is_explained_above_its_tables() -> None:
    explained = PAGE.split("## Which rule")[0]
    assert all(f"| `{name}` |" in explained for name in of_the_page())


def test_the_table_of_the_matrix_is_what_is_kept() -> None:
    """Run ``python benchmarks/matrix_table.py`` when it fails."""
    assert matrix_table.PAGE.read_text(encoding="utf-8") == matrix_table.page()
