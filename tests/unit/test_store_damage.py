"""A damaged file of the store is noticed, named, and never executed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sample_runs
from sample_runs import contents, finish, make_request, read_all
from store_faults import assert_helpful

from rote.errors import DamagedFileError, StoreError
from rote.store import FinishedRun, Store, digest, write_document
from rote.store.metrics import Metrics
from rote.store.verify import verify

NAMES = ("record.json", "result.json", "weights-00000008.json", "weights-00000008.safetensors", "metrics.jsonl")


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

    if name in ("record.json", "result.json"):
        with pytest.raises(StoreError):
            use_it_all()
    else:  # begins again, without them
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
        writing.save(8, {"model": {"weight": torch.zeros(2, 3)}, "optimizer": {}})
        writing.finish([])
    for suffix in ("json", "safetensors"):
        data = (store.folder(other) / f"weights-00000008.{suffix}").read_bytes()
        (run.folder / f"weights-00000008.{suffix}").write_bytes(data)
    with pytest.raises(DamagedFileError) as caught:
        run.checkpoint()
    assert_helpful(caught.value, run.folder / "weights-00000008.json")


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
    metrics = Metrics(tmp_path)  # as a reader
    assert metrics.rows() == []
    Metrics(tmp_path).append({"step": 0, "loss": [float("nan"), 1.0]})
    with metrics.path.open("ab") as file:
        file.write(b'{"step":1,"lo')
    assert metrics.rows() == [{"step": 0, "loss": [None, 1.0]}]
    with metrics.path.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(DamagedFileError, match="line 2") as caught:
        metrics.rows()
    assert_helpful(caught.value, metrics.path)


# --- what is well-formed, with a right checksum, and wrong all the same -------------------------------------------


def with_value(plain: Any, place: str, value: Any) -> Any:
    """A copy of nested lists and dictionaries with another value at "request.seeds.0"; GONE removes it."""
    changed = json.loads(json.dumps(plain))
    *way, last = (int(part) if part.isdigit() else part for part in place.split("."))
    inner = changed
    for part in way:
        inner = inner[part]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return changed


GONE = object()
DEEP: list[Any] = []
for _ in range(100):
    DEEP = [DEEP]
WRONG_RECORDS: list[tuple[str, Any, str]] = [
    ("request", [], "request must be an object. Got a list of 0."),
    ("request", GONE, "request must be an object. Got nothing."),
    ("request.study", 7, "request.study must be the name of a file, without a path. Got 7."),
    ("request.study", "../../x", "request.study must be the name of a file, without a path. Got '../../x'."),
    ("request.study", "\x1b[2J", "request.study must be the name of a file, without a path. Got '\\x1b[2J'."),
    ("request.version", True, "request.version must be a whole number from 0 on. Got true."),
    ("request.part", None, "request.part must be one line of text. Got null."),
    ("request.preset", "a\nb", "request.preset must be one line of text. Got 'a\\nb'."),
    ("request.config", "x", "request.config must be an object. Got 'x'."),
    ("request.config", {"a": 10**400}, "request.config['a'] must be a whole number. Got one of more than 308 digits."),
    ("request.config", {"a": DEEP}, "request.config['a'] must be at most 64 lists and objects inside each other. Got"),
    ("request.seeds", {}, "request.seeds must be a list. Got an object of 0."),
    ("request.seeds.0", "0", "request.seeds[0] must be a whole number. Got '0'."),
    ("request.seeds.0", 0.5, "request.seeds[0] must be a whole number. Got 0.5."),
    ("status", "done", "status must be one of 'started', 'finished', 'failed', 'interrupted'. Got 'done'."),
    ("status", ["finished"], "status must be one of 'started', 'finished', 'failed', 'interrupted'. Got a list of 1."),
    ("passed", [], "passed must be an object. Got a list of 0."),
    ("started", "yesterday", "started must be a time such as 2026-01-31T12:00:00+00:00. Got 'yesterday'."),
    ("started", "2026-01-31T12:00:00", "started must be a time such as 2026-01-31T12:00:00+00:00. Got '2026-01-31T"),
    ("seconds", "1", "seconds must be a number from 0 on. Got '1'."),
    ("seconds", -1, "seconds must be a number from 0 on. Got -1."),
    ("resumed", 1.5, "resumed must be a whole number from 0 on. Got 1.5."),
    ("error", 3, "error must be text or null. Got 3."),
    ("data", {"a": 1}, "data['a'] must be text. Got 1."),
    ("files", {"../x": "0" * 64}, "files (a key) must be the name of a file, without a path. Got '../x'."),
    ("files", {"x": "0"}, "files['x'] must be 64 hexadecimal digits. Got '0'."),
    ("uses", "abc", "uses must be a list. Got 'abc'."),
    ("uses", ["../../.."], "uses[0] must be 16 hexadecimal digits. Got '../../..'."),
    ("environment", None, "environment must be an object. Got null."),
    ("environment.packages", [1], "environment['packages'] must be an object. Got a list of 1."),
    ("earlier_environments", [1], "earlier_environments[0] must be an object. Got 1."),
    ("uninvited", 1, "uninvited must be left out: there is no such field. Got 1."),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "told"), WRONG_RECORDS)
def test_a_record_of_wrong_types_is_damaged_in_one_line_that_names_the_field(
    damaged: tuple[Store, FinishedRun, FinishedRun], place: str, value: Any, told: str
) -> None:
    store, run, other = damaged
    path = run.folder / "record.json"
    write_document(path, "rote run record", 1, with_value(json.loads(path.read_bytes())["body"], place, value))
    with pytest.raises(DamagedFileError) as caught:
        FinishedRun(run.folder)
    assert f"record.json has a wrong value: {told}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert_helpful(caught.value, path)
    assert {row.folder: row.status for row in store.runs()} == {
        f"runs/plane/{run.id}": "damaged", f"runs/plane/{other.id}": "finished",
    }  # fmt: skip
    read_all(other)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ("0", 1, "[0] must be an object. Got 1."),
        ("0.name", None, "[0].name must be text. Got null."),
        ("0.columns.1", ["wrong"], "[0].columns[1] must be a list of its values. Got a list of 1."),
        ("0.columns.1.2", "guessed", "[0].columns[1].role must be one of 'label', 'measured', 'published'. Got 'gue"),
        ("0.columns.1.0", "seed", "[0] must be consistent. Got two columns of one name in the table 'seeds'."),
        ("0.rows.3", 5, "[0].rows[3] must be a list. Got 5."),
        ("0.rows.3", [1], "[0] must be consistent. Got a row that has not one value for each column of the table"),
        ("0.options", [], "[0].options must be an object. Got a list of 0."),
    ],
)
def test_a_result_of_wrong_types_is_damaged_in_one_line_that_names_the_field(
    damaged: tuple[Store, FinishedRun, FinishedRun], place: str, value: Any, told: str
) -> None:
    _, run, _ = damaged
    path = run.folder / "result.json"
    write_document(path, "rote result", 1, with_value(json.loads(path.read_bytes())["body"], place, value))
    files = {**run.record.files, "result.json": digest(path.read_bytes())}
    replace(run.record, files=files).write(run.folder)
    with pytest.raises(DamagedFileError) as caught:
        FinishedRun(run.folder).tables()
    assert f"result.json has a wrong value: {told}" in str(caught.value)
    assert_helpful(caught.value, path)


@pytest.mark.parametrize("line", [b"3", b"[1]", b'"x"', b"[" * 900 + b"]" * 900])
def test_a_row_of_metrics_that_is_no_object_is_named_by_its_line(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b'{"step":0}\n' + line + b"\n")
    with pytest.raises(DamagedFileError, match="line 2") as caught:
        Metrics(tmp_path).rows()
    assert_helpful(caught.value, tmp_path / "metrics.jsonl")


# --- what is no plain file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES, "lock"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_link_a_pipe_or_a_folder_in_place_of_a_file_is_not_read_written_or_waited_for(
    store: Store, tmp_path: Path, name: str, kind: str
) -> None:
    run = finish(store)
    precious = tmp_path / "precious"
    precious.write_bytes((run.folder / name).read_bytes())
    before = precious.read_bytes()
    (run.folder / name).unlink()
    if kind == "link":
        (run.folder / name).symlink_to(precious)
    elif kind == "pipe":
        os.mkfifo(run.folder / name)
    else:
        (run.folder / name).mkdir()
    if name != "lock":
        with pytest.raises(StoreError, match=r"is a link|is not a plain file|Is a directory") as caught:
            read(run, name)
        assert str(run.folder / name) in str(caught.value)
    assert verify(store.root)[:1] == [] if name == "lock" else any(found.is_damage for found in verify(store.root))

    def go_on() -> None:
        with store.open(run.record.request) as reopened:
            reopened.resume()
            reopened.metrics.append({"step": 4})
            reopened.save(9, {})

    if name != "result.json" and not (name.startswith("weights-") and kind != "folder"):  # of which nothing is needed
        with pytest.raises((StoreError, OSError)):
            go_on()
    assert precious.read_bytes() == before
