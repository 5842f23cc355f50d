"""The small study in processes to kill: supervisors, fork servers, workers; each forked from one with torch."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import time
from pathlib import Path
from typing import Any

import tiny_study
import torch

from rote.errors import RoteError
from rote.laboratory import Laboratory, processes, worker
from rote.store import FinishedRun, Store
from rote.store import run as run_module

SETTINGS: dict[str, object] = {"seeds": 5, "steps": 4, "keep": 2, "pause": 0.004}
PATIENCE = 300.0  # seconds in which an attempt must end
assert tiny_study, torch  # imported for all that are forked


def supervise(root: Path, years: int = 0) -> int:
    """A command in a process of its own; it says through a pipe how it ended (``wait``)."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        PIPES[child] = reading
        return child
    os.close(reading)
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    if years:
        run_module.datetime = moved(years)
    processes._start = forked_once
    problem = "crashed"
    try:
        result = Laboratory(Store(root), workers=2).run("tiny", overrides=SETTINGS)
        FinishedRun(result.run.folder).tables()  # made anew
        problem = ""
    except RoteError as error:
        problem = "interrupted" if error.exit_code == 130 else str(error)
    except KeyboardInterrupt:
        problem = "interrupted"
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}"
    finally:
        with contextlib.suppress(BaseException):
            processes.starter.close()
        os.write(writing, problem.encode())
        os._exit(0)


PIPES: dict[int, int] = {}


def wait(supervisor: int) -> str:
    """How a command ended: empty if well."""
    reading = PIPES.pop(supervisor)
    deadline = time.monotonic() + PATIENCE
    while not (ended := os.waitpid(supervisor, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            kill(supervisor)
            os.waitpid(supervisor, 0)
            os.close(reading)
            return "did not end"
        time.sleep(0.002)
    os.set_blocking(reading, False)
    said = b""
    with contextlib.suppress(BlockingIOError):
        said = os.read(reading, 10_000)
    os.close(reading)
    return "killed" if os.WIFSIGNALED(ended[1]) else said.decode()


class Forked:
    """As much of subprocess.Popen as a fork server needs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def terminate(self) -> None:
        kill(self.pid, how=signal.SIGTERM)

    def wait(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


real_start, forked_before = processes._start, False


def forked_once(how: str, theirs: Any) -> Any:
    """The first server has torch from us. One that replaces it is started from threads, and so as a new program."""
    global forked_before
    if forked_before:
        return real_start(how, theirs)
    forked_before = True
    stopping = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)  # none may come while the child still has our handlers
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping)
        return Forked(child)
    os.setsid()
    if processes.starter._control is not None:  # the other end, which a new program would not have
        processes.starter._control.close()
    for number in stopping:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping)
    try:
        worker.ForkServer(theirs).serve()
    finally:
        os._exit(0)


def children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        tasks = Path(f"/proc/{process}/task").glob("*/children")
        return sorted(int(word) for path in tasks for word in path.read_text().split())
    return []


def kill(*numbers: int, how: signal.Signals = signal.SIGKILL) -> None:
    for number in numbers:
        if number:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, how)


def bury_all() -> None:
    """Wait for every process that was orphaned: workers notice that their supervisor is gone."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.002)
        except ChildProcessError:
            return
    raise TimeoutError(f"Processes that do not end: {children(os.getpid())}")


def moved(years: int) -> type[datetime.datetime]:
    class Moved(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime.datetime:
            return datetime.datetime.now(tz) + datetime.timedelta(days=365 * years)

    return Moved
