"""What `rote reproduce` says of the studies that are done and how long the others will still take."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rote.commands.reproducing import Agenda


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("rote.commands.reproducing.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_the_time_left_is_corrected_by_the_time_taken(clock: list[float]) -> None:
    agenda = Agenda({"first": 60.0, "second": 30.0, "third": 60.0})
    assert agenda.begin() == "3 studies. About 2.5 minutes left."
    clock[0] += 120
    assert agenda.end("first", "2 computed, 0 reused") == "[1/3] first: 2 computed, 0 reused. About 3.0 minutes left."
    clock[0] += 60
    assert agenda.end("third", "failed") == "[2/3] third: failed. About 45 s left."
    assert agenda.end("second", "0 computed, 4 reused") == "[3/3] second: 0 computed, 4 reused."


def test_what_is_not_known_is_said(clock: list[float]) -> None:
    agenda = Agenda({"first": None, "second": 30.0})
    assert agenda.begin() == "2 studies. About 30 s left, and what is not known yet."
    assert agenda.end("first", "failed").endswith("About 30 s left.")


def test_nothing_to_do_has_no_time(clock: list[float]) -> None:
    assert Agenda({"first": 0.0, "second": 0.0}).begin() == "2 studies."
