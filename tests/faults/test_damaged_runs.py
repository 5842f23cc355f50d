"""A damaged run is the end of its own study, and of no other run of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rote.errors import RunFailedError
from rote.laboratory import Laboratory, studies
from rote.recipes import Job
from rote.store import Store


def halve(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def run_tiny(store: Store) -> None:
    Laboratory(store, workers=1).run("tiny", "smoke", {"steps": 1})


def jobs() -> list[Job]:
    """The measurements; each needs a training."""
    study = studies["tiny"]()
    return list(study.jobs(study.resolve("smoke", {"steps": 1})))


def run_of_the_study(store: Store) -> Path:
    (row,) = (row for row in store.runs() if row.part == "study")
    return store.root / row.folder


def test_a_halved_record_does_not_stop_the_runs_of_its_study_that_do_not_need_it(store: Store) -> None:
    first, *others = jobs()
    training = first.needs[0].request
    with store.open(training):
        pass
    halve(store.folder(training) / "record.json")
    with pytest.raises(RunFailedError, match=r"2 of 12 runs failed\. .*record\.json is truncated") as told:
        run_tiny(store)
    assert training.id in str(told.value)
    assert all(store.finished(one.request) for job in others for one in job.all())
    assert not store.folder(first.request).exists()


def test_a_damaged_run_of_a_study_does_not_stop_its_missing_measurements(store: Store) -> None:
    run_tiny(store)
    damaged, missing = run_of_the_study(store), jobs()[0]
    for job in missing.all():
        store.discard(store.folder(job.request))
    halve(damaged / "record.json")
    with pytest.raises(RunFailedError, match=r"record\.json is truncated"):
        run_tiny(store)
    assert all(store.finished(job.request) for job in missing.all())
    store.discard(damaged)
    run_tiny(store)


@pytest.mark.parametrize("known", [True, False])
def test_a_damaged_result_fails_the_trial_that_needs_it_and_not_the_other_trials(store: Store, known: bool) -> None:
    run_tiny(store)
    if not known:  # that the study was run
        store.discard(run_of_the_study(store))
    halve(store.folder(jobs()[0].request) / "result.json")
    damaged, sound = Laboratory(store, workers=1).run_all("tiny", "smoke", [{"steps": 1}, {"steps": 2}])
    assert isinstance(damaged, RunFailedError)
    assert "result.json was altered" in str(damaged)
    assert not isinstance(sound, RunFailedError)


def test_damaged_weights_fail_the_measurement_that_reads_them_and_name_the_file(store: Store) -> None:
    run_tiny(store)
    first = jobs()[0]
    store.discard(store.folder(first.request))
    (weights,) = store.folder(first.needs[0].request).glob("weights-*.safetensors")
    halve(weights)
    with pytest.raises(RunFailedError, match=rf"1 of 1 runs failed\. .*{weights}"):
        run_tiny(store)
