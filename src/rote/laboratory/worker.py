"""Processes that perform runs: one JSON line in for each, JSON lines out with its progress and how it ended.

    in:  {"store": "...", "request": {...}, "passed": {...}, "device": "cpu", "code": {...}}
    out: {"run": "<id>", "done": 10, "total": 100} ... {"run": "<id>", "status": "performed"}     the next may come
         {"run": "<id>", "status": "finished"}                                                   it is durable

What a run produces goes into the store, never through the socket. A fork server is a process that has imported torch,
which takes seconds, and forks a worker whenever it is sent a socket for one; it says there how that worker ended.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from typing import Any

from rote.errors import InterruptedRunError, RoteError, RunFinishedError, RunLockedError, StoreError
from rote.laboratory.orders import Order
from rote.laboratory.perform import perform
from rote.laboratory.sent import sent
from rote.store import Run, Store
from rote.store.commit import Commits

REPORT_EVERY = 0.2  # seconds


class Worker:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.store: Store | None = None
        self._one_at_a_time = threading.Lock()
        self._reported = 0.0
        self._run = ""
        self._performing = False
        self._early: list[dict[str, Any]] = []  # what became durable before it was said to be performed

    def serve(self) -> None:
        """Perform one order after another, until there are no more or SIGTERM comes."""
        signal.signal(signal.SIGTERM, _interrupt)
        self._say({"number": os.getpid()})
        try:
            with contextlib.suppress(KeyboardInterrupt), self.connection.makefile("r") as lines:
                for line in lines:
                    plain = json.loads(line)
                    order = Order.from_plain(plain)
                    self._run, self._performing = order.request.id, True
                    answer = {"run": order.request.id, **self._answer(order, plain["store"])}
                    with self._one_at_a_time:
                        self._performing, early, self._early = False, self._early, []
                        for message in (answer, *early):
                            self._send(message)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what is done is made durable
            self._leave()

    def _enter(self, root: str) -> Store:
        """The store of an order, mostly that of the last one."""
        if self.store is None or str(self.store.root) != root:
            self._leave()
            self.store = Store(root)
            self.store.commits = Commits(self.store.root, self._committed)
            self.store.commits.start()
        return self.store

    def _leave(self) -> None:
        if self.store is not None and self.store.commits is not None:
            self.store.commits.close()

    def _answer(self, order: Order, root: str) -> dict[str, Any]:
        try:
            sent.load(order.code)
            perform(self._enter(root), order, order.device, self._report)
            return {"status": "performed"}
        except RunFinishedError:
            return {"status": "finished"}
        except RunLockedError as error:
            return {"status": "locked", "error": str(error)}
        except (InterruptedRunError, KeyboardInterrupt) as error:
            return {"status": "interrupted", "error": str(error)}
        except RoteError as error:
            return {"status": "failed", "error": str(error)}
        except Exception as error:  # a bug in a study must not take the other runs down; the record has the traceback
            return {"status": "failed", "error": f"{type(error).__name__}: {error}"}

    def _report(self, done: int, total: int) -> None:
        if time.monotonic() - self._reported > REPORT_EVERY:
            self._reported = time.monotonic()
            self._say({"run": self._run, "done": done, "total": total})

    def _committed(self, run: Run, error: StoreError | None) -> None:
        ended = {"status": "finished"} if error is None else {"status": "failed", "error": str(error)}
        message = {"run": run.request.id, **ended}
        with self._one_at_a_time:
            if self._performing and run.request.id == self._run:
                self._early.append(message)
            else:
                self._send(message)

    def _say(self, message: dict[str, Any]) -> None:
        with self._one_at_a_time:
            self._send(message)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:  # the supervisor is gone: stop after this step, as if it had asked
            os.kill(os.getpid(), signal.SIGTERM)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


class ForkServer:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.workers: dict[int, tuple[int, socket.socket]] = {}  # descriptor of the process -> its number, its socket

    def serve(self) -> None:
        """Fork until nobody can ask any more."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.control, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is not self.control:
                        selector.unregister(key.fileobj)
                        self._bury(key.fd)
                    elif (process := self._fork()) is None:
                        return
                    else:
                        selector.register(process, selectors.EVENT_READ)

    def _fork(self) -> int | None:
        message, descriptors, _, _ = socket.recv_fds(self.control, 1, 1)
        if not message:
            return None
        connection = socket.socket(fileno=descriptors[0])
        number = os.fork()
        if number == 0:
            try:
                self._forget_the_others()
                Worker(connection).serve()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0)
        process = os.pidfd_open(number)
        self.workers[process] = (number, connection)
        return process

    def _forget_the_others(self) -> None:
        """A socket ends when its last holder closes it: a worker must not hold those of others."""
        self.control.close()
        for process, (_, connection) in self.workers.items():
            os.close(process)
            connection.close()

    def _bury(self, process: int) -> None:
        number, connection = self.workers.pop(process)
        os.close(process)
        code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        with connection, contextlib.suppress(OSError):
            connection.sendall(json.dumps({"exit": code}).encode() + b"\n")


def main(how: str, descriptor: str) -> None:
    os.dup2(2, 1)  # what a study prints is not the answer of the command
    connection = socket.socket(fileno=int(descriptor))
    if how == "worker":
        Worker(connection).serve()
        return
    gc.disable()  # what is imported stays: looking for garbage among it is a tenth of the time
    importlib.import_module("rote.training.loop")  # torch, and what most runs need of ours
    gc.freeze()  # nor will a worker look there, and copy the pages that it shares
    gc.enable()
    ForkServer(connection).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
