"""The explorer's routes without a browser: requests straight into the application."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

with warnings.catch_warnings():  # which HTTP client it uses is not our concern
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

from rote.explorer import Workbench, create_app
from rote.store import Store

BASE = "http://127.0.0.1:8765"


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """On an empty store, with the bundled models."""
    return Workbench(Store(tmp_path_factory.mktemp("explorer") / "store"))


@pytest.fixture(scope="session")
def client(bench: Workbench) -> Iterator[TestClient]:
    """Errors are answers here too, as they are for a browser."""
    with TestClient(create_app(bench), base_url=BASE, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def store_folder(tmp_path: Path) -> Path:
    return tmp_path / "store"
