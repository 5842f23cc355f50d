"""Worker processes as their supervisor has them: a process that forks them, and a line to each."""

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
from pathlib import Path
from typing import Any

from rote.laboratory.orders import Order
from rote.sources import Source
from rote.store import Store

# Two spinning threads on a busy machine are ten times slower than one that sleeps.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
FORKS = sys.platform == "linux"  # elsewhere a process that has imported torch cannot be forked safely


class WorkerStarter:
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
                    process = _start("fork server", theirs)
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


starter = WorkerStarter()  # of this process; starts nothing before it is asked


class WorkerProcess:
    """A worker's socket. Its number comes with its first message, how it ended with the last."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self.connection, self.process = connection, process
        self.lines = connection.makefile("r")
        self.number: int | None = None
        self.stopping = False
        self.sent: dict[str, Source] = {}  # modules that it has imported, or may have
        self.exit: int | None = None  # unknown if its fork server was killed too

    def suits(self, order: Order) -> bool:
        """Whether it has imported no other version of what the order uses: a process imports a module once."""
        return all(self.sent.get(source.module, source) == source for source in order.code.sources)

    def give(self, order: Order, store: Store) -> None:
        plain = {**order.to_plain(known=self.sent), "store": str(store.root)}
        self.sent |= {source.module: source for source in order.code.sources}
        with contextlib.suppress(OSError):  # it is dead, as reading will show
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
        [sys.executable, "-P", "-m", "rote.laboratory.worker", how, str(theirs.fileno())],  # -P: not the current folder
        stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=_environment(),
        start_new_session=True,  # Ctrl-C reaches the supervisor alone, which passes on one signal
    )  # fmt: skip


def _environment() -> dict[str, str]:
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(_folders())}


def _folders() -> list[str]:
    """Where workers find modules: where we do, without the folders that Python has added by itself (the current one,
    that of a script). What is there and takes part in a run is sent, and nothing else is imported from there."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    added = {os.getcwd(), *([os.path.dirname(os.path.abspath(script))] if script else [])}
    named = {os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder}
    ours = str(Path(__file__).parents[2])  # the package itself must be found, wherever it is
    folders = [folder for folder in filter(None, sys.path) if os.path.abspath(folder) not in added - named]
    return folders if ours in folders else [*folders, ours]


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    process.terminate()
    process.wait()
