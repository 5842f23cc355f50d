"""Who may use a running explorer: those who have its token, over a port or over a Unix socket of the user's own."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import stat
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_client import TOKEN, TestClient, bearing, client_of

import rote
from rote.errors import UsageError
from rote.explorer import Explorer, Workbench
from rote.explorer.listening import bind_socket
from rote.explorer.opening import in_browser
from rote.explorer.serving import Server
from rote.store import Store


@pytest.fixture
def stranger(bench: Workbench) -> TestClient:
    """Another user of the machine, who has found the port."""
    return client_of(bench, None)


def test_nobody_reads_or_starts_anything_without_the_token(client: TestClient, stranger: TestClient) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    asked = [(method, path) for path, methods in paths.items() for method in methods]
    assert len(asked) > 20
    for method, path in [*asked, ("get", "/api/openapi.json"), ("get", "/nothing"), ("post", "/"), ("get", "/apis")]:
        answer = stranger.request(method, path, json={} if method == "post" else None)
        assert (answer.status_code, list(answer.json())) == (403, ["error"]), path
        assert "Open the address that it printed" in answer.json()["error"]


@pytest.mark.parametrize(
    "value",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"],
)
def test_nothing_but_the_whole_token_opens(stranger: TestClient, value: str) -> None:
    assert stranger.get("/api/session", headers={"authorization": value.encode()}).status_code == 403
    assert stranger.get(f"/api/session?token={TOKEN}", headers={"cookie": f"token={TOKEN}"}).status_code == 403
    twice = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer x")]
    assert stranger.get("/api/session", headers=twice).status_code == 403
    assert stranger.get("/api/session", headers=bearing(TOKEN)).status_code == 200


def test_the_page_and_the_packages_files_need_no_token_and_set_no_cookie(stranger: TestClient) -> None:
    for path in ("/", f"/?token={TOKEN}", "/static/shell.js", "/house/page.css"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.headers["referrer-policy"]) == (200, "no-referrer")
        assert "set-cookie" not in answer.headers
        assert TOKEN not in answer.text


def test_each_explorer_has_a_token_of_its_own_that_it_does_not_print(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Explorer(Workbench(Store(tmp_path)), 0) as one, Explorer(Workbench(Store(tmp_path)), 0) as two:
        assert one.token is not None
        assert len(one.token) >= 32
        assert one.token != two.token
        assert one.url == f"{one.address}?token={one.token}"
        for path in ("", "nothing", "api/runs"):
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(f"{one.address}{path}?token={one.token}").read()
        with socket.create_connection(("127.0.0.1", int(one.address.split(":")[2][:-1]))) as raw:
            raw.sendall(f"BAD /?token={one.token}\r\n\r\n".encode())
            assert one.token.encode() not in raw.recv(1000)
    said = capfd.readouterr()
    assert one.token not in said.out + said.err


def test_without_a_token_only_where_it_was_asked_for(tmp_path: Path) -> None:
    with rote.explore(store=tmp_path, port=0, token=False) as explorer:
        assert (explorer.token, explorer.url) == (None, explorer.address)
        with urllib.request.urlopen(f"{explorer.url}api/session") as answer:
            assert answer.status == 200


class Unix(http.client.HTTPConnection):
    """A client of a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self.path))

    def status(self, path: str, **headers: str) -> int:
        self.request("GET", path, headers=headers)
        answer = self.getresponse()
        answer.read()
        return answer.status


@contextlib.contextmanager
def serving(path: Path) -> Iterator[Unix]:
    server = Server(Workbench(Store(path.parent / "store")), TOKEN)
    with bind_socket(path) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        client = Unix(path)
        yield client
        client.close()
        server.should_exit = True
        thread.join(60)


def test_a_unix_socket_is_its_owners_and_stands_behind_any_forwarded_port(tmp_path: Path) -> None:
    path, before = tmp_path / "rote.sock", os.umask(0)
    try:
        with serving(path) as client:
            assert os.umask(0) == 0  # as it was
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            for host in ("localhost", "127.0.0.1:8765", "localhost:9000", "[::1]:9000"):
                assert client.status("/api/session", Host=host, **bearing(TOKEN)) == 200
            assert client.status("/api/session", Host="localhost:9000") == 403
            for host in ("evil.example", "localhost.evil.example:9000", "localhost:9000.evil", "127.0.0.1:"):
                assert client.status("/api/session", Host=host, **bearing(TOKEN)) == 421
            origin = {"Host": "localhost:9000", "Origin": "http://localhost:9001"}
            assert client.status("/api/session", **origin, **bearing(TOKEN)) == 403
            with pytest.raises(UsageError, match="an explorer answers there already"):
                bind_socket(path)
    finally:
        os.umask(before)


def test_a_socket_that_was_left_behind_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "rote.sock"
    for _ in range(2):
        bind_socket(path).close()  # as if it had been killed: the file stays
    path.unlink()
    path.write_text("mine")
    with pytest.raises(UsageError, match="a file that is no socket"):
        bind_socket(path)
    assert path.read_text() == "mine"
    for wrong in (tmp_path / "missing" / "rote.sock", tmp_path / ("long" * 30)):
        with pytest.raises(UsageError, match=r"cannot be used: .*Choose another path\."):
            bind_socket(wrong)


def test_the_browser_is_started_without_showing_the_token_to_other_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr(webbrowser, "open", given.append)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    with in_browser(f"http://127.0.0.1:8765/?token={TOKEN}"):
        (page,) = tmp_path.iterdir()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert f"url=http://127.0.0.1:8765/?token={TOKEN}" in page.read_text()
        until = time.monotonic() + 60
        while not given and time.monotonic() < until:
            time.sleep(0.01)
        assert given == [page.as_uri()]
        assert TOKEN not in page.name
    assert list(tmp_path.iterdir()) == []


def test_the_page_in_the_home_folder_goes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("rote.explorer.opening.KEPT_SECONDS", 0.1)
    with in_browser(f"http://127.0.0.1:8765/?token={TOKEN}"):
        until = time.monotonic() + 60
        while list(tmp_path.iterdir()) and time.monotonic() < until:
            time.sleep(0.01)
        assert list(tmp_path.iterdir()) == []
