"""A few of the stores that a stranger may have made; ``benchmarks/faults.py hostile`` plays hundreds."""

from __future__ import annotations

from pathlib import Path

import hostile
import pytest

SLOW = {"report", "kept report", "run", "run tiny", "estimate", "explore", "import", "export events"}


def test_no_command_ends_with_a_traceback_waits_writes_elsewhere_or_harms_another_run(tmp_path: Path) -> None:
    answer = hostile.play(15, 2, tmp_path, commands=set(hostile.COMMANDS) - SLOW)
    assert answer["wrong"] == []
    assert len(answer["faults"]) >= 8  # kinds; which ones the seed decides


def test_the_harness_sees_a_traceback_an_escape_a_file_outside_and_harm_to_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mischief(case: hostile.Case) -> int:
        (case.folder / "precious" / "thesis.txt").write_text("yours")
        other = next(path for path in case.store.glob("runs/*/*") if path != case.victim)
        (other / "record.json").write_text("{}")
        print("\x1b[2J")
        return 3

    def fail(case: hostile.Case) -> int:
        raise sqlite_error

    sqlite_error = hostile.sqlite3.OperationalError("near")
    monkeypatch.setattr(hostile, "DEEDS", {"nothing": lambda case: None})
    commands = dict.fromkeys(("a", "b", "c", "d"), mischief) | {"e": fail, "remove": fail}
    monkeypatch.setattr(hostile, "COMMANDS", commands)
    monkeypatch.setattr(hostile, "make", make_little)
    (wrong,) = [answer["wrong"] for answer in [hostile.play(1, 0, tmp_path, commands=commands)]]
    assert sum("exit code 3" in problem for problem in wrong) == 4
    assert sum("printed '\\x1b'" in problem for problem in wrong) == 4
    assert sum("OperationalError: near" in problem for problem in wrong) == 2
    assert any("something was written outside" in problem for problem in wrong)
    assert any("was harmed" in problem for problem in wrong)


def make_little(folder: Path) -> Path:
    for name in ("store/runs/plane/a", "store/runs/plane/b", "work", "precious"):
        (folder / name).mkdir(parents=True)
        (folder / name / "record.json").write_text("")
    return folder
