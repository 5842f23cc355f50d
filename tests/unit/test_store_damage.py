"""A damaged file of the store is noticed, named, and never executed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_runs
from sample_runs import contents, finish, make_request, read_all
from store_faults import assert_helpful

from rote.errors import DamagedFileError, StoreError
from rote.store import FinishedRun, Store
from rote.store.metrics import Metrics

NAMES = ("record.json", "result.json", "checkpoint-00000008.json", "checkpoint-00000008.safetensors", "metrics.jsonl")


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
