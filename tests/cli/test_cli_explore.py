"""rote explore in a process of its own: it prints its address, answers, and ends when it is told to."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path

import pytest

from rote.cli import main

COMMAND = [sys.executable, "-m", "rote.cli", "explore", "--no-open"]


def post(url: str, token: str, body: dict[str, object]) -> HTTPResponse:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=120)
    return answer


@contextlib.contextmanager
def explored(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "ROTE_HOME": str(folder / "store")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, *words], env=environment, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()
    assert not (folder / "store").exists()  # looking at a store does not make one


def test_it_serves_the_page_until_it_is_ended(tmp_path: Path) -> None:
    """With one line, also in the middle of an answer."""
    with explored(tmp_path, "--port", "0") as process, contextlib.ExitStack() as reading:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("Rote explorer: http://127.0.0.1:")
        url, _, token = said.split()[2].partition("?token=")
        with urllib.request.urlopen(f"{url}?token={token}", timeout=120) as answer:
            assert b"<title>Rote explorer</title>" in answer.read()
        job = json.load(post(f"{url}api/playground/start", token, {}))["job"]
        stream = reading.enter_context(post(f"{url}api/playground/play", token, {"job": job}))
        assert json.loads(stream.readline())
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=300)
        assert (errors, process.returncode) == ("Explorer ended.\n", 0)


def test_a_unix_socket_is_told_served_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "rote.sock"
    with explored(tmp_path, "--socket", str(path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"Rote explorer: {path}  (Ctrl-C ends it)\n"
        told = process.stdout.readline()
        assert f"ssh -L 8765:{path} " in told
        token = told.strip().partition("http://127.0.0.1:8765/?token=")[2]
        headers = f"Host: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(path))
            client.sendall(f"GET /api/session HTTP/1.1\r\n{headers}\r\n\r\n".encode())
            assert client.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        assert (errors, process.returncode) == ("Explorer ended.\n", 0)
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-model"], "Unknown autocomplete model 'no-such-model'"),
        (["--port", "70000"], "'port' must lie in 0 to 65535. Got 70000."),
        (["--port", "0", "--socket", "rote.sock"], "Give '--port' or '--socket', not both."),
        (["--socket", "."], "The socket"),
        (["--port", "many"], "The option --port takes a whole number. Got 'many'."),
    ],
)
def test_wrong_words_are_told_before_anything_starts(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["explore", "--no-open", *words])
    assert end.value.code == 2
    assert said in capsys.readouterr().err
