"""What the explorer refuses, how it says so, and that it goes on afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from api_client import TestClient, client_of

from rote.errors import UsageError
from rote.explorer import Workbench, safety
from rote.explorer.messages import Answer, BusyError, EndingError, TimeLimitError
from rote.explorer.serving import bind
from rote.explorer.workbench import JOBS
from rote.store import Store

HOST = "127.0.0.1:8765"
COMPARE = "/api/runs/compare"


def said(answer: Any) -> str:
    """The one line of an error."""
    body = answer.json()
    assert list(body) == ["error"]
    assert "\n" not in body["error"]
    return str(body["error"])


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_this_machine_is_served_under_each_of_its_names(client: TestClient, host: str) -> None:
    assert client.get("/api/session", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost.evil.example:8765",
        "127.0.0.1:8765.evil",
        "",
        "[::1]",
    ],
)
def test_a_name_that_was_rebound_to_this_machine_is_not_served(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "127.0.0.1:8765" in said(answer)


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:8766", "https://127.0.0.1:8765", "http://127.0.0.1:8765.evil"],
)
def test_another_pages_requests_are_refused(client: TestClient, origin: str) -> None:
    for method, path in (("GET", "/api/runs"), ("POST", COMPARE)):
        answer = client.request(method, path, headers={"origin": origin, "content-type": "application/json"})
        assert answer.status_code == 403
        assert said(answer)
    assert client.get("/api/session", headers={"origin": f"http://{HOST}"}).status_code == 200


def test_an_image_or_frame_of_another_page_gets_nothing_but_a_link_may_be_followed(client: TestClient) -> None:
    image = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    frame = {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert [client.get("/", headers=headers).status_code for headers in (image, frame, link)] == [403, 403, 200]
    form = {**link, "content-type": "application/json"}
    assert client.post(COMPARE, json={"runs": ["a"]}, headers=form).status_code == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_can_send_is_refused(client: TestClient, kind: str) -> None:
    answer = client.post(COMPARE, content=b'{"runs": ["a"]}', headers={"content-type": kind})
    assert answer.status_code == 415
    assert "application/json" in said(answer)


def test_a_body_that_is_too_large_is_refused_however_it_comes(client: TestClient) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 10_000

    headers = {"content-type": "application/json"}
    for content in (b"x" * (safety.BODY_LIMIT + 1), parts()):
        answer = client.post(COMPARE, content=content, headers=headers)
        assert answer.status_code == 413
        assert "256 KiB" in said(answer)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"runs": [1e999]}',
        b'{"runs": ["\\ud800"]}',
        b'{"runs": NaN}',
        b"null",
        b'{"runs": ' + b"9" * 5000 + b"}",
        b'{"runs": ["a"], "more": 1}',
        b'{"runs": []}',
        b'{"runs": "a"}',
        json.dumps({"runs": ["a"] * 13}).encode(),
        json.dumps({"runs": ["a" * 201]}).encode(),
    ],
)
def test_a_malformed_body_gets_one_line(client: TestClient, content: bytes) -> None:
    answer = client.post(COMPARE, content=content, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert said(answer)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/house/..%2f..%2fcli.py",
        "/static//etc/passwd",
        "/static/lib/../../safety.py",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/static/%00",
        "/static/lib",
        "/api/nothing",
        "/docs",
        "/redoc",
    ],
)
def test_no_path_leads_out_of_the_folders_of_the_page(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (404, 405), answer.text[:100]
    assert said(answer)
    assert "import" not in answer.text


def test_every_answer_carries_the_policy(client: TestClient) -> None:
    answers = [
        client.get("/"), client.get("/static/shell.js"), client.get("/house/page.css"), client.get("/api/session"),
        client.get("/nothing"), client.put("/api/session", json={}), client.post(COMPARE, json={}),
        client.post(COMPARE, content=b"", headers={"content-type": "text/plain"}),
        client.get("/", headers={"host": "evil.example"}), client.get("/", headers={"origin": "null"}),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 404, 405, 422, 415, 421, 403]
    for answer in answers:
        for name, value in safety.HEADERS.items():
            assert answer.headers[name] == value
    assert "'unsafe-inline'" not in safety.POLICY
    assert "unsafe-eval" not in safety.POLICY


def test_the_schema_is_there_and_names_no_other_server(client: TestClient) -> None:
    schema = client.get("/api/openapi.json").json()
    assert "http" not in json.dumps(schema["paths"])
    assert {method for ways in schema["paths"].values() for method in ways} == {"get", "post"}


def bodies(part: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a schema that takes a value."""
    if isinstance(part, dict):
        if "type" in part and "enum" not in part and "const" not in part:
            yield place, part
        for key, inner in part.items():
            yield from bodies(inner, f"{place}.{key}")
    elif isinstance(part, list):
        for inner in part:
            yield from bodies(inner, place)


def test_everything_that_a_client_can_send_is_bounded(client: TestClient) -> None:
    schema = client.get("/api/openapi.json").json()
    ours = {name: part for name, part in schema["components"]["schemas"].items() if "ValidationError" not in name}
    needed = {"string": {"maxLength"}, "array": {"maxItems"}, "integer": {"minimum", "maximum"}}
    needed["number"], needed["object"] = needed["integer"], {"additionalProperties"}
    for place, part in bodies(ours):
        exclusive = {key.replace("exclusiveM", "m") for key in part}
        assert needed.get(part["type"], set()) <= exclusive | set(part), f"{place} is not bounded"
        assert part.get("additionalProperties", False) is False


def test_a_computation_out_of_time_is_given_up_and_the_next_one_done(tmp_path: Path) -> None:
    bench = Workbench(Store(tmp_path), seconds=0.2)
    with pytest.raises(TimeLimitError, match=r"within 0.2 seconds"):
        bench.compute(time.sleep, 0.6)
    bench.seconds = 60.0  # a busy machine
    assert bench.compute(lambda: 7) == 7
    bench.close()


def test_who_waits_for_an_answer_is_told_when_the_server_ends(tmp_path: Path) -> None:
    bench, begun, go = Workbench(Store(tmp_path), patience=0.0), threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        go.wait(60)

    with ThreadPoolExecutor(1) as others:
        asked = others.submit(bench.compute, hold)
        assert begun.wait(60)
        assert not bench.close()  # it is still being computed
        with pytest.raises(EndingError, match=r"being ended\. Start it again"):
            asked.result(60)
    go.set()
    bench.patience = None
    assert bench.close()


def test_what_comes_after_the_end_is_told_and_the_late_warm_up_says_nothing(tmp_path: Path) -> None:
    bench = Workbench(Store(tmp_path))
    bench.end()
    bench.warm_up()  # the clock of a server that is stopped in its first second
    with pytest.raises(EndingError, match="being ended"):
        bench.compute(time.time)
    assert bench.close()


def test_a_full_pool_says_so_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rote.explorer.workbench.WAITING", 0)
    bench, begun, go = Workbench(Store(tmp_path)), threading.Barrier(3), threading.Event()

    def hold() -> bool:
        begun.wait(60)
        return go.wait(60)

    with client_of(bench) as client, ThreadPoolExecutor(2) as others:
        held = [others.submit(bench.compute, hold) for _ in range(2)]
        begun.wait(60)
        answer = client.get("/api/runs")
        assert answer.status_code == 429
        assert "busy" in said(answer)
        go.set()
        assert all(future.result(60) for future in held)
        assert client.get("/api/runs").status_code == 200


def test_training_jobs_are_bounded(tmp_path: Path) -> None:
    bench = Workbench(Store(tmp_path))
    with contextlib.ExitStack() as stack:
        for _ in range(JOBS):
            stack.enter_context(bench.job())
        with pytest.raises(BusyError, match="training jobs are running"):
            stack.enter_context(bench.job())
    with bench.job():
        pass


def test_a_mistake_of_ours_is_told_without_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Workbench(Store(tmp_path))
    monkeypatch.setattr(bench.store, "runs", lambda: {}["secret"])
    with client_of(bench) as client:
        answer = client.get("/api/runs")
        assert answer.status_code == 500
        assert "KeyError" in said(answer)
        assert "secret" not in answer.text
        assert client.get("/api/session").status_code == 200
    assert "secret" in capsys.readouterr().err


def test_many_at_once_all_get_their_answers(client: TestClient) -> None:
    def ask(number: int) -> int:
        if number % 3 == 0:
            return client.get("/api/runs").status_code
        if number % 3 == 1:
            return client.post(COMPARE, content=b"{", headers={"content-type": "application/json"}).status_code
        return client.post("/api/autocomplete", json={"model": "gru", "text": f"the uni{number}"}).status_code

    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(ask, range(48)))
    assert found == [200, 422, 200] * 16


async def exchange(app: Any, receive: Any) -> int:
    """The status of one request whose body comes from ``receive``."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "server": ("127.0.0.1", 8765),
        "headers": [(b"host", HOST.encode()), (b"content-type", b"application/json")],
    }
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await safety.Guard(app)(scope, receive, send)
    return int(sent[0]["status"])


def alone(main: Any) -> int:
    """In a thread of its own: the browser tests keep a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return int(pool.submit(asyncio.run, main).result())


def test_a_body_that_never_ends_and_an_answer_that_never_begins_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safety, "BODY_SECONDS", 0.05)
    monkeypatch.setattr(safety, "ANSWER_SECONDS", 0.05)

    async def never() -> dict[str, Any]:
        await asyncio.sleep(30)
        return {}

    async def at_once() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(30)

    async def quick(scope: Any, receive: Any, send: Any) -> None:
        await Answer({})(scope, receive, send)

    assert alone(exchange(quick, never)) == 408
    assert alone(exchange(slow, at_once)) == 503
    assert alone(exchange(quick, at_once)) == 200


def test_a_port_that_is_taken_is_told_and_without_one_another_is_found() -> None:
    with bind(0) as first:
        port = first.getsockname()[1]
        with pytest.raises(UsageError, match=f"Port {port} cannot be used"):
            bind(port)
    with bind() as one, bind() as two:
        assert one.getsockname()[1] != two.getsockname()[1]
        assert {one.getsockname()[0], two.getsockname()[0]} == {"127.0.0.1"}


def test_torch_is_not_imported_before_the_server_listens() -> None:
    script = "import sys; from rote.explorer import create_app; create_app(); assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
