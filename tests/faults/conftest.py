"""One process that has imported torch serves all of these tests."""

from __future__ import annotations

import pytest

from rote.studies import processes


@pytest.fixture(autouse=True)
def one_nursery(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is started anew when the environment changes, and pytest puts the name of each test there."""
    environment = processes._environment
    monkeypatch.setattr(
        processes, "_environment", lambda: {**environment(), "PYTEST_CURRENT_TEST": "one of tests/faults"}
    )
