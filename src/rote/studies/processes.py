"""Worker processes as their supervisor has them: a nursery that forks them, and a line to each."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from rote.store import Store
from rote.studies.orders import Order

# Two spinning threads on a busy machine are ten times slower than one that sleeps.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
FORKS = sys.platform == "linux"  # elsewhere a process that has imported torch cannot be forked safely


class Nursery:
    """Starts workers. The process behind it imports torch once; it is replaced when it was killed, and ends with us."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.RLock()
        self._control: socket.socket | None = None
        self._surroundings: object = None
        self._forget: Callable[[], object] = lambda: None

    def warm_up(self) -> None:
        """Begin to import torch, while there is other work to do here."""
        with self._one_at_a_time:
            surroundings = (_environment(), os.getcwd())
            if self._surroundings != surroundings:  # those of a process are fixed when it starts
                self.close()
            if FORKS and self._control is None:
                self._control, theirs = socket.socketpair()
                with theirs:
                    process = _start("nursery", theirs)
                self._surroundings = surroundings
                self._forget = weakref.finalize(self, _end, process, self._control)

    def close(self) -> None:
        with self._one_at_a_time:
            self._forget()
            self._control = None

    def worker(self) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        with theirs, self._one_at_a_time:
            if not FORKS:
                return WorkerProcess(ours, _start("worker", theirs))
            try:
                self._send(theirs)
            except OSError:  # it was killed
                self.close()
                self._send(theirs)
        return WorkerProcess(ours)

    def _send(self, theirs: socket.socket) -> None:
        self.warm_up()
        assert self._control is not None
        socket.send_fds(self._control, [b"+"], [theirs.fileno()])


nursery = Nursery()  # of this process; starts nothing before it is asked


class WorkerProcess:
    """A worker's socket. Its number comes with its first message, how it ended with the last."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self.connection, self.process = connection, process
        self.lines = connection.makefile("r")
        self.number: int | None = None
        self.stopping = False
        self.exit: int | None = None  # unknown if its nursery was killed too

    def give(self, order: Order, store: Store) -> None:
        with contextlib.suppress(OSError):  # it is dead, as reading will show
            plain = {**order.to_plain(), "store": str(store.root)}
            self.connection.sendall(json.dumps(plain).encode() + b"\n")

    def read(self) -> dict[str, Any] | None:
        """The next message; None when the process is dead."""
        while True:
            try:
                message: dict[str, Any] | None = json.loads(self.lines.readline() or "null")
            except (OSError, ValueError):  # it died while it wrote
                message = None
            match message:
                case {"number": number}:
                    self.number = number
                    if self.stopping:
                        self.stop()
                case {"exit": code}:
                    self.exit = code
                case _:
                    return message

    def stop(self) -> None:
        """After the current step."""
        self.stopping = True
        if self.number is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.number, signal.SIGTERM)

    def dismiss(self) -> None:
        """No more orders: what it still has to say can be read."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.lines.close()
        self.connection.close()
        if self.process is not None:
            self.exit = self.process.wait()


def _start(how: str, theirs: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rote.studies.worker", how, str(theirs.fileno())],
        stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=_environment(),
        start_new_session=True,  # Ctrl-C reaches the supervisor alone, which passes on one signal
    )  # fmt: skip


def _environment() -> dict[str, str]:
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    process.terminate()
    process.wait()
