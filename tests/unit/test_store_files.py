"""A file of the store is as it was or complete; a damaged one is noticed, named, and never executed."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_runs
from sample_runs import contents, finish, make_request, mounted, read_all

from rote.errors import DamagedFileError, NewerVersionError, StoreError, UsageError
from rote.store import FinishedRun, Store, Table, files, read_document, write_atomically, write_document
from rote.store.checkpoint import Checkpoints
from rote.store.metrics import Metrics

NAMES = ("record.json", "result.json", "checkpoint-00000008.json", "checkpoint-00000008.safetensors", "metrics.jsonl")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def read(run: FinishedRun, name: str) -> Any:
    """What a reader gets that depends on the file ``name``."""
    if name == "record.json":
        return FinishedRun(run.folder).record
    if name == "result.json":
        return run.tables()
    if name == "metrics.jsonl":
        return run.metrics()
    state = run.checkpoint()
    return state["model"].pop("weight").tolist(), state


def assert_helpful(error: StoreError, path: Path) -> None:
    """The message names the file and what to do about it."""
    assert str(path) in str(error)
    assert any(
        word in str(error) for word in ("Remove the run folder", "Remove this file", "Install a newer", "Free some")
    )


# --- atomic writes -----------------------------------------------------------------------------------------------


def test_a_reader_sees_the_old_file_or_the_new_one_and_never_a_part(tmp_path: Path) -> None:
    path, size, seen, stop = tmp_path / "file", 300_000, set(), threading.Event()
    write_atomically(path, b"0" * size)

    def watch() -> None:
        while not stop.is_set():
            data = path.read_bytes()
            seen.add((len(data), len(set(data))))

    reader = threading.Thread(target=watch)
    reader.start()
    for number in range(60):
        write_atomically(path, str(number % 10).encode() * size)
    stop.set()
    reader.join()
    assert seen == {(size, 1)}
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_anywhere_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    fail_at(monkeypatch, call, error)
    expected = StoreError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_atomically(path, b"new" * 1000)
    monkeypatch.undo()
    assert {name.name: name.read_bytes() for name in tmp_path.iterdir()} == {"file": b"old"}
    if isinstance(caught.value, StoreError):
        assert_helpful(caught.value, path)
        assert "No space left on device" in str(caught.value)


def fail_at(monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException) -> None:
    """Make one of the steps of an atomic write fail; a failing write has already written half."""

    def fail(*_: object, **__: object) -> None:
        raise error

    if call != "write":
        monkeypatch.setattr(os, call, fail)
        return
    fdopen = os.fdopen

    class HalfWriter:
        def __init__(self, descriptor: int, mode: str) -> None:
            self.file = fdopen(descriptor, mode)

        def __enter__(self) -> HalfWriter:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> None:
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            raise error

    monkeypatch.setattr(os, "fdopen", HalfWriter)


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_file_may_be_read_by_whom_the_user_lets_read_files(tmp_path: Path, umask: int) -> None:
    """A file of Python's tempfile is its owner's alone, also after a rename: nobody else could read a shared store."""
    earlier = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", b"")
    finally:
        os.umask(earlier)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask


def test_data_are_on_disk_before_the_name_and_the_name_before_the_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(descriptor: int) -> None:
        target = os.readlink(f"/proc/self/fd/{descriptor}")
        order.append("folder" if Path(target) == tmp_path else f"data {os.path.getsize(target)}")
        fsync(descriptor)

    def watched_replace(*names: Any) -> None:
        order.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    write_atomically(tmp_path / "file", b"12345")
    assert order == ["data 5", "rename", "folder"]


# --- documents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {"2": 1, "10": 2},
        {2: 1, 10: 2},  # sorted as numbers when written and as texts when read: must not look altered
        {"deep": [{"a": (1, 2)}, None, True, 1e-300, "ä \x1b \u2028"]},
        [],
        "text",
    ],
)
def test_a_document_that_was_written_is_not_taken_for_an_altered_one(tmp_path: Path, body: Any) -> None:
    path = tmp_path / "document.json"
    write_document(path, "test", 1, body)
    assert read_document(path, "test", 1) == json.loads(json.dumps(body))


def test_nan_is_refused_when_written_and_not_when_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_document(tmp_path / "document.json", "test", 1, {"a": float("nan")})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda text: text.replace('"version": 1', '"version": 2'), NewerVersionError, "format version 2"),
        (lambda text: text.replace('"version": 1', '"version": 0'), DamagedFileError, "version 0"),
        (lambda text: text.replace('"version": 1', '"version": true'), DamagedFileError, "version True"),
        (lambda text: text.replace('"version": 1', '"version": "x"'), DamagedFileError, "version 'x'"),
        (lambda text: text.replace('"test"', '"other"'), DamagedFileError, "holds a 'other' document, expected 'test'"),
        (lambda text: text.replace("1e-05", "2e-05"), DamagedFileError, "was altered"),
        (lambda text: text.replace("1e-05", "1e905"), DamagedFileError, "was altered"),  # infinite: no canonical form
        (lambda text: text.replace("1e-05", "NaN"), DamagedFileError, "was altered"),
        (lambda text: text.replace("\\u001b", "\\udc1b"), DamagedFileError, "was altered"),  # no such character
        (lambda text: "[" * 100_000, DamagedFileError, "truncated or not a test document"),
        (lambda text: "[]", DamagedFileError, "truncated or not a test document"),
        (lambda text: "{}", DamagedFileError, "truncated or not a test document"),
        (lambda text: "", DamagedFileError, "truncated or not a test document"),
    ],
)
def test_a_document_of_another_kind_version_or_content_is_refused(
    tmp_path: Path, change: Callable[[str], str], kind: type[StoreError], words: str
) -> None:
    path = tmp_path / "document.json"
    write_document(path, "test", 1, {"rate": 1e-05, "text": "\x1b"})
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    with pytest.raises(kind) as caught:
        read_document(path, "test", 1)
    assert words in str(caught.value)
    assert_helpful(caught.value, path)


def test_a_damaged_file_of_the_store_itself_does_not_advise_to_remove_the_whole_store(store: Store) -> None:
    path = store.root / "engines.json"
    finish(store)
    path.write_text("{")
    with pytest.raises(DamagedFileError) as caught:
        read_document(path, "rote engines", 1)
    assert f"Remove the run folder {store.root}" not in str(caught.value)
    assert_helpful(caught.value, path)


# --- damage to every file of a run -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, FinishedRun, FinishedRun]:
    """A store with two runs; tests damage the first and put it back."""
    store = Store(tmp_path_factory.mktemp("sound"))
    return store, finish(store), finish(store, part="narrow")


@pytest.fixture
def damaged(
    sound: tuple[Store, FinishedRun, FinishedRun],
) -> Iterator[tuple[Store, FinishedRun, FinishedRun]]:
    kept = contents(sound[1].folder)
    yield sound
    for name, data in kept.items():
        (sound[1].folder / name).write_bytes(data)


def spread(length: int, count: int) -> list[int]:
    """Positions over a whole file, its first and last bytes always among them."""
    inner = random.Random(length).sample(range(length), min(count, length))
    return sorted({*range(min(8, length)), *range(max(0, length - 8), length), *inner})


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_byte_anywhere_never_gives_other_data_or_a_traceback(
    damaged: tuple[Store, FinishedRun, FinishedRun], name: str
) -> None:
    _, run, _ = damaged
    path, expected = run.folder / name, read(run, name)
    data, chooser, noticed, tried = path.read_bytes(), random.Random(7), 0, 0
    for position in spread(len(data), 400):
        for bit in {chooser.randrange(8), chooser.randrange(8)}:
            tried += 1
            path.write_bytes(data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :])
            try:
                seen = read(run, name)
            except StoreError as error:
                noticed += 1
                assert_helpful(error, path)
            else:
                assert seen == expected, (position, bit)
    # Nobody keeps a digest of the record: digits beyond a float's precision may change in it. Else all are noticed.
    assert tried > 100
    assert noticed >= (0.98 * tried if name == "record.json" else tried)


@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_file_is_noticed_at_every_length(
    damaged: tuple[Store, FinishedRun, FinishedRun], name: str
) -> None:
    _, run, _ = damaged
    path = run.folder / name
    data = path.read_bytes()
    for length in spread(len(data), 60):
        path.write_bytes(data[:length])
        if data[:length] + b"\n" == data and name == "record.json":
            continue  # the record lacks its last line break only; no digest of it is kept anywhere
        with pytest.raises(StoreError) as caught:
            read(run, name)
        assert_helpful(caught.value, path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["protocol 0", "protocol 2", "protocol 5", "torch.save"])
def test_a_pickle_in_place_of_a_file_is_refused_and_never_executed(
    damaged: tuple[Store, FinishedRun, FinishedRun], tmp_path: Path, name: str, form: str
) -> None:
    store, run, other = damaged
    marker = tmp_path / "executed"
    (run.folder / name).write_bytes(sample_runs.pickles(marker)[form])
    with pytest.raises(DamagedFileError) as caught:
        read(run, name)
    assert_helpful(caught.value, run.folder / name)
    store.runs()

    def use_it_all() -> None:
        with store.open(run.record.request) as reopened:
            reopened.resume()
            reopened.finish(run.tables().values())
        FinishedRun(run.folder).metrics()

    with pytest.raises(StoreError):
        use_it_all()
    read_all(other)
    assert not marker.exists()


def test_the_pickles_of_these_tests_would_be_seen_if_they_were_executed(tmp_path: Path) -> None:
    import pickle

    marker = tmp_path / "executed"
    pickle.loads(sample_runs.pickles(marker)["protocol 2"])
    assert marker.exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_of_a_finished_run_is_named(damaged: tuple[Store, FinishedRun, FinishedRun], name: str) -> None:
    _, run, _ = damaged
    (run.folder / name).unlink()
    with pytest.raises(StoreError) as caught:
        read(run, name)
    assert_helpful(caught.value, run.folder / name)


def test_a_checkpoint_of_another_run_in_place_of_this_ones_is_noticed(store: Store) -> None:
    import torch

    run, other = finish(store), make_request(part="narrow")
    with store.open(other) as writing:
        writing.save(8, {"model": {"weight": torch.zeros(2, 3)}})
    for suffix in ("json", "safetensors"):
        data = (store.folder(other) / f"checkpoint-00000008.{suffix}").read_bytes()
        (run.folder / f"checkpoint-00000008.{suffix}").write_bytes(data)
    with pytest.raises(DamagedFileError) as caught:
        run.checkpoint()
    assert_helpful(caught.value, run.folder / "checkpoint-00000008.json")


@pytest.mark.parametrize("position", [0, 5, 30, -3])
def test_metrics_altered_while_a_run_was_interrupted_are_noticed_when_it_goes_on(store: Store, position: int) -> None:
    request = make_request()
    with store.open(request) as run:
        for step in range(3):
            run.metrics.append({"step": step, "loss": [0.25]})
        run.save(2, {})
        run.metrics.append({"step": 3})
    path = store.folder(request) / "metrics.jsonl"
    data = bytearray(path.read_bytes().removesuffix(b'{"step":3}\n'))
    data[position] ^= 1
    path.write_bytes(bytes(data) + b'{"step":3}\n')
    with pytest.raises(DamagedFileError) as caught, store.open(request) as run:
        run.resume()
    assert_helpful(caught.value, path)


def test_metrics_shorter_than_the_checkpoint_says_are_not_continued(store: Store) -> None:
    request = make_request()
    with store.open(request) as run:
        run.metrics.append({"step": 0})
        run.metrics.append({"step": 1})
        run.save(1, {})
    path = store.folder(request) / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DamagedFileError) as caught, store.open(request) as run:
        run.resume()
    assert_helpful(caught.value, path)


def test_a_torn_last_row_is_left_out_and_a_torn_row_before_it_is_not(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    assert metrics.rows() == []
    metrics.append({"step": 0, "loss": [float("nan"), 1.0]})
    with metrics.path.open("ab") as file:
        file.write(b'{"step":1,"lo')
    assert metrics.rows() == [{"step": 0, "loss": [None, 1.0]}]
    with metrics.path.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(DamagedFileError, match="line 2") as caught:
        metrics.rows()
    assert_helpful(caught.value, metrics.path)


# --- checkpoints -------------------------------------------------------------------------------------------------


def test_a_checkpoint_gives_back_the_tree_with_its_types_keys_and_tied_tensors(tmp_path: Path) -> None:
    import torch

    tied = torch.arange(4.0, dtype=torch.float64)
    state = {
        "tied": [tied, tied],
        "view": tied.expand(3, 4).t(),
        "scalar": torch.tensor(3, dtype=torch.int64),
        "empty": torch.zeros(0, 2),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "half": torch.tensor([1.5], dtype=torch.bfloat16),
        "groups": [{"lr": 1e-05, "betas": (0.9, 0.999), "fused": None, "params": [0, 1]}],
        "state": {0: {"step": torch.tensor(2.0)}, 10: {"step": torch.tensor(3.0)}, "0": torch.tensor(4.0)},
        "a": {"b": torch.tensor(5.0)},
        "a/b": torch.tensor(6.0),  # a name with the separator in it must not be mixed up with a tree
        "none": None,
        (0, "forward"): 1,
    }
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, state)
    assert comparable(checkpoints.load(3)) == comparable(state)
    before = contents(tmp_path)
    checkpoints.save(3, state)
    assert contents(tmp_path) == before  # the same state is the same bytes


def comparable(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(comparable(item) for item in value)
    return value


@pytest.mark.parametrize("value", [{"a": object()}, {"a": {1, 2}}, {((1, 2), 3): 4}, {0.5: 1}, {"a": float("inf")}])
def test_a_state_that_could_not_be_loaded_again_is_refused_when_it_is_saved(tmp_path: Path, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Checkpoints(tmp_path).save(1, value)
    assert Checkpoints(tmp_path).steps() == []
    assert os.listdir(tmp_path) == []


def test_a_foreign_file_named_like_a_checkpoint_is_not_counted_as_one(tmp_path: Path) -> None:
    Checkpoints(tmp_path).save(5, {})
    (tmp_path / "checkpoint-00000005 (copy).json").write_text("{}")
    assert Checkpoints(tmp_path).steps() == [5]


def test_a_checkpoint_whose_removal_is_killed_halfway_no_longer_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, unlink = Checkpoints(tmp_path), os.unlink
    checkpoints.save(4, {})

    def once(path: Any, **named: Any) -> None:
        monkeypatch.setattr(os, "unlink", raise_interrupt)
        unlink(path, **named)

    def raise_interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "unlink", once)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.remove(4)
    assert len(os.listdir(tmp_path)) == 1
    assert checkpoints.steps() == []


def test_a_checkpoint_that_is_written_again_with_other_content_is_never_left_half_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its two files cannot be replaced together: a stop between them must leave a checkpoint that loads, or none."""
    import torch

    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(4, {"w": torch.zeros(3)})
    replace, calls = os.replace, 0
    for stop_at in (0, 1):
        calls = 0

        def stopping(*names: Any, stop_at: int = stop_at) -> None:
            nonlocal calls
            if calls == stop_at:
                raise KeyboardInterrupt
            calls += 1
            replace(*names)

        monkeypatch.setattr(os, "replace", stopping)
        with pytest.raises(KeyboardInterrupt):
            checkpoints.save(4, {"w": torch.ones(3)})
        monkeypatch.undo()
        for step in checkpoints.steps():
            assert len(set(checkpoints.load(step)["w"].tolist())) == 1


# --- a store that may only be read, a disk that is full ----------------------------------------------------------


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


def test_finite_turns_nan_and_infinities_at_any_depth_into_none() -> None:
    value = {"a": [float("nan"), (1.0, float("inf"))], "b": "nan"}
    assert files.finite(value) == {"a": [None, [1.0, None]], "b": "nan"}


def test_a_table_comes_back_from_its_file_equal_and_with_every_field(tmp_path: Path) -> None:
    table = Table.make(
        "t", "T", sample_runs.TABLE.columns, [{"seed": 1, "wrong": float("nan")}, {"seed": 2}],
        place="Table 1", note="n", figure="f", details=True, options={"a": 1},
    )  # fmt: skip
    assert table.rows == ((1, None), (2, None))
    write_document(tmp_path / "t", "t", 1, table.to_plain())
    assert Table.from_plain(read_document(tmp_path / "t", "t", 1)) == table
    assert table.where(seed=2).rows == ((2, None),)
    assert table.column("seed") == [1, 2]
