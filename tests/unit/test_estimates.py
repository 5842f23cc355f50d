"""Estimates: the nearest measured run is found, scaled by what is known of its work, and spread over the workers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rote.config import dotted, resolve, to_plain
from rote.laboratory import costs, estimates, studies
from rote.laboratory.costs import Cost, costs_of
from rote.laboratory.estimates import Estimator, expected
from rote.laboratory.kept_results import kept_folder, kept_in
from rote.store import Request, Store

STUDY = studies["agreement"]()
QUICK = STUDY.resolve("quick", {"cells": ("gru", "lstm"), "orders": (2,)})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(autouse=True)
def nothing_packaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "packaged", lambda: (1.0, ()))


def measured(store: Store, request: Request, seconds: float) -> None:
    with store.open(request) as run:
        run.finish([])
    replace(run.record, seconds=seconds).write(run.folder)


def packaged(monkeypatch: pytest.MonkeyPatch, request: Request, seconds: float, slower: float) -> None:
    cost = Cost(request.study, request.part, "quick", dotted(request.config), len(request.seeds), seconds, 1000)
    monkeypatch.setattr(estimates, "packaged", lambda: (1.0, (cost,)))
    monkeypatch.setattr(estimates, "slowness", lambda store: slower)


def requests_of(config: Any, part: str) -> list[Request]:
    """Three trainings; their measurements and one that needs none."""
    everything = [one.request for job in STUDY.jobs(config) for one in job.all()]
    return [request for request in everything if request.part == part]


TRAININGS, MEASUREMENTS = requests_of(QUICK, "training"), requests_of(QUICK, "measurement")


def test_what_was_measured_with_these_settings_is_spread_over_the_workers(store: Store) -> None:
    for request, seconds in zip((*TRAININGS, *MEASUREMENTS), (4.0, 1.0, 2.0, 0.5, 0.5, 0.5, 3.0), strict=True):
        measured(store, replace(request, version=99), seconds)  # not the runs themselves, but as much work
    assert expected(STUDY, [QUICK], workers=1, store=store).seconds == 11.5
    # 4 beside 1 + 2 + ... 3 that needs nothing, and then the measurements of all networks.
    assert expected(STUDY, [QUICK], workers=2, store=store).seconds == 6.0 + 1.0
    found = expected(STUDY, [QUICK], workers=2, store=store)
    assert (found.runs, found.finished, found.basis) == (7, 0, estimates.HERE)
    sizes = [sum(path.stat().st_size for path in store.root.glob("runs/*/*/*"))]
    assert found.bytes == pytest.approx(sizes[0], rel=0.01)  # of measurements that differ in their networks, one


def test_runs_that_are_there_cost_nothing_and_one_that_two_settings_share_is_counted_once(store: Store) -> None:
    for request in (*TRAININGS, *MEASUREMENTS):
        measured(store, request, 1.0)
    assert expected(STUDY, [QUICK], workers=2, store=store).seconds == 0
    twice = expected(STUDY, [QUICK, QUICK], workers=2, store=store)
    assert (twice.runs, twice.finished, twice.basis) == (7, 7, estimates.NOTHING)
    more = resolve(QUICK, {"seeds": 10})
    found = expected(STUDY, [QUICK, more], workers=1, store=store)
    assert found.finished == 7
    assert found.runs == 14


def test_a_training_that_nothing_still_needs_is_not_trained_again(store: Store) -> None:
    """It may have been removed to make room: what was measured on it is there."""
    for request in MEASUREMENTS:
        measured(store, request, 1.0)
    found = expected(STUDY, [QUICK], workers=2, store=store)
    assert (found.runs, found.finished, found.seconds, found.basis) == (7, 7, 0, estimates.NOTHING)


@pytest.mark.parametrize(
    ("change", "times"), [({"training.steps": 1800}, 3), ({"seeds": 12}, 2), ({"model.hidden": 64}, 1)]
)
def test_time_grows_with_the_updates_and_the_seeds(store: Store, change: dict[str, object], times: int) -> None:
    measured(store, TRAININGS[-1], 7.0)
    wanted = requests_of(resolve(QUICK, change), "training")[-1]
    price = Estimator(store, 1)._price(wanted)
    assert price is not None
    assert price.seconds == pytest.approx(7.0 * times)
    assert price.rough is ("model.hidden" in change)


def test_what_is_too_far_from_everything_that_was_measured_is_unknown(store: Store) -> None:
    measured(store, TRAININGS[0], 1.0)
    far = resolve(QUICK, {"model.hidden": 32 << 5, "model.embedding": 32 << 5})
    assert Estimator(store, 1)._price(requests_of(far, "training")[0]) is None


def test_the_package_is_asked_where_the_store_has_nothing_and_scaled_by_the_speed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = TRAININGS[0]
    assert expected(STUDY, [QUICK], workers=1, store=store).seconds is None
    assert expected(STUDY, [QUICK], workers=1, store=store).basis == estimates.UNKNOWN
    packaged(monkeypatch, request, 10.0, slower=2.5)
    price = Estimator(store, 1)._price(request)
    assert price is not None
    assert (price.seconds, price.bytes, price.basis) == (25.0, 1000, estimates.ELSEWHERE)
    measured(store, replace(request, config={**request.config, "sentences": 10_001}), 12.0)
    near = Estimator(store, 1)._price(request)  # the same settings elsewhere tell more than others here
    assert near is not None
    assert near.basis == estimates.ELSEWHERE
    measured(store, replace(request, version=99), 14.0)
    here = Estimator(store, 1)._price(request)
    assert here is not None
    assert (here.seconds, here.basis) == (14.0, estimates.HERE)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_runs_that_are_taken_up_as_workers_become_free(workers: int) -> None:
    seconds = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    ends: list[float] = []
    clock, waiting = 0.0, list(seconds)  # a simulation in steps of a quarter of a second
    while waiting or any(end > clock for end in ends):
        while waiting and sum(end > clock for end in ends) < workers:
            ends.append(clock + waiting.pop(0))
        clock += 0.25
    assert estimates.together(seconds, workers) == max(ends)
    assert estimates.together([], workers) == 0


def test_the_speed_of_a_machine_is_measured_once_for_a_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = itertools.count(100)
    monkeypatch.setattr(costs, "calibrate", lambda: float(next(measures)))
    assert [costs.speed(store), costs.speed(store)] == [100.0, 101.0]  # there is no store to keep it in
    assert not store.root.exists()
    store.check_writable()
    assert [costs.speed(store), costs.speed(store)] == [102.0, 102.0]
    (store.root / costs.MACHINE).write_text("{")
    assert [costs.speed(store), costs.speed(store)] == [103.0, 103.0]


def test_costs_are_written_from_stores_and_read_back_with_the_fastest_of_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, fast = Store(tmp_path / "slow"), Store(tmp_path / "fast")
    requests = [TRAININGS[0], MEASUREMENTS[0], TRAININGS[2]]
    for store, seconds in ((slow, 9.0), (fast, 3.0)):
        measured(store, requests[0], seconds)
    measured(slow, requests[1], 5.0)
    measured(slow, replace(requests[2], config={"a key of": "yesterday"}), 5.0)
    own = replace(requests[0], study=STUDY.name, part="study", config=to_plain(QUICK))
    measured(slow, own, 0.02)  # says what it is made of, no more
    monkeypatch.setattr(costs, "FILE", tmp_path / "costs.json")
    monkeypatch.setattr(costs, "kept_folder", lambda: tmp_path / "nothing kept")
    assert costs.write([slow, fast], tmp_path / "costs.json") == 2
    costs.packaged.cache_clear()
    try:
        speed, found = costs.packaged()
    finally:
        costs.packaged.cache_clear()
    assert speed > 0
    assert {cost.part: cost.seconds for cost in found} == {"training": 3.0, "measurement": 5.0}
    (training,) = [cost for cost in found if cost.part == "training"]
    assert training.config == dotted(requests[0].config)
    assert training == costs_of(fast)[0]


def test_a_study_that_was_measured_as_a_whole_says_what_the_rest_of_its_runs_takes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Preset paper is in no store of the package's costs: tagging was said to take 4 s, and took four minutes."""
    kept = next(one for one in kept_in(kept_folder()) if one.path.parts[-2:] == ("foundations", "agreement.json"))
    whole = next(cost for cost in costs.costs_of_kept([kept]) if cost.part == "study")
    assert (whole.preset, whole.seconds) == ("paper", sum(run.seconds for run in kept.runs))
    config = STUDY.resolve("paper", {"seeds": 4, "first_seed": 7})
    monkeypatch.setattr(estimates, "packaged", lambda: (1.0, (whole,)))
    monkeypatch.setattr(estimates, "slowness", lambda store: 2.0)
    found = expected(STUDY, [config], workers=1, store=store)
    assert found.seconds == pytest.approx(2.0 * whole.seconds * 4 / whole.seeds)
    assert (found.rough, found.basis) == (False, estimates.ELSEWHERE)
    runs = [one.request for job in STUDY.jobs(config) for one in job.all()]
    measured(store, runs[0], 100.0)
    left = expected(STUDY, [config], workers=1, store=store)
    assert found.seconds is not None
    assert found.runs is not None
    assert left.seconds == pytest.approx(found.seconds * (found.runs - 1) / found.runs)
    other = STUDY.resolve("paper", {"depths": (0, 1), "items": 7, "orders": (2,), "sentences": 77})
    assert expected(STUDY, [other], workers=1, store=store).seconds is None  # of other settings it says nothing


def test_networks_that_are_larger_than_all_that_were_measured_take_at_least_so_long(store: Store) -> None:
    for request in (*TRAININGS, *MEASUREMENTS):
        measured(store, request, 1.0)
    larger = expected(STUDY, [resolve(QUICK, {"model.hidden": 64})], workers=1, store=store)
    assert (larger.rough, larger.least) == (True, True)
    assert estimates.in_words(larger)["time"] == "at least 6.0 s"  # its counts need no network
    smaller = expected(STUDY, [resolve(QUICK, {"model.hidden": 16})], workers=1, store=store)
    assert estimates.in_words(smaller)["time"] == "roughly 6.0 s"


def test_the_package_knows_what_every_study_costs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that was added or renamed without measuring it has no estimate: python -m rote.laboratory.costs STORE."""
    monkeypatch.setattr(estimates, "packaged", costs.packaged)
    monkeypatch.setattr(estimates, "slowness", lambda store: 1.0)
    estimator = Estimator(store, 2)
    unknown = [
        name
        for name in studies
        if studies[name].__module__.startswith("rote.")  # and not of another test
        and estimator.expected([(studies[name](), studies[name]().resolve("quick", {}))]).seconds is None
    ]
    assert unknown == []


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "under 1 s"), (7.26, "7.3 s"), (90, "90 s"), (150, "2.5 minutes"), (3e5, "3.5 days")]
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert estimates.duration(seconds) == words


@pytest.mark.parametrize(("count", "words"), [(12, "12 bytes"), (1536, "1.5 kB"), (2.5e7, "25 MB"), (1.8e9, "1.8 GB")])
def test_sizes_in_words(count: float, words: str) -> None:
    assert estimates.in_bytes(count) == words
