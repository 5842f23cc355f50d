"""The current folder may hold anything: none of its files is imported unless the user names it."""

from __future__ import annotations

import pytest
from command_line import ROTE, run_here

SHADOWING = ("json", "numpy", "random", "rote", "signal", "sitecustomize", "torch", "usercustomize")


@pytest.fixture
def hostile(folder):
    """Files named as modules that every process imports; each leaves a trace and fails."""
    for name in SHADOWING:
        (folder / f"{name}.py").write_text(f"open('imported-{name}', 'w').close()\nraise SystemExit('{name}.py ran')\n")
    return folder


def test_no_file_of_the_current_folder_is_imported_by_the_command_or_its_workers(hostile):
    answer = run_here([ROTE, "run", "plane", "--preset", "smoke", "--workers", "2"], hostile)
    assert not list(hostile.glob("imported-*"))
    assert answer.code == 0, answer.err
    assert "Run " in answer.out
