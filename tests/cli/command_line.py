"""The command as a user has it: in a process of its own where that matters, else called in this one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from warm_process import NO_TORCH, run_warm

ROTE = str(Path(sys.executable).with_name("rote"))
SETTINGS = ("ROTE_HOME", "ROTE_CHECKPOINT_SECONDS", "COLUMNS", "FORCE_COLOR", "SOURCE_DATE_EPOCH")
PATIENCE = 900.0  # seconds; a busy machine takes its time
SMOKE = ("plane", "--preset", "smoke", "--workers", "1")


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in SETTINGS} | changes


def rote(*words: object, cwd: Path, **settings: str) -> Answer:
    """The command in a process of its own that has torch already."""
    return Answer(*run_warm([ROTE, *map(str, words)], cwd, environment(**settings), PATIENCE))


def without_torch(*words: object, cwd: Path, **settings: str) -> Answer:
    """The command in a process of its own that cannot import torch."""
    return Answer(*run_warm([ROTE, *map(str, words)], cwd, environment(**settings), PATIENCE, imports=NO_TORCH))


def script(program: str, *words: object, cwd: Path, **settings: str) -> Answer:
    """A Python program in a process of its own that has torch already."""
    return Answer(*run_warm(["-c", *map(str, words)], cwd, environment(**settings), PATIENCE, program))


def python(program: str, *words: object, cwd: Path, **settings: str) -> Answer:
    """A Python program, from the start of the interpreter."""
    return run_here([sys.executable, "-c", program, *map(str, words)], cwd, **settings)


def run_here(command: list[str], cwd: Path, **settings: str) -> Answer:
    done = subprocess.run(
        command, cwd=cwd, env=environment(**settings), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, f"ended with {process.returncode} before what was waited for"
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.005)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder``."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def outcome(store: Path) -> dict[str, bytes]:
    """What the runs of a store found, without when and how they found it."""
    return {name: data for name, data in contents(store).items() if name.endswith(("result.json", "metrics.jsonl"))}


@dataclass(frozen=True)
class Finished:
    store: Path
    first: Answer  # of the command that filled it


@dataclass(frozen=True)
class Report:
    folder: Path
    answer: Answer  # of the command that wrote it
