"""What goes wrong while a study runs: exit code 1, one line, the other runs and studies are not affected."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import SMOKE, Answer, outcome, rote, run_here

from rote.store import Record, Store

HERE = Path(__file__).parent
DIVERGING = ("run", *SMOKE, "training.learning_rate=1e30")


def with_own_studies(*words: str, cwd: Path) -> Answer:
    """The command as in a script that has imported studies of one's own."""
    program = "import sys, own_studies; from rote.cli import main; main(sys.argv[1:])"
    return run_here([sys.executable, "-c", program, *words], cwd, PYTHONPATH=str(HERE))


def test_a_diverging_run_fails_with_a_clear_line_and_is_kept_as_failed(call):
    answer = call(*DIVERGING)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("rote: 4 of 4 runs failed. At step 1 'loss' is not finite. Try a lower learning rate.")
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


def test_workers_tell_the_same_as_one_process(call, folder):
    alone = call(*DIVERGING)
    words = [word for word in DIVERGING if word not in ("--workers", "1")]
    others = call(*words, "--workers", "2", "--store", "other")
    assert others.code == 1
    assert others.err.split(" (")[0] == alone.err.split(" (")[0]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_bug_in_one_study_leaves_the_others_alone(folder, workers):
    answer = with_own_studies("reproduce", "own", "--preset", "smoke", "--workers", workers, cwd=folder)
    assert answer.code == 1
    lines = [line for line in answer.err.splitlines() if line.startswith("rote: ")]
    assert lines[0].startswith("rote: 2 of 2 runs failed. ZeroDivisionError: first line second line (2 runs, first ")
    assert lines[1] == "rote: KeyError: 'no such column'"
    assert lines[2] == "rote: Failed: a-bug, b-bug-in-summary. See: rote runs list --status failed"
    assert len(lines) == 3
    assert "Traceback" not in answer.err
    store = Store(folder / "rote-store")
    found = {(row.study, row.part): row for row in store.runs()}
    assert {key for key, row in found.items() if row.status == "failed"} == {
        ("a-bug", "part"),
        ("b-bug-in-summary", "summary"),
    }
    assert found["c-talkative", "summary"].status == found["d-empty", "summary"].status == "finished"
    assert "Traceback" in (Record.read(store.root / found["a-bug", "part"].folder).error or "")
    assert (folder / "report" / "index.html").exists()


def test_a_study_may_print_and_find_nothing(folder):
    """Printing broke the pipe between worker and command; a table without rows broke the terminal's."""
    answer = with_own_studies("run", "c-talkative", "--workers", "2", cwd=folder)
    assert (answer.code, answer.out.splitlines()[-1][:4]) == (0, "Run ")
    assert "a study may print" not in answer.out
    assert answer.err.count("a study may print") == 2
    answer = with_own_studies("run", "d-empty", "--workers", "1", cwd=folder)
    assert answer.code == 0
    assert "Nothing was found" in answer.out


def test_a_study_in_the_script_itself_runs_without_workers(folder):
    """Worker processes cannot import __main__; the laboratory must not send them there."""
    answer = run_here([sys.executable, str(HERE / "own_studies.py"), "run", "d-empty", "--workers", "2"], folder)
    assert answer.code == 0, answer.err


def test_show_of_a_study_without_engines(folder):
    answer = with_own_studies("show", "d-empty", cwd=folder)
    assert answer.code == 0, answer.err
    assert "seeds" in answer.out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_stops_the_study_with_one_line_and_room_lets_it_go_on(folder, small_disk, finished, workers):
    place = small_disk("size=100k")
    words = ("run", "plane", "--preset", "smoke", "engine=stacked", "--workers", workers, "--store", place)
    answer = rote(*words, cwd=folder)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.count("\n") == 1
    assert "No space left on device" in answer.err
    assert rote("runs", "--store", place, cwd=folder).code == 0
    small_disk("size=20m")
    assert rote(*words, cwd=folder).code == 0
    assert outcome(place) == outcome(finished.store)


def test_a_disk_that_is_full_before_the_work_is_refused(call, small_disk):
    place = small_disk("size=100k")
    (place / "big").write_bytes(b"")
    with (place / "big").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(b"0" * 4096)
    answer = call("run", *SMOKE, "--store", place)
    assert answer.code == 2
    assert "cannot be written: No space left on device" in answer.err


def test_a_damaged_result_is_told_with_its_file_and_remedy(call, folder):
    call("run", *SMOKE)
    row = next(row for row in Store().runs() if row.part == "summary")
    path = folder / "rote-store" / row.folder / "result.json"
    path.write_bytes(path.read_bytes()[:-50])
    answer = call("run", *SMOKE)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.count("\n") == 1
    assert str(path) in answer.err
    assert "Remove the run folder" in answer.err
    call("runs", "rm", row.id, "--yes")
    assert call("run", *SMOKE).err == "0 runs computed, 4 reused\n"
