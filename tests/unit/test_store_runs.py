"""Runs as a whole: their ids, the one writer of each, the index of all, and what a killed process leaves behind."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_runs import TABLE, contents, finish, make_request, read_all

from rote.errors import DamagedFileError, InterruptedRunError, RunLockedError, StoreError, UnknownNameError, UsageError
from rote.store import FinishedRun, Request, Store, index
from rote.store.lock import is_locked, locked
from rote.store.record import Record


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


# --- ids ---------------------------------------------------------------------------------------------------------


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

    def taken_after_a_removal(descriptor: int) -> bool:
        if not held:
            folder.rename(tmp_path / "removed")
            folder.mkdir()
            other = locked(folder)
            held.append(other)
            other.__enter__()
        return taken(descriptor)

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


@pytest.mark.parametrize("error", [KeyboardInterrupt, InterruptedRunError])
def test_an_interrupted_run_is_not_a_failed_one(store: Store, error: type[BaseException]) -> None:
    with pytest.raises(error), store.open(make_request()):
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
    assert 200 <= record.seconds < 210
    assert record.resumed == 1


def test_a_record_says_with_what_it_was_made(store: Store) -> None:
    record = finish(store).record
    assert set(record.environment["packages"]) >= {"rote", "torch", "numpy"}
    assert record.environment["packages"]["torch"] != "not installed"
    assert set(record.files) == {
        "result.json", "metrics.jsonl", "checkpoint-00000008.json", "checkpoint-00000008.safetensors",
    }  # fmt: skip


def test_what_is_noted_is_on_disk_at_once(store: Store) -> None:
    with store.open(make_request()) as run:
        run.note(device="cpu", uses=("a", "b"))
        assert Record.read(run.folder).uses == ("a", "b")
        assert Record.read(run.folder).device == "cpu"


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


# --- the index ---------------------------------------------------------------------------------------------------


@pytest.fixture
def three(store: Store) -> Store:
    for part in ("random", "narrow"):
        finish(store, part=part)
    with pytest.raises(ZeroDivisionError), store.open(make_request(part="failing")):
        raise ZeroDivisionError
    return store


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The records that a listing reads from now on."""
    names: list[str] = []
    read = Record.read

    class Watched:
        @staticmethod
        def read(folder: Path) -> Record:
            names.append(folder.name)
            return read(folder)

    monkeypatch.setattr(index, "Record", Watched)
    return names


def test_a_listing_reads_only_what_changed_since_the_last(three: Store, reads: list[str]) -> None:
    first = three.runs()
    assert (len(first), len(reads)) == (3, 3)
    assert (three.runs(), len(reads)) == (first, 3)
    with three.open(make_request(part="failing")) as run:
        run.finish([TABLE])
    assert sorted(row.status for row in three.runs()) == ["finished"] * 3
    assert reads[3:] == [make_request(part="failing").id]


def test_a_row_says_what_its_record_says(three: Store) -> None:
    (row,) = [row for row in three.runs() if row.part == "random"]
    record = Record.read(three.root / row.folder)
    assert row == index.Listed(
        f"runs/plane/{record.request.id}", row.stamp, record.request.id, "plane", "random", "quick", "finished", 2,
        record.started, record.seconds, '{"model": {"hidden": 4}, "steps": 8}', "",
    )  # fmt: skip


def test_the_newest_run_is_listed_first_and_a_damaged_one_last(three: Store) -> None:
    folders = [three.root / row.folder for row in three.runs()]
    for number, folder in enumerate(folders[:2]):
        replace(Record.read(folder), started=f"2026-01-0{number + 1}T00:00:00+00:00").write(folder)
    (folders[2] / "record.json").write_bytes(b"")
    assert [three.root / row.folder for row in three.runs()] == [folders[1], folders[0], folders[2]]


@pytest.mark.parametrize(
    "damage",
    ["deleted", "garbage", "empty", "truncated", "other layout", "other table", "a folder", "stale rows"],
)
def test_an_index_that_is_lost_or_wrong_is_made_again_from_the_folders(three: Store, damage: str) -> None:
    expected, path = three.runs(), three.root / "index.sqlite"
    data = path.read_bytes()
    if damage in ("other layout", "other table", "stale rows"):
        with sqlite3.connect(path) as connection:
            if damage == "other layout":
                connection.execute("PRAGMA user_version = 99")
            elif damage == "other table":
                connection.executescript("DROP TABLE runs; CREATE TABLE runs (a, b); INSERT INTO runs VALUES (1, 2)")
            else:
                connection.execute("UPDATE runs SET stamp = 'old', status = 'nonsense', study = 'nonsense'")
        connection.close()
    else:
        path.unlink()
    if damage == "a folder":
        (path / "inside").mkdir(parents=True)
    elif damage in ("garbage", "empty", "truncated"):
        path.write_bytes({"garbage": b"no database" * 500, "empty": b"", "truncated": data[: len(data) // 2]}[damage])
    assert three.runs() == expected
    assert three.runs() == expected


def test_a_damaged_run_is_listed_with_the_reason_while_the_others_are_fine(three: Store) -> None:
    rows = {row.part: row for row in three.runs()}
    path = three.root / rows["narrow"].folder / "record.json"
    path.write_bytes(path.read_bytes()[:-40])
    after = {row.id: row for row in three.runs()}
    bad = after[rows["narrow"].id]
    assert (bad.status, bad.study, bad.folder) == ("damaged", "plane", rows["narrow"].folder)
    assert str(path) in bad.error
    assert after[rows["random"].id] == rows["random"]
    read_all(three.load(rows["random"].id))
    with pytest.raises(DamagedFileError, match="Remove the run folder"):
        three.load(bad.id)
    three.remove(bad.id)
    assert {row.part for row in three.runs()} == {"random", "failing"}


def test_a_run_is_not_called_damaged_any_more_once_it_can_be_read(
    three: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that answers again, permissions put right, a newer Rote: the record itself did not change."""
    expected = three.runs()
    (three.root / "index.sqlite").unlink()
    with monkeypatch.context() as patch:

        def fail(folder: Path) -> Record:
            raise StoreError("Cannot read it.")

        patch.setattr(Record, "read", fail)
        assert {row.status for row in three.runs()} == {"damaged"}
    assert three.runs() == expected


def test_a_folder_that_was_removed_by_hand_is_no_longer_listed(three: Store) -> None:
    import shutil

    gone, *rest = three.runs()
    shutil.rmtree(three.root / gone.folder)
    assert three.runs() == rest


def test_a_store_that_does_not_exist_lists_nothing_and_is_not_made(store: Store) -> None:
    assert store.runs() == []
    assert not store.root.exists()


def test_a_file_where_the_store_should_be_is_said_so_and_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for store in (Store(tmp_path / "file"), Store(tmp_path / "file" / "below")):
        with pytest.raises(UsageError, match=r"is a file, or lies below one\. Set ROTE_HOME"):
            store.check_writable()
        with pytest.raises(StoreError, match="Cannot read"):
            store.runs()


def test_stray_files_and_hidden_folders_are_not_listed_as_runs(three: Store) -> None:
    expected = three.runs()
    (three.root / "runs" / "notes.txt").write_text("x")
    (three.root / "runs" / "plane" / "notes.txt").write_text("x")
    (three.root / "runs" / "plane" / ".removed-abc").mkdir()
    assert three.runs() == expected


# --- finding and removing ----------------------------------------------------------------------------------------


def test_a_run_is_found_by_the_start_of_its_id_unless_that_is_unknown_or_stands_for_several(store: Store) -> None:
    requests = [make_request(seeds=(seed,)) for seed in range(20)]  # more than 16: two share their first digit
    for request in requests:
        with store.open(request):
            pass
    for request in requests:
        assert store.find(request.id) == store.folder(request)
    first = sorted(request.id for request in requests)
    shared = next(a[0] for a, b in itertools.pairwise(first) if a[0] == b[0])
    with pytest.raises(UsageError, match=rf"The id '{shared}' stands for \d+ runs: .*Give more of it") as caught:
        store.find(shared)
    assert all((request.id in str(caught.value)) == request.id.startswith(shared) for request in requests)
    wrong = first[0][:-1] + ("0" if first[0][-1] != "0" else "1")
    with pytest.raises(UnknownNameError, match=rf"Unknown run '{wrong}'\. Did you mean '{first[0]}'\?"):
        store.find(wrong)
    with pytest.raises(UnknownNameError):
        store.find("")  # not: all of them


def test_a_run_is_removed_as_a_whole_and_alone(three: Store) -> None:
    gone, *rest = three.runs()
    three.remove(gone.id[:10])
    assert three.runs() == rest
    assert len(list((three.root / "runs" / "plane").iterdir())) == 2
    with pytest.raises(UnknownNameError):
        three.remove(gone.id)


def test_a_run_can_be_removed_again_after_a_removal_that_was_killed_halfway(store: Store) -> None:
    run = finish(store)
    half = run.folder.with_name(f".removed-{run.folder.name}")
    half.mkdir()
    (half / "metrics.jsonl").write_text("left by a process that was killed")
    store.remove(run.id)
    assert list(run.folder.parent.iterdir()) == []


@pytest.mark.parametrize("link", ["run", "study"])
def test_removing_never_follows_a_link_out_of_the_store(store: Store, tmp_path: Path, link: str) -> None:
    elsewhere = Store(tmp_path / "elsewhere")
    run = finish(elsewhere)
    kept = contents(elsewhere.root)
    (store.root / "runs").mkdir(parents=True)
    if link == "study":
        (store.root / "runs" / "plane").symlink_to(run.folder.parent)
    else:
        (store.root / "runs" / "plane").mkdir()
        (store.root / "runs" / "plane" / run.folder.name).symlink_to(run.folder)
    with pytest.raises(DamagedFileError, match="remove the link by hand"):
        store.remove(run.id)
    assert contents(elsewhere.root) == kept
    assert not (run.folder / "lock").exists() or not is_locked(run.folder)


def test_removing_a_link_to_another_run_of_the_store_keeps_that_run(store: Store) -> None:
    run = finish(store)
    link = run.folder.with_name("0" * 16)
    link.symlink_to(run.folder)
    before = contents(run.folder)
    with pytest.raises(UsageError, match="stands for 2 runs"):
        store.remove(run.id)  # two folders have this id: which one is meant cannot be known
    (run.folder / "record.json").unlink()  # then each is listed by the name of its folder
    with pytest.raises(DamagedFileError, match="remove the link by hand"):
        store.remove(link.name)
    assert link.is_symlink()
    assert contents(run.folder) == {name: data for name, data in before.items() if name != "record.json"}


def test_the_store_is_where_the_environment_says_unless_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTE_HOME", str(tmp_path / "home"))
    assert Store().root == tmp_path / "home"
    assert Store(tmp_path / "told").root == tmp_path / "told"
    monkeypatch.delenv("ROTE_HOME")
    monkeypatch.chdir(tmp_path)
    assert Store().root == tmp_path / "rote-store"


def test_a_store_keeps_its_place_when_the_process_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("relative")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    finish(store)
    assert (tmp_path / "relative" / "runs").is_dir()
