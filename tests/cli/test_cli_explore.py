"""rote explore in a process of its own: it prints its address, answers, and ends with Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from rote.cli import main

COMMAND = [sys.executable, "-m", "rote.cli", "explore", "--no-open"]


def test_it_serves_the_page_until_ctrl_c(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "ROTE_HOME": str(tmp_path / "store")}
    command = [*COMMAND, "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith("Rote explorer: http://127.0.0.1:")
            with urllib.request.urlopen(said.split()[2], timeout=60) as answer:
                assert b"<title>Rote explorer</title>" in answer.read()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors
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
