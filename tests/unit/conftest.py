"""What many of these tests begin with."""

from pathlib import Path

import pytest

from rote.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where a report goes."""
    return tmp_path / "report"


@pytest.fixture
def without_vega(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vega itself is for the browser tests; here it only costs a second each."""
    monkeypatch.setattr("rote.report.report.vega_bundle", lambda: "/* Vega */\n")
