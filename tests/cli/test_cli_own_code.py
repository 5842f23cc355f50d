"""Cells and studies of a user: named with --import, announced by an installed package, or in the user's own script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Answer

from rote import plugins
from rote.cli import COMMANDS
from rote.commands.completion import complete

Call = Callable[..., Answer]
CELL = '''
from rote.cells import LSTMCell, cells

@cells.register("{name}")
class Own(LSTMCell):
    """A unit of one's own."""
'''


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch):
    """What a test registers is not there for the next."""
    from rote import registry
    from rote.cells import cells

    monkeypatch.setattr(cells, "_registered", dict(cells._registered))
    monkeypatch.setattr(cells, "_loaded", dict(cells._loaded))
    monkeypatch.setattr(registry, "_registries", list(registry._registries))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("own_"):
            del sys.modules[name]


def test_what_a_named_file_registers_is_listed_and_taken_as_a_setting(call: Call, folder: Path) -> None:
    (folder / "own_cells.py").write_text(CELL.format(name="own_unit"))
    assert "own_unit" not in call("list", "cells").out
    assert "Unknown cell 'own_unit'" in call("run", "bptt", "model.cell=own_unit").err
    listed = call("list", "cells", "--import", "own_cells.py")
    assert "own_unit" in listed.out
    assert "A unit of one's own." in listed.out
    answer = call(
        "sweep", "bptt", "model.cell=own_unit", "--of", "x.y", "--dry-run", "--import", folder / "own_cells.py"
    )
    assert "Unknown cell" not in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.py"], "'--import' names the file nowhere.py, which does not exist."),
        (["own-cells.py"], "'own-cells' cannot be the name of a module. Rename the file."),
        (["json.py"], "'--import' names json.py, but another module is called 'json'. Rename the file."),
        (["rote.py"], "another module is called 'rote'"),
        (["own_cells"], "'own_cells' is not installed. A file is named with its ending: --import own_cells.py"),
        (["own cells"], "'--import' takes a file (cells.py) or a module (acme.cells). Got 'own cells'."),
        (["own_broken.py"], "'--import own_broken.py' fails in line 2: ZeroDivisionError: division by zero"),
        (["own_typo.py"], "'--import own_typo.py' fails: SyntaxError:"),
        (["own_ends.py"], "'--import own_ends.py' fails in line 1: SystemExit: 3"),
        (
            ["own_needs.py"],
            "needs 'own_helper', which is not installed. A file is imported only if it is named",
        ),
        (["own_helper.py"], "'--import own_helper.py' registers nothing"),
        (["own_helper.py", "own_needs.py", "own_other.py"], "'--import own_other.py' registers nothing"),
    ],
)
def test_what_cannot_be_imported_is_told_in_one_line_before_anything_starts(
    call: Call, folder: Path, words: list[str], said: str
) -> None:
    texts = {
        "own-cells": "", "json": "", "rote": "", "own_broken": "\n1 / 0\n", "own_typo": "def", "own_ends": "exit(3)\n",
        "own_needs": "import own_helper\n" + CELL.format(name="own_needs"), "own_helper": "x = 1\n", "own_other": "",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    answer = call("run", "plane", *(word for name in words for word in ("--import", name)))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert said in answer.err
    assert not (folder / "rote-store").exists()


def test_files_that_are_named_may_import_each_other_in_the_order_in_which_they_are_named(
    call: Call, folder: Path
) -> None:
    (folder / "own_helper.py").write_text("x = 1\n")
    (folder / "own_needs.py").write_text("import own_helper\n" + CELL.format(name="own_needs"))
    assert "own_needs" in call("list", "cells", "--import", "own_helper.py", "--import", "own_needs.py").out


def test_a_plugin_of_an_installed_package_is_found_and_a_broken_one_hinders_nothing(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = folder / "site-packages"
    (site / "own_plugin-1.0.dist-info").mkdir(parents=True)
    (site / "own_plugin-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own_plugin\nVersion: 1.0\n"
    )
    points = "[rote.plugins]\nbroken = own_broken\ncells = own_plugin\n"
    (site / "own_plugin-1.0.dist-info" / "entry_points.txt").write_text(points)
    (site / "own_plugin.py").write_text(CELL.format(name="own_installed"))
    (site / "own_broken.py").write_text("raise ValueError('no\\nluck')\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(plugins, "_begun", False)
    with pytest.warns(UserWarning, match=r"plugin 'broken' \(own_broken\) cannot be imported: ValueError: no luck"):
        assert "own_installed" in call("list", "cells").out
    assert "Unknown cell" not in call("run", "bptt", "model.cell=own_installed", "--preset", "nothing").err


def test_the_option_is_there_for_every_command_that_knows_names_and_completed() -> None:
    without = {name for name in COMMANDS if "--import" not in complete([name, "--im"], COMMANDS)}
    assert without == {"runs", "worker", "completion", "campaign", "lesson"}  # records and parts know no code
