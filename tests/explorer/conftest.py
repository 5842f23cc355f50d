"""The explorer's routes without a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_client import TestClient, client_of

from rote.explorer import Workbench
from rote.store import Store


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """On an empty store, with the bundled models."""
    return Workbench(Store(tmp_path_factory.mktemp("explorer") / "store"))


@pytest.fixture(scope="session")
def client(bench: Workbench) -> Iterator[TestClient]:
    with client_of(bench) as client:
        yield client
