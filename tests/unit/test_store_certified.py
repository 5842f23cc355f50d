"""A run's files are compared with what was written, not with what is there: damage is never given a valid checksum."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import sample_runs
import torch
from sample_runs import contents, finish, make_request
from store_faults import assert_helpful

from rote.errors import DamagedFileError
from rote.store import FinishedRun, Run, Store, write_document
from rote.store.files import digest_file
from rote.store.verify import verify

REQUEST = make_request()
EARLY, LATE = "checkpoint-00000001", "checkpoint-00000003"
STEPS = 4


def go_on(run: Run, until: int = STEPS) -> None:
    """A chain of numbers: a step that is lost, doubled or done with another state changes the rest."""
    step, state = run.resume() or (0, {"total": torch.ones(8)})
    while step < until:
        step, state = step + 1, {"total": state["total"] * 2 + step}
        run.metrics.append({"step": step, "loss": [float(state["total"].sum())]})
        run.save(step, state, keep={1, 3})


def complete(store: Store) -> FinishedRun:
    with store.open(REQUEST) as run:
        go_on(run)
        run.finish([sample_runs.TABLE])
    return FinishedRun(run.folder)


def damaged(store: Store) -> list[str]:
    return [Path(finding.path).name for finding in verify(store.root) if finding.is_damage]


def flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(data))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    run = complete(Store(tmp_path_factory.mktemp("undisturbed")))
    return {name: data for name, data in contents(run.folder).items() if name != "record.json"}


@pytest.mark.parametrize("name", [f"{EARLY}.json", f"{EARLY}.safetensors", "metrics.jsonl"])
@pytest.mark.parametrize("when", ["while it is written", "while it is interrupted"])
def test_a_flip_in_a_file_that_was_written_long_ago_is_told_and_not_certified(
    store: Store, name: str, when: str
) -> None:
    path = store.folder(REQUEST) / name
    for seed in range(8):
        chance = random.Random(seed)

        def disturbed(chance: random.Random = chance) -> None:
            with store.open(REQUEST) as run:
                go_on(run, 2)
                if when == "while it is written":
                    flip(path, chance)
                    go_on_without_reading(run)
                    run.finish([sample_runs.TABLE])
            flip(path, chance)
            assert damaged(store) == [name]
            with store.open(REQUEST) as run:
                go_on(run)

        with pytest.raises(DamagedFileError) as caught:
            disturbed()
        assert_helpful(caught.value, path)
        assert "finished" not in {row.status for row in store.runs()}
        store.remove(REQUEST.id)


def go_on_without_reading(run: Run) -> None:
    run.metrics.append({"step": 3})
    run.save(3, {"total": torch.zeros(8)}, keep={1, 3})


def test_rows_that_were_altered_since_they_were_written_are_not_given_to_the_study(store: Store) -> None:
    with store.open(REQUEST) as run:
        run.metrics.append({"step": 1, "loss": [0.125]})
        path = run.folder / "metrics.jsonl"
        path.write_bytes(path.read_bytes().replace(b"0.125", b"0.525"))
        with pytest.raises(DamagedFileError) as caught:
            run.metrics.rows()
    assert_helpful(caught.value, path)


def test_a_whole_checkpoint_of_another_run_in_place_of_a_kept_one_is_told_when_the_run_goes_on(store: Store) -> None:
    other = make_request(part="narrow")
    with store.open(other) as run:
        run.save(1, {"total": torch.zeros(8)})
    with store.open(REQUEST) as run:
        go_on(run, 2)
    for suffix in ("json", "safetensors"):
        (run.folder / f"{EARLY}.{suffix}").write_bytes((store.folder(other) / f"{EARLY}.{suffix}").read_bytes())
    assert set(damaged(store)) == {f"{EARLY}.json", f"{EARLY}.safetensors"}
    with pytest.raises(DamagedFileError, match=EARLY), store.open(REQUEST) as run:
        run.resume()


def test_a_kept_checkpoint_that_is_gone_is_told_when_the_run_goes_on(store: Store) -> None:
    with store.open(REQUEST) as run:
        go_on(run, 2)
    (run.folder / f"{EARLY}.json").unlink()
    assert f"{EARLY}.json" in damaged(store)
    with pytest.raises(DamagedFileError, match=f"{EARLY}.json is gone"), store.open(REQUEST) as run:
        run.resume()


def test_a_run_that_is_stopped_after_every_step_has_the_same_checksums_in_its_checkpoints(
    store: Store, expected: dict[str, bytes]
) -> None:
    for until in range(1, STEPS):
        with store.open(REQUEST) as run:
            go_on(run, until)
    run = complete(store)
    assert {name: data for name, data in contents(run.folder).items() if name != "record.json"} == expected
    assert run.record.files == {name: digest_file(run.folder / name) for name in expected}
    assert {f"{LATE}.json", f"{EARLY}.json", "checkpoint-00000004.json"} < set(expected)
    assert damaged(store) == []


def recertify(run: FinishedRun, name: str, data: bytes) -> None:
    """As if the record had been made from what the disk had then."""
    from dataclasses import replace

    (run.folder / name).write_bytes(data)
    files = {**run.record.files, name: digest_file(run.folder / name)}
    replace(run.record, files=files).write(run.folder)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("result.json", lambda data: data.replace(b"0.001", b"0.101")),
        ("metrics.jsonl", lambda data: data.replace(b"0.25", b"0.75")),
        ("weights-00000008.safetensors", lambda data: data[:-1] + b"\x01"),
        ("weights-00000008.json", lambda data: data.replace(b"1e-05", b"2e-05")),
    ],
)
def test_damage_that_an_earlier_version_certified_is_found_by_the_checksums_inside(
    store: Store, name: str, change: Callable[[bytes], bytes]
) -> None:
    run = finish(store)
    assert damaged(store) == []
    data = (run.folder / name).read_bytes()
    assert change(data) != data
    recertify(run, name, change(data))
    assert damaged(store) == [name]


def test_a_result_is_recorded_as_it_was_meant_and_not_as_the_disk_kept_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_that_flips(path: Path, kind: str, version: int, body: object, **rest: bool) -> str:
        checksum = write_document(path, kind, version, body, **rest)
        path.write_bytes(path.read_bytes().replace(b"0.001", b"0.101"))
        return checksum

    monkeypatch.setattr("rote.store.run.write_document", disk_that_flips)
    run = finish(store)
    assert damaged(store) == ["result.json"]
    with pytest.raises(DamagedFileError) as caught:
        run.tables()
    assert_helpful(caught.value, run.folder / "result.json")
