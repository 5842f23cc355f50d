"""What is computed and what is not: trainings are shared, tables are made anew, a failure stays where it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from linked_studies import BadTables, Other
from test_cluster import Machines
from tiny_study import Tiny, TinyConfig, TinyMeasurement, TinyRecipe

from rote.claims import Assertion, Claim, above, measured
from rote.errors import RoteError, RunFailedError, StoreError, UsageError
from rote.laboratory import Laboratory, StudyResult, latest_runs, ledger, studies
from rote.laboratory.orders import Order, Orders
from rote.laboratory.perform import perform
from rote.laboratory.study_run import StudyRun
from rote.recipes import Measurement, Network, Recipe, Trained
from rote.recipes.recipe import Progress
from rote.registry import Registry
from rote.store import Column, FinishedRun, Request, Store, Table
from rote.studies.resistance.plane import PlaneMeasurement, PlaneStudy


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def registered() -> Iterator[Callable[[Registry[Any], Any], None]]:
    """Enters what a test needs; it is forgotten afterwards."""
    entered: list[tuple[Registry[Any], str]] = []

    def register(registry: Registry[Any], thing: Any) -> None:
        registry.register(thing.name)(thing)
        entered.append((registry, thing.name))

    yield register
    for registry, name in entered:
        registry._registered.pop(name, None)
        registry._loaded.pop(name, None)


@pytest.fixture
def done(store: Store, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many trainings and measurements this process has performed."""
    from rote.laboratory import laboratory

    counted: Counter[str] = Counter()

    def counting(store: Store, order: Order, device: str, progress: Progress) -> None:
        perform(store, order, device, progress)
        counted[order.request.part] += 1

    monkeypatch.setattr(laboratory, "perform", counting)
    return counted


# --- what a change costs ---------------------------------------------------------------------------------------------

SMALL: dict[str, object] = {"seeds": 2, "training.steps": 4}


def plane(store: Store, **overrides: object) -> StudyResult:
    return Laboratory(store, workers=1).run("plane", "smoke", {**SMALL, **overrides})


@pytest.mark.parametrize("change", [{"grid": 51}, {"shown_seeds": 4}])
def test_another_setting_of_a_measurement_trains_nothing(
    store: Store, done: Counter[str], change: dict[str, object]
) -> None:
    first = plane(store)
    assert done == {"training": 4, "measurement": 4}
    again = plane(store, **change)
    assert done == {"training": 4, "measurement": 8}
    assert (again.computed, again.reused) == (4, 4)
    assert again.run.id != first.run.id
    assert plane(store).computed == 0


def test_a_corrected_measurement_measures_again_and_trains_nothing(
    store: Store, done: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = plane(store).run
    monkeypatch.setattr(PlaneMeasurement, "version", 2)
    with pytest.raises(StoreError, match=rf"{stale.id} of plane is made of measurements of another version\. Run"):
        StudyRun(stale.folder).tables()
    assert latest_runs(store, PlaneStudy()) == []
    plane(store)
    assert done == {"training": 4, "measurement": 8}


def test_a_corrected_table_and_a_new_claim_show_at_once_and_compute_nothing(
    store: Store, done: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Laboratory(store, workers=1).run("plane", "smoke", {"seeds": 2})
    before, counted = contents(store), done.copy()
    corrected = Table.make("outcome", "Corrected", (Column("value"),), [{"value": 7.0}])

    def value(tables: Mapping[str, Table]) -> dict[int, float]:
        return dict.fromkeys(range(6), tables["outcome"].column("value")[0])

    claim = Claim(
        "plane-new", "resistance", "Section 6", "It is seven.", "Seven.",
        (Assertion("The value", measured(value), above(6)),),
    )  # fmt: skip
    monkeypatch.setattr(PlaneStudy, "tables", lambda self, config, measured: [corrected])
    monkeypatch.setattr(PlaneStudy, "claims", (claim,))
    assert store.load(first.run.id).tables() == {"outcome": corrected}
    (entry,) = [entry for entry in ledger(store, kept=False) if entry.study == "plane"]
    assert (entry.claim.id, entry.outcome) == ("plane-new", "supported")
    result = Laboratory(store, workers=1).run("plane", "smoke", {"seeds": 2})
    assert (result.computed, result.run.id, [one.claim.id for one in result.verdicts]) == (
        0, first.run.id, ["plane-new"],
    )  # fmt: skip
    assert (contents(store), done) == (before, counted)


def contents(store: Store) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in store.root.glob("runs/*/*/*") if path.name != "lock"}


def test_a_study_s_run_keeps_no_tables_and_its_trainings_may_go(store: Store, done: Counter[str]) -> None:
    result = plane(store)
    expected = result.run.tables()
    assert not FinishedRun.tables.__get__(_as_stored(result.run))()
    for row in store.runs():
        if row.part == "training":
            store.discard(store.root / row.folder)
    assert store.load(result.run.id).tables() == expected
    assert plane(store).computed == 0
    plane(store, grid=7)  # which has to look at the networks
    assert done == {"training": 8, "measurement": 8}


def _as_stored(run: FinishedRun) -> FinishedRun:
    """As if it were no study's, so that its own file is read."""
    from dataclasses import replace

    read = FinishedRun(run.folder)
    read.record = replace(read.record, request=replace(read.record.request, part="measurement"))
    return read


# --- what is shared --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_two_studies_that_ask_for_the_same_recipe_share_its_run(store: Store, workers: int) -> None:
    laboratory = Laboratory(store, workers=workers)
    first = laboratory.run("tiny", overrides={"seeds": 3})
    second = laboratory.run("other", overrides={"seeds": 4})
    assert (first.computed, first.reused) == (6, 0)
    assert (second.computed, second.reused) == (5, 3)
    assert Counter((row.study, row.part) for row in store.runs()) == {
        ("tiny", "training"): 4, ("tiny", "measurement"): 3, ("other", "measurement"): 4,
        ("tiny", "study"): 1, ("other", "study"): 1,
    }  # fmt: skip


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_of_several_studies_are_given_out_together_and_each_result_is_told_once(
    store: Store, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Orders] = []
    compute = Laboratory._compute
    monkeypatch.setattr(
        Laboratory, "_compute", lambda self, orders, turn: (given.append(orders), compute(self, orders, turn))
    )
    told: list[tuple[str, StudyResult | RoteError]] = []
    Laboratory(store, workers=workers).run_studies(["tiny", "other"], "smoke", lambda *pair: told.append(pair))
    assert [orders.total for orders in given] == [6 + 6 + 6]
    assert sorted(name for name, _ in told) == ["other", "tiny"]
    assert {(one.computed, one.reused) for _, one in told if isinstance(one, StudyResult)} == {(12, 0)}
    told.clear()
    Laboratory(store, workers=workers).run_studies(["tiny", "other"], "smoke", lambda *pair: told.append(pair))
    assert {(one.computed, one.reused) for _, one in told if isinstance(one, StudyResult)} == {(0, 12)}
    assert [name for name, _ in told] == ["tiny", "other"]


def test_a_study_is_told_while_the_runs_of_the_next_go_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Other, "default", TinyConfig(steps=5))  # other trainings
    finished: list[int] = []
    Laboratory(store, workers=1).run_studies(
        ["tiny", "other"], "smoke", lambda *pair: finished.append(sum(row.part != "study" for row in store.runs()))
    )
    assert finished == [12, 24]


# --- what fails ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    machines = Machines()
    machines.start_worker()
    yield machines
    machines.close()


@pytest.mark.parametrize("where", ["one process", "two workers", "a cluster"])
def test_a_failing_training_fails_what_needs_it_with_its_reason_and_nothing_else(
    store: Store, where: str, request: pytest.FixtureRequest
) -> None:
    """Each begins when what it needs is there: a worker that began earlier would find no weights."""
    cluster = request.getfixturevalue("machines").address if where == "a cluster" else None
    laboratory = Laboratory(store, workers=None if cluster else 1 + (where == "two workers"), cluster=cluster)
    told: dict[str, StudyResult | RoteError] = {}
    laboratory.run_studies(["failing", "tiny"], "smoke", lambda name, result: told.update({name: result}))
    failure = told["failing"]
    assert isinstance(failure, RunFailedError)
    assert str(failure).startswith("3 of 18 runs failed. ZeroDivisionError: no such seed (3 runs, first ")
    assert isinstance(told["tiny"], StudyResult)
    found = Counter((row.study, row.part, row.status) for row in store.runs())
    assert found == {
        ("failing", "training", "finished"): 5, ("failing", "training", "failed"): 1,
        ("next", "training", "finished"): 5, ("tiny", "measurement", "finished"): 5 + 6,
        ("tiny", "training", "finished"): 6, ("tiny", "study", "finished"): 1,
    }  # fmt: skip
    for row in store.runs():
        if row.study == "next":
            (first,) = store.load(row.id).record.uses
            assert store.load(first).record.request.study == "failing"


def test_an_order_waits_for_those_that_it_needs_and_fails_with_them() -> None:
    requests = [Request("tiny", 1, "training", {"steps": number}, (0,)) for number in range(4)]
    first, second, third, free = (
        Order(request, {}, "", needs=needs)
        for request, needs in zip(requests, [(), (requests[0],), (requests[1],), ()], strict=True)
    )
    orders = Orders([third, second, first, free])
    assert [orders.take(wait=False) for _ in range(3)] == [first, free, None]
    orders.settle(first)
    assert [orders.take(wait=False) for _ in range(2)] == [second, None]
    assert not orders.are_settled([second.request, third.request])
    orders.settle(second, "it broke")
    assert orders.failures == {second.request: "it broke", third.request: "it broke"}
    assert (orders.settled, orders.total) == (3, 4)
    assert orders.are_settled([second.request, third.request])
    assert not orders.are_settled([free.request])
    known = Orders([third, second, free], {first.request: "gone"})
    assert [order.request for order in known.waiting()] == [free.request]
    assert set(known.failures.values()) == {"gone"}


def test_a_study_whose_tables_cannot_be_made_is_told_by_name_and_hinders_nothing_else(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, StudyResult | RoteError] = {}
    Laboratory(store, workers=1).run_studies(
        ["bad-tables", "tiny"], "smoke", lambda name, result: told.update({name: result})
    )
    assert str(told["bad-tables"]) == "KeyError: 'no such column'"
    good = told["tiny"]
    assert isinstance(good, StudyResult)
    left_out: list[str] = []
    assert latest_runs(store, BadTables(), left_out=left_out) == []
    (reason,) = left_out
    assert "of bad-tables. KeyError: 'no such column'" in reason
    (found,) = latest_runs(store, Tiny())
    assert found.id == good.run.id
    # Mended, it is there, and nothing is computed.
    monkeypatch.setattr(BadTables, "tables", Tiny.tables)
    assert Laboratory(store, workers=1).run("bad-tables", "smoke").computed == 0


def test_a_study_that_asks_for_a_measurement_twice_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch, registered: Callable[[Registry[Any], Any], None]
) -> None:
    registered(
        studies, type("Twice", (Tiny,), {"name": "twice", "jobs": lambda self, config: Tiny.jobs(self, config) * 2})
    )
    with pytest.raises(UsageError, match=r"'twice' asks for the measurement 'tiny' .* more than once"):
        Laboratory(store, workers=1).run("twice")
    assert not store.runs()


@pytest.mark.parametrize("kind", [Recipe, Measurement])
def test_a_recipe_or_measurement_that_is_no_dataclass_is_told_so(kind: type[Any]) -> None:
    """Without the decorator its settings would be no part of what its runs are."""
    base = TinyRecipe if kind is Recipe else TinyMeasurement
    thing: Any = type("Bare", (base,), {"name": "bare", "__annotations__": {"more": int}, "more": 3})()
    with pytest.raises(UsageError, match=r"'bare' must be a dataclass: write @dataclass\(frozen=True\) above it"):
        thing.jobs((0,)) if kind is Recipe else thing.of()


# --- networks --------------------------------------------------------------------------------------------------------


def test_networks_of_a_training_are_opened_from_the_store_at_every_step_that_was_kept(store: Store) -> None:
    import torch

    result = plane(store)
    trainings = [need for run in result.run.record.uses for need in store.load(run).record.uses]
    assert len(trainings) == 4
    for training in trainings:
        run = store.load(training)
        found = run.networks()
        assert all(isinstance(network, Network) for network in found)
        assert [network.labels["seed"] for network in found] == [0, 1]
        last = max(Trained(run).steps)
        assert {network.labels["step"] for network in found} == {last}
        weights = run.checkpoint()["model"]
        for index, network in enumerate(found):
            for name, tensor in network.model.state_dict().items():
                assert torch.equal(tensor[0], weights[name][index])
        (first, *_) = run.networks(step=0)
        assert first.labels["step"] == 0
        assert any(
            not torch.equal(a, b) for a, b in zip(first.model.parameters(), found[0].model.parameters(), strict=True)
        )
        with pytest.raises(StoreError, match="no checkpoint of step 3"):
            run.networks(step=3)


def test_what_is_no_training_has_no_networks_and_an_older_recipe_s_are_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rote.studies.resistance.plane import PlaneRecipe

    result = plane(store)
    for run in (result.run.id, result.run.record.uses[0]):
        with pytest.raises(StoreError, match="is no training"):
            store.load(run).networks()
    (training,) = store.load(result.run.record.uses[0]).record.uses
    monkeypatch.setattr(PlaneRecipe, "version", 2)
    with pytest.raises(StoreError, match=r"is of version 1 of the recipe 'plane', and 2 is installed"):
        store.load(training).networks()
