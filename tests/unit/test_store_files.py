"""A file of the store is as it was or complete, and what was written is what is read."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sample_runs
from sample_runs import finish
from store_faults import assert_helpful, fail_at

from rote.errors import DamagedFileError, NewerVersionError, StoreError
from rote.store import Store, Table, files, read_document, write_atomically, write_document


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
        (lambda text: text.replace('"version": 1', '"version": 2'), NewerVersionError, "written by a later version"),
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


@pytest.mark.parametrize("name", ["engines.json", "machine.json", "lock", "index.sqlite"])
def test_a_damaged_file_of_the_store_itself_does_not_advise_to_remove_the_whole_store(store: Store, name: str) -> None:
    path = store.root / name
    finish(store)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(DamagedFileError) as caught:
        read_document(path, "rote engines", 1)
    assert str(caught.value) == f"{path} is not a plain file. Remove this file to have it made again."


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
