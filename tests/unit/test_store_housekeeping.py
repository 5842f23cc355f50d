"""Looking after a store: verifying it, choosing runs, taking runs of another store."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sample_runs import contents, finish, make_request, read_all

from rote.errors import StoreError, UsageError
from rote.store import Store, transfer, write_document
from rote.store.lock import locked
from rote.store.record import Record
from rote.store.select import Selection
from rote.store.verify import repair, verify


@pytest.fixture
def other(tmp_path: Path) -> Store:
    return Store(tmp_path / "other")


def found(store: Store) -> set[tuple[str, str]]:
    return {(finding.kind, finding.path) for finding in verify(store.root)}


# --- verify ------------------------------------------------------------------------------------------------------


def test_a_sound_store_has_nothing_to_tell_and_is_left_as_it_is(store: Store) -> None:
    finish(store)
    finish(store, seeds=(2,))
    store.runs()
    before = contents(store.root)
    steps: list[tuple[int, int]] = []
    assert verify(store.root, lambda done, total: steps.append((done, total))) == []
    assert contents(store.root) == before
    assert steps == [(1, 2), (2, 2)]
    assert verify(store.root / "nothing here") == []


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["result.json", "metrics.jsonl", "weights-00000008.safetensors", "record.json"])
@pytest.mark.parametrize("harm", [flip, lambda path: path.write_bytes(path.read_bytes()[:-9])], ids=["bit", "torn"])
def test_one_changed_bit_or_a_torn_end_is_found(store: Store, name: str, harm: Callable[[Path], None]) -> None:
    run = finish(store)
    finish(store, seeds=(2,))
    harm(run.folder / name)
    assert found(store) == {("damaged", f"runs/plane/{run.id}/{name}")}


def test_files_that_are_gone_or_too_many_are_found(store: Store) -> None:
    run, other = finish(store), finish(store, seeds=(2,))
    (run.folder / "result.json").unlink()
    (other.folder / "notes.txt").write_text("mine")
    (store.root / "thesis.txt").write_text("mine")
    (store.root / "runs" / "plane" / "notes").mkdir()
    assert found(store) == {
        ("damaged", f"runs/plane/{run.id}/result.json"),
        ("foreign", f"runs/plane/{other.id}/notes.txt"),
        ("foreign", "thesis.txt"),
        ("foreign", "runs/plane/notes"),
    }


def test_what_killed_processes_leave_is_found_and_taken_away_but_nothing_else(store: Store) -> None:
    run = finish(store)
    with store.open(make_request(seeds=(5,))) as unfinished:
        pass  # a record that says "started", and no process
    left = [
        run.folder / ".result.json.ab12.tmp",
        run.folder / "checkpoint-00000009.safetensors",
        run.folder.with_name(".removed-0123456789abcdef"),
        run.folder.with_name(".import-0123456789abcdef"),
        store.root / ".probe-12",
    ]
    for path in left:
        if path.name.startswith((".removed", ".import")):
            path.mkdir()
            (path / "result.json").write_text("half")
        else:
            path.write_text("half")
    (store.root / "mine.txt").write_text("mine")
    findings = verify(store.root)
    assert {finding.path for finding in findings if finding.kind == "leftover"} == {
        str(path.relative_to(store.root)) for path in left
    }
    assert not any(finding.is_damage for finding in findings)
    repaired = repair(store.root, findings)
    assert len(repaired) == len(left)
    assert not any(path.exists() for path in left)
    assert found(store) == {
        ("foreign", "mine.txt"),
        ("interrupted", f"runs/plane/{unfinished.folder.name}"),
    }
    read_all(run)


def test_a_run_in_a_wrong_place_and_one_whose_parts_are_gone_are_found(store: Store) -> None:
    part, summary = finish(store), finish(store, part="summary")
    replace(summary.record, uses=(part.id, "feedfeedfeedfeed")).write(summary.folder)
    assert found(store) == {("missing", f"runs/plane/{summary.id}")}
    moved = part.folder.with_name("0" * 16)
    part.folder.rename(moved)
    assert found(store) == {
        ("missing", f"runs/plane/{summary.id}"),
        ("damaged", f"runs/plane/{'0' * 16}/record.json"),
    }


def test_a_damaged_checkpoint_of_a_run_that_is_to_go_on_is_found(store: Store) -> None:
    import torch

    with store.open(make_request()) as run:
        run.metrics.append({"step": 0, "loss": [0.5, 0.25]})
        run.save(8, {"weight": torch.zeros(3)})
    sound = found(store)
    assert {kind for kind, _ in sound} == {"interrupted"}
    flip(run.folder / "metrics.jsonl")
    assert found(store) - sound == {("damaged", f"runs/plane/{run.folder.name}/metrics.jsonl")}


def test_a_run_that_is_being_written_is_left_out(store: Store) -> None:
    run = finish(store)
    flip(run.folder / "result.json")
    with locked(run.folder):
        assert found(store) == set()
    assert len(found(store)) == 1


def test_an_index_that_says_something_else_is_found_and_made_again(store: Store) -> None:
    run = finish(store)
    rows = store.runs()
    with contextlib.closing(sqlite3.connect(store.root / "index.sqlite")) as connection, connection:
        connection.execute("UPDATE runs SET status = 'failed'")
    assert [row.status for row in store.runs()] == ["failed"]  # a cache believes its stamps
    findings = verify(store.root)
    assert [(finding.kind, finding.path) for finding in findings] == [("index", "index.sqlite")]
    repair(store.root, findings)
    assert store.runs() == rows
    (store.root / "index.sqlite").write_bytes(b"nothing of SQLite")
    findings = verify(store.root)
    assert [finding.kind for finding in findings] == ["index"]
    repair(store.root, findings)
    assert [row.id for row in store.runs()] == [run.id]
    assert verify(store.root) == []


# --- selection ---------------------------------------------------------------------------------------------------


def test_runs_are_chosen_by_everything_that_is_said(store: Store) -> None:
    a, b = finish(store), finish(store, part="narrow", preset="smoke")
    c = finish(store, study="tagging", preset="smoke")
    old = (datetime.now(UTC) - timedelta(days=40)).isoformat(timespec="seconds")
    replace(c.record, started=old).write(c.folder)
    rows = store.runs()

    def chosen(*words: str, **filters: str) -> set[str]:
        return {row.id for row in Selection(words, **filters).of(rows)}

    assert chosen() == {a.id, b.id, c.id}
    assert chosen(a.id[:12]) == {a.id}
    assert chosen("pla*") == chosen(study="plan?") == {a.id, b.id}
    assert chosen("plane/narrow") == {b.id}
    assert chosen(preset="smoke") == {b.id, c.id}
    assert chosen("plane/*", preset="smoke") == {b.id}
    assert chosen(older_than="30d") == {c.id}
    assert chosen(older_than="6w") == set()
    assert chosen(status="failed") == set()
    for wrong in ("zzz", "zz*"):
        with pytest.raises(UsageError, match="zz"):
            chosen(wrong)


# --- import ------------------------------------------------------------------------------------------------------


def test_runs_of_another_store_come_whole_and_once(store: Store, other: Store) -> None:
    mine, shared = finish(store), finish(store, seeds=(2,))
    finish(other, seeds=(2,))
    theirs = finish(other, study="tagging")
    (theirs.folder / "notes.txt").write_text("not the run's")
    plan = transfer.plan(store, other)
    assert plan.take == {f"runs/tagging/{theirs.id}": "copy"}
    assert plan.same == [f"runs/plane/{shared.id}"]
    before = contents(other.root)
    assert transfer.take(store, other, plan) == 1
    assert contents(other.root) == before
    assert {row.id for row in store.runs()} == {mine.id, shared.id, theirs.id}
    came = store.load(theirs.id)
    assert read_all(came) == read_all(theirs)
    assert not (came.folder / "notes.txt").exists()
    assert transfer.plan(store, other).take == {}
    assert verify(store.root) == []


def test_other_bytes_under_the_same_id_are_refused_by_name_and_nothing_is_copied(store: Store, other: Store) -> None:
    run = finish(store)
    shutil.copytree(store.root, other.root)
    with other.open(make_request()) as again:
        again.finish([])
    finish(other, study="tagging")
    plan = transfer.plan(store, other)
    assert set(plan.conflicts) == {f"runs/plane/{run.id}"}
    before = contents(store.root)
    with pytest.raises(StoreError, match=rf"runs/plane/{run.id} \(.*result.json"):
        transfer.take(store, other, plan)
    assert contents(store.root) == before


def test_damaged_and_running_ones_stay_where_they_are(store: Store, other: Store) -> None:
    damaged, running, sound = finish(other), finish(other, seeds=(2,)), finish(other, seeds=(3,))
    flip(damaged.folder / "result.json")
    with locked(running.folder):
        plan = transfer.plan(store, other)
    assert list(plan.damaged) == [f"runs/plane/{damaged.id}"]
    assert plan.running == [f"runs/plane/{running.id}"]
    assert list(plan.take) == [f"runs/plane/{sound.id}"]
    escaping = replace(sound.record, files={"../../../evil": "0" * 64})
    write_document(sound.folder / "record.json", "rote run record", 1, escaping.to_plain())
    assert "must be the name of a file, without a path" in transfer.plan(store, other).damaged[f"runs/plane/{sound.id}"]


def test_a_finished_run_takes_the_place_of_an_unfinished_one_never_the_other_way(store: Store, other: Store) -> None:
    with store.open(make_request()) as begun:
        pass
    finished = finish(other)
    with other.open(make_request(seeds=(4,))):
        pass
    done_here = finish(store, seeds=(4,))
    plan = transfer.plan(store, other)
    assert plan.take == {f"runs/plane/{finished.id}": "replace"}
    assert plan.same == [f"runs/plane/{done_here.id}"]
    transfer.take(store, other, plan)
    assert read_all(store.load(finished.id)) == read_all(finished)
    assert begun.folder == store.folder(make_request())
    assert transfer.plan(store, other).take == {}


def test_an_unfinished_run_can_go_on_in_the_other_store(store: Store, other: Store) -> None:
    import torch

    with other.open(make_request()) as run:
        run.metrics.append({"step": 0, "loss": [0.5, 0.25]})
        run.save(3, {"weight": torch.arange(3.0)})
    transfer.take(store, other, transfer.plan(store, other))
    with store.open(make_request()) as taken_up:
        step, state = taken_up.resume() or (None, {})
    assert step == 3
    assert state["weight"].tolist() == [0.0, 1.0, 2.0]


KILLED = """
import os, signal, sys
from rote.store import Store, transfer, write_document
at, renames = int(sys.argv[3]), 0
rename = os.rename
def counted(*words):
    global renames
    renames += 1
    if renames == at:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(*words)
os.rename = counted
store, other = Store(sys.argv[1]), Store(sys.argv[2])
transfer.take(store, other, transfer.plan(store, other))
"""


@pytest.mark.parametrize("at", [1, 2])
def test_a_killed_import_leaves_whole_runs_and_goes_on(store: Store, other: Store, at: int) -> None:
    runs = [finish(other, seeds=(seed,)) for seed in range(2)]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(store.root), str(other.root), str(at)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert len(store.runs()) == at - 1
    assert {finding.kind for finding in verify(store.root)} == {"leftover"}
    transfer.take(store, other, transfer.plan(store, other))
    for run in runs:
        assert read_all(store.load(run.id)) == read_all(run)
    assert verify(store.root) == []
    assert Record.read(store.load(runs[0].id).folder) == runs[0].record
