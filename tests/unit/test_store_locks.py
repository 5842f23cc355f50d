"""File systems that give one lock twice: they are refused, and two writers never make a wrong result that passes."""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from sample_runs import contents, make_request

from rote.errors import StoreError, UsageError
from rote.store import Column, Run, Store, Table, lock, mounts
from rote.store.verify import verify

MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
server:/home /home nfs4 rw,relatime,vers=4.2,local_lock=none 0 0
server:/data {root} nfs rw,nolock,local_lock=all,addr=10.0.0.1 0 0
//server/x /mnt/a\\040b cifs rw,nobrl 0 0
"""


@pytest.fixture
def always_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a network file system without locking may answer."""
    monkeypatch.setattr(fcntl, "flock", lambda file, how: None)
    monkeypatch.setattr(lock, "_proven", set())


@pytest.mark.usefixtures("always_yes")
def test_a_file_system_that_gives_one_lock_twice_is_refused_before_any_work(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = store.root.parent / "mounts"
    table.write_text(MOUNTS.format(root=store.root))
    monkeypatch.setattr(mounts, "MOUNTS", table)
    expected = rf"{store.root} \(nfs at {store.root}, mounted with nolock and local_lock=all\) does not keep locks"
    with pytest.raises(UsageError, match=expected) as caught:
        store.check_writable()
    assert "Mount it with locks (NFS: without nolock" in str(caught.value)
    assert "ROTE_HOME (or --store)" in str(caught.value)
    assert [path.name for path in store.root.iterdir()] == ["runs"]


@pytest.mark.usefixtures("always_yes")
def test_a_worker_that_was_not_told_before_does_not_write_there_either(store: Store) -> None:
    with pytest.raises(StoreError, match="does not keep locks"), store.open(make_request()):
        pytest.fail("another process could write the same run")


def test_a_file_system_is_asked_once_and_not_for_every_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, asked = fcntl.flock, []

    def counted(file: int, how: int) -> None:
        asked.append(how)
        flock(file, how)

    monkeypatch.setattr(lock, "_proven", set())
    monkeypatch.setattr(fcntl, "flock", counted)
    for part in ("a", "b", "c"):
        with store.open(make_request(part=part)):
            pass
    assert asked == [lock.EXCLUSIVE] * 4  # three runs, and the second attempt of the first


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/home/me/rote-store", " (nfs4 at /home)"),
        ("/mnt/a b/store", " (cifs at /mnt/a b, mounted with nobrl)"),
        ("/srv", " (ext4 at /)"),
    ],
)
def test_the_mount_that_is_named_is_the_one_that_the_folder_is_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, expected: str
) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "mounts")
    assert mounts.mounted_as(Path(folder)) == expected


def test_without_a_list_of_mounts_nothing_is_said_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "none")
    assert mounts.mounted_as(tmp_path) == ""


# --- and where it cannot be noticed: locks that hold on each of two machines by itself -----------------------------

REQUEST = make_request()


def steps(run: Run) -> Iterator[None]:
    """A training that takes in everything that it reads, stopping wherever another may come between."""
    step, state = run.resume() or (0, {"total": torch.ones(2)})
    while step < 4:
        yield
        step, state = step + 1, {"total": state["total"] * 2 + step}
        run.metrics.append({"step": step, "loss": [float(state["total"].sum())]})
        yield
        run.save(step, state, keep={2})
    yield
    rows = [{"step": row["step"], "loss": row["loss"][0]} for row in run.metrics.rows()]
    yield
    run.finish([Table.make("rows", "Rows", [Column("step"), Column("loss")], rows)])


def interleaved(store: Store, chance: random.Random) -> int:
    """Two writers of one run, each of which believes that it is alone; how many were told that they are not."""
    told = 0

    def writer() -> Iterator[None]:
        nonlocal told
        try:
            with store.open(REQUEST) as run:
                yield from steps(run)
        except StoreError:
            told += 1

    living: list[Any] = [writer(), writer()]
    while living:
        chosen = chance.choice(living)
        for _ in range(chance.randint(1, 6)):
            if next(chosen, "over") == "over":
                living.remove(chosen)
                break
    return told


def test_two_writers_that_do_not_see_each_other_never_make_a_wrong_result_that_verify_approves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = Store(tmp_path / "alone")
    with alone.open(REQUEST) as run:
        for _ in steps(run):
            pass
    expected = {name: data for name, data in contents(alone.root).items() if not name.endswith("record.json")}
    monkeypatch.setattr(fcntl, "flock", lambda file, how: None)  # and the file system has been proven before
    monkeypatch.setattr(os, "fsync", lambda file: None)
    told = approved = 0
    for seed in range(24):
        store = Store(tmp_path / str(seed))
        told += interleaved(store, random.Random(seed))
        finished = [row.status for row in store.runs()] == ["finished"]
        if finished and not any(finding.is_damage for finding in verify(store.root)):
            got = {name: data for name, data in contents(store.root).items() if not name.endswith("record.json")}
            assert got == expected, seed
            approved += 1
    assert told > 12  # else it was not tried
    assert approved > 0


def test_a_lock_that_is_a_link_is_refused_and_what_it_leads_to_is_not_written(tmp_path: Path) -> None:
    precious = tmp_path / "thesis.txt"
    precious.write_text("all of it")
    store = tmp_path / "store"
    store.mkdir()
    (store / "lock").symlink_to(precious)
    with pytest.raises(StoreError, match="link"), lock.locked(store, "The store"):
        pass
    assert precious.read_text() == "all of it"
