"""Requests straight into the application, without a network."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

with warnings.catch_warnings():  # which HTTP client it uses is not our concern
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

from fastapi import FastAPI

from rote.explorer import Workbench, create_app

sys.path.append(str(Path(__file__).parents[1] / "unit"))  # samples are shared with the unit tests
BASE = "http://127.0.0.1:8765"
TOKEN = "a-token-of-the-tests"


def client_of(bench: Workbench, token: str | None = TOKEN) -> TestClient:
    """Who has this token of the server's. Errors are answers here too, as they are for a browser."""
    headers = bearing(token)
    return TestClient(create_app(bench, TOKEN), base_url=BASE, headers=headers, raise_server_exceptions=False)


def bearing(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def bench_of(client: TestClient) -> Workbench:
    """What the server behind this client works with."""
    assert isinstance(client.app, FastAPI)
    bench: Workbench = client.app.state.workbench
    return bench
