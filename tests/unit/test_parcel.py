"""Runs as bytes, from a machine that does not see the store: complete and unaltered, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_runs import contents, finish, make_request, read_all

from rote.errors import DamagedFileError
from rote.store import FinishedRun, Record, Store
from rote.store.parcel import pack, unpack


@pytest.fixture
def there(tmp_path: Path) -> Store:
    return Store(tmp_path / "there")


@pytest.fixture
def here(tmp_path: Path) -> Store:
    return Store(tmp_path / "here")


def test_a_finished_run_arrives_with_every_byte_and_can_be_read(there: Store, here: Store) -> None:
    sent = finish(there)
    unpack(here, make_request(), pack(sent.folder))
    assert contents(here.root) == contents(there.root)
    assert read_all(FinishedRun(here.folder(make_request()))) == read_all(sent)


def test_an_unfinished_run_arrives_so_that_it_goes_on_and_replaces_an_earlier_state_of_itself(
    there: Store, here: Store
) -> None:
    for store, steps in ((here, 1), (there, 2)):
        with store.open(make_request()) as run:
            for step in range(steps):
                run.metrics.append({"step": step})
                run.save(step, {"step": step})
    unpack(here, make_request(), pack(there.folder(make_request())))
    with here.open(make_request()) as run:
        assert run.resume() == (1, {"step": 1})
        assert run.checkpoints.steps() == [1]


def test_a_finished_run_is_not_replaced_by_what_comes_late(there: Store, here: Store) -> None:
    with pytest.raises(ZeroDivisionError), there.open(make_request()):
        raise ZeroDivisionError
    finish(here)
    before = contents(here.root)
    unpack(here, make_request(), pack(there.folder(make_request())))
    assert contents(here.root) == before


@pytest.mark.parametrize("name", ["../outside", "a/b", ".hidden"])
def test_a_file_that_would_land_elsewhere_is_refused(there: Store, here: Store, name: str) -> None:
    files = pack(finish(there).folder)
    with pytest.raises(DamagedFileError, match="impossible names"):
        unpack(here, make_request(), {**files, name: b""})
    assert not here.root.exists()


@pytest.mark.parametrize("name", ["result.json", "metrics.jsonl", "weights-00000008.safetensors"])
def test_a_file_altered_or_lost_on_the_way_leaves_no_finished_run(there: Store, here: Store, name: str) -> None:
    files = pack(finish(there).folder)
    for changed in ({**files, name: files[name] + b" "}, {key: files[key] for key in files if key != name}):
        with pytest.raises(DamagedFileError, match=f"The file {name} of the run"):
            unpack(here, make_request(), changed)
        assert here.finished(make_request()) is None


def test_a_run_without_a_record_is_refused_and_a_folder_that_is_not_there_is_no_run(there: Store, here: Store) -> None:
    files = pack(finish(there).folder)
    del files["record.json"]
    with pytest.raises(DamagedFileError, match="without a record"):
        unpack(here, make_request(), files)
    assert pack(here.folder(make_request(part="other"))) == {}


@pytest.mark.parametrize("left", [b"", b"\0" * 900])
def test_a_record_that_a_power_failure_left_empty_counts_as_none_and_the_run_goes_on(here: Store, left: bytes) -> None:
    with here.open(make_request()) as run:
        run.save(3, {"step": 3})
    (run.folder / "record.json").write_bytes(left)
    assert here.finished(make_request()) is None
    with here.open(make_request()) as run:
        assert run.resume() == (3, {"step": 3})
        assert Record.read(run.folder).status == "started"
