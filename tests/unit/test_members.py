"""Which workers of a cluster are given runs, with a scheduler that says what a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rote.errors import UsageError
from rote.laboratory import members, remote
from rote.laboratory.members import Members


class Scheduler:
    """As much of dask's client as is asked: who has joined, when each was last heard of, what each answers."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.seen: dict[str, float] = {}

    def join(self, name: str, answer: Any = None) -> None:
        self.answers[name] = remote.versions() if answer is None else answer
        self.seen[name] = 0.0

    def beat(self, *names: str) -> None:
        for name in names:
            self.seen[name] += 1

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1  # some versions of dask tell of five unless asked for all
        return {"workers": {name: {"last_seen": seen} for name, seen in self.seen.items()}}

    async def run(self, function: Callable[..., Any], *args: Any, workers: list[str], on_error: str) -> dict[str, Any]:
        (name,) = workers
        if self.answers[name] == "never":
            await asyncio.sleep(60)
        return {name: self.answers[name]}

    def sync(self, function: Callable[[], Any]) -> Any:
        """In another thread, as dask does: a browser's test may have left an event loop running in this one."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(function())).result()


class Clock:
    """The time that Members sees: none passes unless a test says so, however slow the machine is."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(members, "time", clock)
    return clock


@pytest.fixture
def said() -> list[str]:
    return []


def test_workers_of_other_versions_are_told_once_and_not_used_whenever_they_join(said: list[str]) -> None:
    scheduler, group = Scheduler(), Members(said.append)
    scheduler.join("one")
    assert group.look(scheduler)
    assert (group.able, group.all_able, said) == ({"one"}, True, [])
    scheduler.join("two", {**remote.versions(), "rote": "0.0.1"})
    scheduler.join("three", ModuleNotFoundError("No module named 'rote'"))
    assert group.look(scheduler)
    assert (group.able, group.all_able) == ({"one"}, False)
    assert not group.look(scheduler)
    assert len(said) == 2
    assert any("two has rote 0.0.1; this command has rote" in line for line in said)
    assert any("three cannot run Rote: ModuleNotFoundError: No module named 'rote'" in line for line in said)
    scheduler.seen.pop("two")
    scheduler.seen.pop("three")
    assert group.look(scheduler)
    assert group.all_able


def test_a_worker_that_falls_silent_gets_nothing_until_it_answers_again(said: list[str], clock: Clock) -> None:
    scheduler, group = Scheduler(), Members(said.append)
    scheduler.join("one")
    scheduler.join("two")
    group.look(scheduler)
    clock.now += members.SILENT
    scheduler.beat("one")
    assert not group.look(scheduler)  # only after more than that
    clock.now += 1
    assert group.look(scheduler)
    assert (group.able, group.all_able) == ({"one"}, False)
    assert "The worker at two has not answered" in said[0]
    scheduler.beat("two")
    assert group.look(scheduler)
    assert (group.able, group.all_able, said[1:]) == ({"one", "two"}, True, ["The worker at two answers again."])


def test_a_worker_that_is_frozen_from_the_beginning_does_not_hold_up_the_others(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "SILENT", 0.5)
    scheduler, group = Scheduler(), Members(said.append)
    scheduler.join("one")
    scheduler.join("two", "never")
    group.look(scheduler)
    group.refuse_if_none_fits()
    assert group.able == {"one"}
    assert "The worker at two has not answered" in said[0]


def test_if_no_worker_is_of_our_version_nothing_is_started_and_none_at_all_are_waited_for(said: list[str]) -> None:
    scheduler, group = Scheduler(), Members(said.append)
    group.look(scheduler)
    group.refuse_if_none_fits()
    scheduler.join("one", {**remote.versions(), "torch": "1.0"})
    group.look(scheduler)
    with pytest.raises(UsageError, match=r"has torch 1\.0; this command has torch .* Install the same versions"):
        group.refuse_if_none_fits()
