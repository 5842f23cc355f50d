"""What `rote reproduce` says it is doing, what comes next and how long it will still take."""

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
    assert agenda.begin("first") == "[1/3] first; then second. About 2.5 minutes left"
    clock[0] += 120
    agenda.end("first")
    assert agenda.begin("second") == "[2/3] second; then third. About 3.0 minutes left"
    clock[0] += 60
    agenda.end("second")
    assert agenda.begin("third") == "[3/3] third, the last. About 2.0 minutes left"


def test_what_is_not_known_is_said(clock: list[float]) -> None:
    agenda = Agenda({"first": None, "second": 30.0})
    assert agenda.begin("first") == "[1/2] first; then second. About 30 s left, and what is not known yet"
    agenda.end("first")
    assert agenda.begin("second").endswith("About 30 s left")


def test_nothing_to_do_has_no_time(clock: list[float]) -> None:
    assert Agenda({"first": 0.0, "second": 0.0}).begin("first") == "[1/2] first; then second"
