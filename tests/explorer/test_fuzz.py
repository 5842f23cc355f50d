"""No request, whatever it holds, makes the explorer fail. benchmarks/explorer_fuzz.py does the same 10,000 times."""

from __future__ import annotations

from typing import Any

from api_client import TestClient
from fuzzing import Drawn, operations, requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = 100
DRAWN = {
    "text": ["the united states of america and", "parts of north africa are a", "a", " "],
    "composition": ["000 t1 t2", "t1", ""],
    "checkpoint": [None],
}


def check(client: TestClient, drawn: Drawn) -> int:
    answer = client.request(
        drawn.method, drawn.path, content=drawn.content or None, headers={"content-type": drawn.kind}
    )
    assert answer.status_code < 500, (drawn, answer.text[:300])
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    if answer.status_code >= 400:
        said = answer.json()
        assert list(said) == ["error"]
        assert said["error"]
        assert "\n" not in said["error"]
        assert "Traceback" not in said["error"]
    return answer.status_code


def names_of(client: TestClient) -> dict[str, list[Any]]:
    """Names that exist on this server, so that requests come through to the computing."""
    models = [model["key"] for model in client.get("/api/models").json()["models"]]
    networks = [model["key"] for model in client.get("/api/lookup/models").json().get("models", [])]
    job = client.post("/api/playground/start", json={"settings": {"seeds": 8, "hidden": [2]}}).json()["job"]
    return {**DRAWN, "model": [*models, *networks], "job": [job]}


def test_no_request_makes_it_fail(client: TestClient) -> None:
    schema = client.get("/api/openapi.json").json()
    seen: dict[int, int] = {}

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )  # fmt: skip
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        status = check(client, data.draw(strategy))
        seen[status] = seen.get(status, 0) + 1

    strategy = requests(schema, names_of(client))
    fuzz()
    assert seen[200] > EXAMPLES / 10  # many came through to the computing
    assert seen[422] > EXAMPLES / 10
    assert len(operations(schema)) > 15
