"""Where the disk is full or read-only, what is there stays as it was, can be read, and the reason is told."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_runs
from sample_runs import contents, finish, make_request, mounted, read_all
from store_faults import assert_helpful, fail_at

from rote.errors import StoreError, UsageError
from rote.store import FinishedRun, Store, write_atomically, write_document


@pytest.fixture(params=["mounted", "simulated"])
def read_only(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Store, FinishedRun]]:
    """A store that was filled and then made read-only.

    Permission bits do not bind root, as which tests often run: a file system remounted read-only does. Where mounting
    is not allowed the calls that write are made to fail as they would (the second form, which runs everywhere).
    """
    if request.param == "simulated":
        store = Store(tmp_path / "store")
        run = finish(store)
        store.runs()
        refuse_writes(monkeypatch, store.root, errno.EROFS)
        yield store, run
        return
    with mounted(tmp_path / "disk", "size=4m") as real:
        if not real:
            pytest.skip("this user may not mount a file system; the simulated form covers it")
        store = Store(tmp_path / "disk" / "store")
        run = finish(store)
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path / "disk")], check=True)
        yield store, run


def refuse_writes(monkeypatch: pytest.MonkeyPatch, root: Path, number: int) -> None:
    """Every call of Python that would write below ``root`` fails with this error number."""
    import io

    real = {name: getattr(os, name) for name in ("open", "mkdir", "replace", "rename", "unlink")}
    real_open = io.open

    def below(path: object) -> bool:
        return isinstance(path, str | os.PathLike) and Path(os.fspath(path)).is_relative_to(root)

    def guarded(name: str) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            writes = name != "open" or (rest and rest[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            if name == "mkdir" and os.path.isdir(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
            if below(path) and writes:
                raise OSError(number, os.strerror(number), str(path))
            return real[name](path, *rest, **named)

        return call

    def guarded_open(path: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if below(path) and any(letter in mode for letter in "wax+"):
            raise OSError(number, os.strerror(number), str(path))
        return real_open(path, mode, *rest, **named)

    for name in real:
        monkeypatch.setattr(os, name, guarded(name))
    monkeypatch.setattr(io, "open", guarded_open)


def test_a_read_only_store_can_be_listed_and_read_but_says_before_any_work_that_it_cannot_be_written(
    read_only: tuple[Store, FinishedRun],
) -> None:
    store, run = read_only
    assert [row.status for row in store.runs()] == ["finished"]
    assert store.load(run.id).tables() == {"seeds": sample_runs.TABLE}
    read_all(run)
    with pytest.raises(UsageError) as caught:
        store.check_writable()
    assert str(store.root) in str(caught.value)
    assert "Set ROTE_HOME (or --store) to a folder that you may write to." in str(caught.value)
    with pytest.raises(StoreError, match="Cannot write") as refused, store.open(make_request(part="new")):
        pass
    assert str(store.root) in str(refused.value)
    with pytest.raises(StoreError, match="Cannot write") as kept:
        store.remove(run.id)
    assert str(run.folder) in str(kept.value)
    read_all(run)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[tuple[Store, FinishedRun, Callable[[], None]]]:
    """A real file system of 1 MB with a store on it, and a function that fills what is left."""
    with mounted(tmp_path / "disk", "size=1m") as real:
        if not real:
            pytest.skip("this user may not mount a file system; the simulated form covers it")
        store = Store(tmp_path / "disk" / "store")
        run = finish(store)

        def fill() -> None:
            with (tmp_path / "disk" / "filler").open("ab", buffering=0) as file:
                while os.statvfs(file.fileno()).f_bavail:
                    file.write(b"x" * 4096)

        yield store, run, fill


def test_on_a_full_disk_every_earlier_file_stays_as_it_was_and_other_runs_still_list_and_load(
    full_disk: tuple[Store, FinishedRun, Callable[[], None]],
) -> None:
    import torch

    store, other, fill = full_disk
    request = make_request(part="narrow")
    with store.open(request) as run:
        run.metrics.append({"step": 0})
        run.save(1, {"w": torch.zeros(1000)})
        folder = run.folder
    store.runs()
    fill()
    before = contents(store.root)

    for path in sorted(folder.glob("*.json")):
        with pytest.raises(StoreError, match="No space left on device") as caught:
            write_atomically(path, b"y" * 20_000)
        assert_helpful(caught.value, path)
        assert contents(store.root) == before

    with pytest.raises(StoreError, match="No space left on device") as caught:
        run.save(2, {"w": torch.ones(1000)})
    assert_helpful(caught.value, folder / "checkpoint-00000002.safetensors")
    with pytest.raises(StoreError, match="No space left on device"):
        run.finish([sample_runs.TABLE])
    with pytest.raises(StoreError, match="No space left on device"):
        run.metrics.append({"step": 1, "text": "z" * 20_000})
    after = contents(store.root)
    metrics = f"runs/plane/{request.id}/metrics.jsonl"
    assert after[metrics].startswith(before[metrics])  # at most a torn row more, which the next start cuts off
    assert {**after, metrics: b""} == {**before, metrics: b""}

    with pytest.raises(UsageError, match="No space left on device"):
        store.check_writable()
    assert set(contents(store.root)) == set(before)  # no probe or temporary file stays behind
    assert {row.id: row.status for row in store.runs()} == {other.id: "finished", request.id: "interrupted"}
    assert store.load(other.id).tables() == {"seeds": sample_runs.TABLE}
    read_all(other)


def test_a_run_that_met_a_full_disk_goes_on_when_there_is_room(
    full_disk: tuple[Store, FinishedRun, Callable[[], None]], tmp_path: Path
) -> None:
    import torch

    store, _, fill = full_disk
    request = make_request(part="narrow")

    def meet_a_full_disk() -> None:
        with store.open(request) as run:
            run.metrics.append({"step": 0})
            run.save(1, {"w": torch.zeros(1000)})
            fill()
            run.metrics.append({"step": 1, "text": "z" * 20_000})

    with pytest.raises(StoreError, match="No space left on device"):
        meet_a_full_disk()
    (tmp_path / "disk" / "filler").unlink()
    with store.open(request) as run:
        resumed = run.resume()
        assert resumed is not None
        assert (resumed[0], resumed[1]["w"].sum()) == (1, 0)
        run.metrics.append({"step": 1})
        run.finish([sample_runs.TABLE])
    assert FinishedRun(store.folder(request)).metrics() == [{"step": 0}, {"step": 1}]


def test_a_write_refused_for_lack_of_space_leaves_all_runs_readable_where_nothing_can_be_mounted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, before = finish(store), contents(store.root)
    with monkeypatch.context() as patch:
        fail_at(patch, "write", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        with pytest.raises(StoreError, match="No space left on device") as caught:
            write_document(run.folder / "result.json", "rote result", 1, [])
        assert_helpful(caught.value, run.folder / "result.json")
        with pytest.raises(StoreError), store.open(make_request(part="new")):
            pass
    assert contents(store.root) == before
    read_all(run)


def test_the_error_of_a_study_is_told_and_not_the_full_disk_on_which_it_could_not_be_recorded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_twice() -> None:
        with store.open(make_request()):
            fail_at(monkeypatch, "write", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_twice()


def test_the_error_of_a_study_is_told_and_recorded_even_if_its_text_is_no_unicode(store: Store) -> None:
    with pytest.raises(ValueError, match="name"), store.open(make_request()):
        raise ValueError("name \udcff")  # as os.listdir() gives a name that is not UTF-8
    (row,) = store.runs()
    assert (row.status, "name" in row.error) == ("failed", True)
