"""rote explore in a process of its own: it prints its address, answers, and ends when it is told to."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from http.client import HTTPResponse
from pathlib import Path

import pytest

from rote.cli import main

COMMAND = [sys.executable, "-m", "rote.cli", "explore", "--no-open"]


def post(url: str, body: dict[str, object]) -> HTTPResponse:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=60)
    return answer


@pytest.mark.parametrize(("sent", "training"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_it_serves_the_page_until_it_is_ended(tmp_path: Path, sent: signal.Signals, training: bool) -> None:
    """With one line, also in the middle of an answer."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "ROTE_HOME": str(tmp_path / "store")}
    command = [*COMMAND, "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith("Rote explorer: http://127.0.0.1:")
            url = said.split()[2]
            with urllib.request.urlopen(url, timeout=60) as answer:
                assert b"<title>Rote explorer</title>" in answer.read()
            with contextlib.ExitStack() as reading:
                if training:
                    job = json.load(post(f"{url}api/playground/start", {}))["job"]
                    stream = reading.enter_context(post(f"{url}api/playground/play", {"job": job}))
                    assert json.loads(stream.readline())
                process.send_signal(sent)
                _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (errors, process.returncode) == ("Explorer ended.\n", 0)
    assert not (tmp_path / "store").exists()  # looking at a store does not make one


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-model"], "Unknown autocomplete model 'no-such-model'"),
        (["--port", "70000"], "'port' must lie in 0 to 65535. Got 70000."),
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
