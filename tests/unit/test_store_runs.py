"""Runs as a whole: their ids, the one writer of each, records, and what a killed process leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_runs import TABLE, contents, finish, make_request

from rote.errors import InterruptedRunError, RunLockedError, StoreError, UsageError
from rote.store import FinishedRun, Request, Store
from rote.store.lock import locked
from rote.store.record import Record


@pytest.mark.parametrize(
    "change",
    [
        {"study": "planes"},
        {"version": 2},
        {"part": "narrow"},
        {"config": {"steps": 9, "model": {"hidden": 4}}},
        {"config": {"steps": 8, "model": {"hidden": 5}}},
        {"config": {"steps": 8, "model": {"hidden": 4}, "more": None}},
        {"seeds": (0,)},
        {"seeds": (1, 0)},
        {"code": {"my_cells": "ab"}},
    ],
)
def test_a_request_that_differs_in_anything_computed_has_another_id(change: dict[str, Any]) -> None:
    assert make_request(**change).id != make_request().id
    assert make_request(**change) != make_request()


def test_the_same_request_has_the_same_id_whatever_the_preset_is_called_or_the_keys_order() -> None:
    request = make_request()
    for same in (
        make_request(preset="paper"),
        make_request(config={"model": {"hidden": 4}, "steps": 8}),
        Request.from_plain(request.to_plain()),
    ):
        assert (same.id, same, hash(same)) == (request.id, request, hash(request))


def test_an_id_is_the_same_in_every_process_and_version() -> None:
    """Stores outlive processes: an id that changed would compute every finished run again."""
    assert make_request().id == "9f72c64d17d65c20"


def test_own_code_changes_the_id_by_its_text_not_by_its_name_and_is_recorded_only_where_there_is_some() -> None:
    first, edited = make_request(code={"cells": "ab", "helpers": "cd"}), make_request(code={"cells": "ef"})
    moved = make_request(code={"package.helpers": "cd", "package.cells": "ab"})
    assert first.id == moved.id != edited.id
    assert Request.from_plain(first.to_plain()) == first
    assert "code" not in make_request().to_plain()  # as records always were


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner), max_leaves=8))  # fmt: skip
def test_an_id_survives_the_way_through_a_record(value: Any) -> None:
    import json

    request = make_request(config={"value": value})
    assert Request.from_plain(json.loads(json.dumps(request.to_plain()))).id == request.id


# --- one writer --------------------------------------------------------------------------------------------------

HOLDER = """
import sys
from rote.store import Request, Store
request = Request("plane", 1, "random", {"steps": 8, "model": {"hidden": 4}}, (0, 1), "quick")
with Store(sys.argv[1]).open(request) as run:
    run.metrics.append({"step": 0})
    print("ready", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holder(store: Store) -> Iterator[subprocess.Popen[str]]:
    """Another process that is writing the run of ``make_request()`` until it gets a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        if process.poll() is None:
            process.communicate("\n")


def test_a_second_process_cannot_open_or_remove_a_run_that_is_being_written(store: Store) -> None:
    with holder(store) as other:
        (row,) = store.runs()
        assert row.status == "running"
        before = contents(store.root)
        words = rf"written by process {other.pid}\. Wait for it or stop it"
        with pytest.raises(RunLockedError, match=words) as caught, store.open(make_request()):
            pytest.fail("two processes write one run")
        assert str(store.folder(make_request())) in str(caught.value)
        with pytest.raises(RunLockedError):
            store.remove(row.id)
        assert contents(store.root) == before


def test_the_lock_goes_with_its_process_even_if_that_was_killed(store: Store) -> None:
    with holder(store) as other:
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert [row.status for row in store.runs()] == ["interrupted"]
        with store.open(make_request()) as run:
            assert run.record.resumed == 1
            assert [row.status for row in store.runs()] == ["running"]
            run.finish([TABLE])
    assert [row.status for row in store.runs()] == ["finished"]


def test_a_process_does_not_lock_itself_out_after_a_run_nor_share_its_own_lock(store: Store) -> None:
    with store.open(make_request()):
        with pytest.raises(RunLockedError, match=f"process {os.getpid()}"), store.open(make_request()):
            pass
        with store.open(make_request(part="narrow")):
            pass
    with store.open(make_request()):
        pass


def test_a_listing_at_the_same_moment_does_not_stop_a_run_from_starting(store: Store) -> None:
    import fcntl
    import threading

    folder = store.folder(make_request())
    folder.mkdir(parents=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_SH)  # what is_locked() holds for a moment
    threading.Timer(0.03, os.close, (descriptor,)).start()
    with store.open(make_request()):
        pass


def test_a_lock_on_a_folder_that_was_removed_meanwhile_is_no_lock_on_the_one_that_took_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A waits for the lock while B removes the run and C starts it anew: A's lock is on B's deleted file."""
    from rote.store import lock

    folder, taken, held = tmp_path / "run", lock._taken, []
    folder.mkdir()

    def taken_after_a_removal(descriptor: int, patience: float) -> bool:
        if not held:
            folder.rename(tmp_path / "removed")
            folder.mkdir()
            other = locked(folder)
            held.append(other)
            other.__enter__()
        return taken(descriptor, patience)

    monkeypatch.setattr(lock, "_taken", taken_after_a_removal)
    with pytest.raises(RunLockedError), locked(folder):
        pytest.fail("two writers")
    held[0].__exit__(None, None, None)


# --- how a run ends ----------------------------------------------------------------------------------------------


def test_a_run_that_fails_keeps_its_traceback_and_can_be_run_again(store: Store) -> None:
    def fail() -> None:
        with store.open(make_request(), {"steps": "8"}) as run:
            run.metrics.append({"step": 0})
            raise ZeroDivisionError("division by zero")

    with pytest.raises(ZeroDivisionError):
        fail()
    record = Record.read(store.folder(make_request()))
    assert (record.status, record.passed, record.resumed) == ("failed", {"steps": "8"}, 0)
    assert record.error is not None
    assert "Traceback" in record.error
    assert record.error.endswith("ZeroDivisionError: division by zero")
    (row,) = store.runs()
    assert (row.status, row.error) == ("failed", "ZeroDivisionError: division by zero")
    assert store.finished(make_request()) is None
    with pytest.raises(StoreError, match="not finished: failed"):
        store.load(row.id)
    with store.open(make_request()) as run:
        assert (run.record.error, run.record.resumed) == (None, 1)
        assert run.resume() is None
        run.finish([TABLE])
    finished = store.finished(make_request())
    assert finished is not None
    assert finished.metrics() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InterruptedRunError("Stopped.")])
def test_an_interrupted_run_is_not_a_failed_one(store: Store, error: BaseException) -> None:
    with pytest.raises(type(error)), store.open(make_request()):
        raise error
    assert [row.status for row in store.runs()] == ["interrupted"]


def test_seconds_add_up_over_resumptions_and_the_first_start_stays(store: Store) -> None:
    def work_for_a_while() -> None:
        with store.open(make_request()) as run:
            run._since -= 100  # as if it had run that long
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            work_for_a_while()
    record = Record.read(store.folder(make_request()))
    assert 200 <= record.seconds < 290
    assert record.resumed == 1


def test_a_record_says_with_what_it_was_made(store: Store) -> None:
    record = finish(store).record
    assert set(record.environment["packages"]) >= {"rote", "torch", "numpy"}
    assert record.environment["packages"]["torch"] != "not installed"
    assert set(record.files) == {
        "result.json", "metrics.jsonl", "weights-00000008.json", "weights-00000008.safetensors",
    }  # fmt: skip


def test_what_is_noted_is_on_disk_at_once(store: Store) -> None:
    with store.open(make_request()) as run:
        run.note(device="cpu", uses=("a" * 16, "b" * 16))
        assert Record.read(run.folder).uses == ("a" * 16, "b" * 16)
        assert Record.read(run.folder).device == "cpu"


@pytest.mark.parametrize("study", ["../../x", "/x", "a/b", "..", ".hidden", "", "a\x1b[2J", "n" * 300])
def test_a_run_of_a_study_whose_name_is_no_folder_is_refused_before_anything_is_written(
    store: Store, tmp_path: Path, study: str
) -> None:
    with pytest.raises(UsageError, match="study must be the name of a file"), store.open(make_request(study=study)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_read_again_is_not_written(store: Store) -> None:
    with store.open(make_request()) as run:
        with pytest.raises(UsageError, match=r"uses\[0\] must be 16 hexadecimal digits\. Got 'a'"):
            run.note(uses=("a",))
        assert Record.read(run.folder).uses == ()


def test_a_missing_step_of_a_finished_run_is_an_error_that_says_which_there_are(store: Store) -> None:
    run = finish(store)
    with pytest.raises(StoreError, match=r"no checkpoint of step 7\. It has: \[8\]"):
        run.checkpoint(7)
    with store.open(make_request(part="summary")) as summary:
        summary.finish([TABLE])
    with pytest.raises(StoreError, match="no checkpoint"):
        FinishedRun(summary.folder).checkpoint()


# --- checkpoints of a run, and what a killed process leaves ------------------------------------------------------


def test_only_the_last_checkpoint_and_those_to_keep_stay(store: Store) -> None:
    with store.open(make_request()) as run:
        for step in range(1, 6):
            run.save(step, {"step": step}, keep={2, 4})
        assert run.checkpoints.steps() == [2, 4, 5]
        assert len(list(run.folder.glob("*.safetensors"))) == 3


def test_what_a_killed_write_left_is_removed_when_the_run_is_opened_again_and_nothing_else(store: Store) -> None:
    request = make_request()
    with store.open(request) as run:
        run.metrics.append({"step": 0})
        run.save(1, {"step": 1})
    kept = contents(run.folder)
    (run.folder / ".record.json.abc123.tmp").write_bytes(b"{")
    (run.folder / "checkpoint-00000002.safetensors").write_bytes(b"its JSON was never written")
    (run.folder / "notes.txt").write_bytes(b"of a user")
    with (run.folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step":1}\n{"st')
    with store.open(request) as run:
        assert run.resume() == (1, {"step": 1})
    left = contents(run.folder)
    assert left.pop("notes.txt") == b"of a user"
    assert {**left, "record.json": b""} == {**kept, "record.json": b""}
