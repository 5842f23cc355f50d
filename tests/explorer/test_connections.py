"""Connections that hold a place and do nothing, over real sockets: they lose it, and others are served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from api_client import bearing

from rote.explorer import Explorer, Workbench, connections
from rote.explorer.plane_session import PlaneSession
from rote.explorer.training_jobs import jobs_of
from rote.store import Store

SECONDS = 1.0
PAGE = b"HEAD /house/page.css HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"


@pytest.fixture
def explorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Explorer]:
    """With little patience, and room for four."""
    monkeypatch.setattr(connections, "TURN_SECONDS", SECONDS)
    with Explorer(Workbench(Store(tmp_path)), port=0) as started:
        monkeypatch.setattr(connections, "MOST", 4)
        yield started


def connected(explorer: Explorer) -> socket.socket:
    raw = socket.create_connection(("127.0.0.1", port(explorer)), timeout=60)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return raw


def port(explorer: Explorer) -> int:
    return int(explorer.address.split(":")[2][:-1])


def answered(raw: socket.socket) -> bool:
    return raw.recv(100_000).startswith(b"HTTP/1.1 200")


def seconds_until_cut(raw: socket.socket, sending: bytes = b"", begun: float | None = None) -> float:
    begun = begun or time.monotonic()
    raw.settimeout(0.05)
    while time.monotonic() < begun + 60:
        try:
            if sending:
                raw.sendall(sending)
            if raw.recv(100_000) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begun


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b""),  # says nothing
        (b"GET / HTTP/1.1\r\n", b"a"),  # a header that never ends, a byte at a time
        (b"POST /api/runs/compare HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", b"a"),  # refused, and goes on
    ],
)
def test_a_request_whose_head_does_not_come_loses_its_place(explorer: Explorer, first: bytes, then: bytes) -> None:
    begun = time.monotonic()
    with connected(explorer) as raw:
        raw.sendall(first)
        assert SECONDS <= seconds_until_cut(raw, then, begun) < 60


def test_a_connection_that_is_kept_has_the_same_time_for_its_next_request(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "TURN_SECONDS", 2.0)
    with connected(explorer) as raw:
        for _ in range(3):  # longer than the limit together
            raw.sendall(PAGE % port(explorer))
            assert answered(raw)
            time.sleep(0.7)
        raw.sendall(b"GET")
        assert seconds_until_cut(raw, b"a") < 60


def test_the_last_bytes_of_an_answer_do_not_wait_for_those_before_them(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = []

    def accepted(connection: connections.Connection, transport: asyncio.Transport) -> None:
        accept(connection, transport)
        at_once.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    accept = connections.Connection.connection_made
    monkeypatch.setattr(connections.Connection, "connection_made", accepted)
    with connected(explorer) as raw:
        raw.sendall(PAGE % port(explorer))
        assert answered(raw)
    assert [bool(one) for one in at_once] == [True]


def test_room_is_made_by_the_one_that_has_waited_longest(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "TURN_SECONDS", 600)
    with contextlib.ExitStack() as opened:
        waiting = [opened.enter_context(connected(explorer)) for _ in range(4)]
        for raw in waiting:
            raw.sendall(b"HEAD /house/page.css HT")
        new = opened.enter_context(connected(explorer))
        new.sendall(PAGE % port(explorer))
        assert answered(new)
        assert seconds_until_cut(waiting[0]) < 60
        waiting[3].sendall(b"TP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port(explorer))
        assert answered(waiting[3])


def test_who_comes_while_all_are_being_answered_is_told(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "most_connections", lambda: 0)
    with connected(explorer) as raw:
        told = raw.recv(1000)
        assert told.startswith(b"HTTP/1.1 503 ")
        assert "too many connections" in json.loads(told.partition(b"\r\n\r\n")[2])["error"]


def asked(explorer: Explorer, path: str, body: dict[str, object]) -> urllib.request.Request:
    headers = {"Content-Type": "application/json", **bearing(explorer.token)}
    return urllib.request.Request(f"{explorer.address}api/{path}", json.dumps(body).encode(), headers)


def until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_a_stream_that_nobody_reads_ends_with_its_job_and_a_slow_reader_goes_on(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "TURN_SECONDS", 2.0)
    jobs = jobs_of(explorer.workbench)
    with urllib.request.urlopen(asked(explorer, "playground/start", {})) as answer:
        job = json.load(answer)["job"]
    found = jobs.find(job, PlaneSession)

    async def lines(updates: int, frames: int, at: object):  # type: ignore[no-untyped-def]
        while True:  # more than the buffers of the system take
            yield {"frame": "x" * 1_000_000}
            await asyncio.sleep(0)

    monkeypatch.setattr(found, "play", lines)
    with connected(explorer) as raw:
        request = asked(explorer, "playground/play", {"job": job})
        head = "".join(f"{name}: {value}\r\n" for name, value in request.header_items())
        data = request.data
        assert isinstance(data, bytes)
        raw.sendall(
            f"POST /api/playground/play HTTP/1.1\r\nHost: 127.0.0.1:{port(explorer)}\r\n{head}"
            f"Content-Length: {len(data)}\r\n\r\n".encode()
            + data
        )
        begun = time.monotonic()
        while time.monotonic() < begun + 3:  # slow, but it reads
            assert raw.recv(1_000_000)
            time.sleep(0.1)
        assert jobs.running() == 1
        assert until(lambda: jobs.running() == 0)  # it reads no more


@pytest.mark.parametrize(("files", "most"), [(1024, 512), (256, 128), (64, 32), (resource.RLIM_INFINITY, 512), (1, 1)])
def test_connections_leave_half_of_the_files_to_the_rest(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert connections.most_connections() == most
