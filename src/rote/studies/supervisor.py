"""Worker processes: each performs one run after another; one that dies is replaced and its run taken up again."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rote.errors import InterruptedRunError
from rote.store import Request, Store
from rote.studies.progress import Display

ATTEMPTS = 3
# Two spinning threads on a busy machine are ten times slower than one that sleeps.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}


@dataclass(frozen=True)
class Order:
    request: Request
    passed: dict[str, Any]
    module: str  # that registers the study
    device: str


class Supervisor:
    def __init__(self, store: Store, workers: int, display: Display) -> None:
        self.store, self.workers, self.display = store, workers, display
        self.waiting: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self.failures: dict[Request, str] = {}
        self.stopping = threading.Event()
        self.processes: set[subprocess.Popen[str]] = set()

    def perform(self, orders: Sequence[Order]) -> dict[Request, str]:
        """Perform all; returns the reasons of those that failed. Ctrl-C stops each after its current step."""
        for order in orders:
            self.waiting.put(order)
        threads = [threading.Thread(target=self._work) for _ in range(min(self.workers, len(orders)))]
        earlier = signal.signal(signal.SIGTERM, _interrupt)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():  # with a timeout, so that Ctrl-C is noticed
                    thread.join(timeout=0.2)
        except KeyboardInterrupt:
            self.stopping.set()
            for process in list(self.processes):
                process.send_signal(signal.SIGTERM)
            for thread in threads:
                thread.join()
            raise InterruptedRunError("Stopped; every run keeps its last step.") from None
        finally:
            signal.signal(signal.SIGTERM, earlier)
        return self.failures

    def _work(self) -> None:
        process: subprocess.Popen[str] | None = None
        try:
            while not self.stopping.is_set():
                try:
                    order = self.waiting.get_nowait()
                except queue.Empty:
                    return
                for _attempt in range(ATTEMPTS):
                    process = process or self._start()
                    answer = self._ask(process, order)
                    if answer is not None or self.stopping.is_set():
                        break
                    code = process.wait()
                    self.processes.discard(process)
                    process = None
                    self.display.say(
                        f"The worker of {_label(order)} died (exit code {code}); its run is taken up again."
                    )
                else:
                    self.failures[order.request] = f"Its worker died {ATTEMPTS} times (exit code {code})."
                    continue
                if answer is not None and answer["status"] == "failed":
                    self.failures[order.request] = answer["error"]
        finally:
            if process is not None:
                self._end(process)

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "rote.studies.worker", str(self.store.root)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C reaches the supervisor alone, which passes on one signal
        )  # fmt: skip
        self.processes.add(process)
        return process

    def _ask(self, process: subprocess.Popen[str], order: Order) -> dict[str, Any] | None:
        """Give one order and follow it; None if the process died."""
        assert process.stdin is not None
        assert process.stdout is not None
        plain = {"request": order.request.to_plain(), "passed": order.passed, "module": order.module}
        try:
            process.stdin.write(json.dumps({**plain, "device": order.device}) + "\n")
            process.stdin.flush()
        except OSError:
            return None
        advance = self.display.track(_label(order))
        for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if "status" in message:
                advance(1, 1)
                return message
            advance(message["done"], message["total"])
        return None

    def _end(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()  # the worker's loop ends
        process.wait()
        process.stdout.close()
        self.processes.discard(process)


def _label(order: Order) -> str:
    seeds = order.request.seeds
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
    return f"{order.request.study} {order.request.part}, {which}"


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
