"""What goes wrong while a study runs: exit code 1, one line, the other runs and studies are not affected."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import SMOKE, Answer, outcome, run_here, script

from rote.store import Record, Store

HERE = Path(__file__).parent
DIVERGING = ("run", *SMOKE, "training.learning_rate=1e30")


def with_own_studies(*words: str, cwd: Path, first: str = "") -> Answer:
    """The command as in a script that has imported studies of one's own."""
    program = f"import sys; sys.path.insert(0, {str(HERE)!r}); import own_studies; from rote.cli import main; "
    return script(program + f"{first or 'pass'}; main(sys.argv[1:])", *words, cwd=cwd, PYTHONPATH=str(HERE))


def test_a_diverging_run_fails_with_a_clear_line_and_is_kept_as_failed(call):
    answer = call(*DIVERGING)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("rote: 8 of 8 runs failed. At step 1 'loss' is not finite. Try a lower learning rate.")
    assert answer.err.endswith("See: rote runs list --status failed\n")
    failed = json.loads(call("runs", "list", "--status", "failed", "--json").out)
    assert len(failed) == 4
    assert all("not finite" in row["error"] for row in failed)
    shown = call("runs", "list", "--status", "failed").out
    assert all(row["id"][:10] in shown for row in failed)
    assert "not finite" in call("runs", "show", failed[0]["id"]).out
    assert json.loads(call("runs", "list", "--status", "finished", "--json").out) == []


def test_a_failed_run_does_not_change_those_of_other_settings(call, finished, folder):
    call(*DIVERGING)
    answer = call("run", *SMOKE)
    assert answer.code == 0
    ours = outcome(folder / "rote-store")
    assert {name: ours[name] for name in outcome(finished.store)} == outcome(finished.store)


def test_a_failed_run_is_tried_again_and_not_reused(call):
    call(*DIVERGING)
    assert call(*DIVERGING).code == 1
    record = Record.read(Path(Store().root, Store().runs()[0].folder))
    assert (record.status, record.resumed) == ("failed", 1)


def test_a_bug_in_one_study_leaves_the_others_alone(folder):
    no_report = (
        "import rote.commands.reporting; rote.commands.reporting.write_report = lambda *words, **more: 'written'"
    )
    answer = with_own_studies("reproduce", "own", "--workers", "1", cwd=folder, first=no_report)
    assert answer.code == 1
    assert answer.out.splitlines()[-1] == "Report: written"
    lines = [line for line in answer.err.splitlines() if line.startswith("rote: ")]
    told = "rote: a-bug: 2 of 2 runs failed. ZeroDivisionError: first line second line (2 runs, first "
    assert lines[0].startswith(told)
    assert lines[1] == "rote: b-bug-in-tables: KeyError: 'no such column'"
    assert lines[2].startswith("rote: Left out: the run ")  # of the report
    assert lines[2].endswith(" of b-bug-in-tables. KeyError: 'no such column'")
    assert lines[3:] == ["rote: Failed: a-bug, b-bug-in-tables. See: rote runs list --status failed"]
    assert "Traceback" not in answer.err
    store = Store(folder / "rote-store")
    found = {(row.study, row.part): row for row in store.runs()}
    assert {key for key, row in found.items() if row.status == "failed"} == {("own-bug", "measurement")}
    assert found["c-empty", "study"].status == "finished"
    assert "Traceback" in (Record.read(store.root / found["own-bug", "measurement"].folder).error or "")


def test_a_study_that_prints_does_not_break_the_pipe_of_its_worker(folder):
    answer = with_own_studies("run", "a-bug", "--workers", "2", cwd=folder)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.count("a study may print") == 2  # perhaps on one line: two workers print
    told = answer.err.splitlines()[-1]
    assert told.startswith("rote: 2 of 2 runs failed. ZeroDivisionError: first line second line (2 runs, first ")


def test_a_study_of_the_script_itself_runs_in_workers_and_may_find_nothing(folder):
    """Whose __main__ is another one; a table without rows has no first row to take the columns from."""
    answer = run_here([sys.executable, str(HERE / "own_studies.py"), "run", "c-empty", "--workers", "2"], folder)
    assert answer.code == 0, answer.err
    assert "Nothing was found" in answer.out
    assert "without workers" not in answer.err


def test_show_of_a_study_of_one_s_own(folder):
    answer = with_own_studies("show", "c-empty", cwd=folder)
    assert answer.code == 0, answer.err
    assert "seeds" in answer.out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_stops_the_study_with_one_line_and_room_lets_it_go_on(call, small_disk, finished, workers):
    place = small_disk("size=100k")
    words = ("run", "plane", "--preset", "smoke", "--store", place, "--workers")
    answer = call(*words, workers)
    assert (answer.code, answer.out) == (1, "")
    told = [line for line in answer.err.splitlines() if line.startswith("rote: ")]  # beside progress, on a slow machine
    assert len(told) == 1
    assert "No space left on device" in told[0]
    assert call("runs", "--store", place).code == 0
    small_disk("size=20m")
    assert call(*words, "1").code == 0
    assert outcome(place) == outcome(finished.store)


def test_a_disk_that_is_full_before_the_work_is_refused(call, small_disk):
    place = small_disk("size=100k")
    with pytest.raises(OSError, match="No space left"):
        (place / "big").write_bytes(b"0" * 200_000)
    answer = call("run", *SMOKE, "--store", place)
    assert answer.code == 2
    assert "cannot be written: No space left on device" in answer.err


def test_a_damaged_result_is_told_with_its_file_and_remedy(call, folder):
    call("run", *SMOKE)
    row = next(row for row in Store().runs() if row.part == "measurement")
    path = folder / "rote-store" / row.folder / "result.json"
    path.write_bytes(path.read_bytes()[:-50])
    answer = call("run", *SMOKE)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.count("\n") == 1
    assert str(path) in answer.err
    assert "Remove the run folder" in answer.err
    call("runs", "rm", row.id, "--yes")
    assert call("run", *SMOKE).err == "Runs: 1 computed, 7 reused\n"
