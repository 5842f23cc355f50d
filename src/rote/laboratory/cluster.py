"""Runs on many machines: the same orders as on one, given to dask.distributed (``pip install 'rote[cluster]'``).

Workers that see the store's folder, locks included, write into it. Others compute in a folder of their own, and the
files of the run are sent back. A run whose worker is lost goes to another one; where the store is seen, from its last
checkpoint. Dask speaks pickle between its processes: the machines and the network must be trusted.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import queue
import re
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from rote.errors import InterruptedRunError, RunFailedError, StoreError, UsageError
from rote.laboratory import remote
from rote.laboratory.members import Members, call
from rote.laboratory.orders import ATTEMPTS, LOCKED_AGAIN, Order, Orders
from rote.laboratory.progress import Display, Line
from rote.laboratory.supervisor import mark_failed, sigterm_as_ctrl_c
from rote.store import Request, Store
from rote.store.parcel import pack, unpack

CONNECT = 5.0  # seconds to find the scheduler
RECONNECT = 300.0  # seconds that a scheduler may be away in the middle of the work
LOOK_EVERY = 1.0  # seconds between two looks at which workers there are
STOPPING = 60.0  # seconds for runs to end their step after Ctrl-C


def check_address(address: str) -> None:
    """What is wrong with it can be told before anything is imported."""
    if address != "slurm" and not re.fullmatch(r"(tcp|tls)://([^/:]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}", address):
        raise UsageError(f"Expected a scheduler as tcp://HOST:PORT or tls://HOST:PORT, or slurm. Got {address!r}.")


class Cluster:
    """``Cluster(store, "tcp://host:8786", display).perform(orders)``, as ``Supervisor`` does on one machine."""

    def __init__(self, store: Store, address: str, display: Display, workers: int | None = None) -> None:
        check_address(address)
        self.store, self.address, self.display, self.workers = store, address, display, workers
        self.name = secrets.token_hex(4)
        self.ended: queue.SimpleQueue[tuple[Order, Any]] = queue.SimpleQueue()
        self.lines: dict[str, Line] = {}
        self.deaths: Counter[Request] = Counter()
        self.members = Members(display.say)
        self.blind = False  # whether some worker does not see the store

    def check(self) -> None:
        """Is there a scheduler, and are its workers of our version? A UsageError before anything starts."""
        if self.address == "slurm":
            _jobqueue()
            return
        with _connected(self.address) as client:
            self.members.look(client)
            self.members.refuse_if_none_fits()

    def perform(self, orders: Orders, turn: Callable[[], None] = lambda: None) -> None:
        """Perform all. Ctrl-C stops each after its current step. ``turn`` is called again and again."""
        for order in orders.waiting():
            if order.code.stays:
                raise UsageError(f"No other machine can compute {order.label}: {order.code.stays}")
        self.orders = orders
        self.open: dict[str, Order] = {}
        self.all = self.display.overall(orders.total)
        with sigterm_as_ctrl_c(), self._token() as self.token, self._scheduler() as address:
            patience = 0.0
            while orders.settled < orders.total:
                with _connected(address, patience) as client:
                    self.members.forget()
                    self.members.look(client)
                    self.members.refuse_if_none_fits()
                    self._work(client, turn)
                patience = RECONNECT  # a scheduler that was there may be restarted
        self.all.remove()

    # One connection to a scheduler

    def _work(self, client: Any, turn: Callable[[], None]) -> None:
        """Until all are done, or the scheduler is gone."""
        client.subscribe_topic(f"rote-{self.name}", self._told)
        self.looked = time.monotonic()
        self.running: set[str] = set()
        self.futures: dict[str, Any] = {}
        self.later: list[tuple[float, Order]] = []
        try:
            if not self.members.able:
                self.display.say(f"Waiting for workers. On each machine: rote worker {client.scheduler.address}")
            for order in self.open.values():
                self._submit(client, order)
            while self.orders.settled < self.orders.total and client.status == "running":
                while (ready := self.orders.take(wait=False)) is not None:  # what it needs is there
                    self.open[ready.request.id] = ready
                    self._submit(client, ready)
                self._turn(client)
                turn()
        except KeyboardInterrupt:
            self._stop(client)
            raise InterruptedRunError("Stopped; every run keeps its last step.") from None
        finally:
            for line in self.lines.values():
                line.remove()
            self.lines.clear()
        if self.orders.settled < self.orders.total:
            self.display.say(f"Lost the scheduler at {self.address}; going on when it is back.")

    def _turn(self, client: Any) -> None:
        now = time.monotonic()
        if now - self.looked > LOOK_EVERY + len(self.members.fit) / 100:  # it takes longer to tell of many
            self._look(client)
        for when, order in list(self.later):
            if when <= now:
                self.later.remove((when, order))
                self._submit(client, order)
        with contextlib.suppress(queue.Empty):
            order, future = self.ended.get(timeout=0.2)
            if self.futures.get(order.request.id) is future:
                self._take(client, order, future)

    def _look(self, client: Any) -> bool:
        """Who can be given runs; those that have not begun are given out anew if that has changed."""
        self.looked = time.monotonic()
        try:
            changed = self.members.look(client)
        except (OSError, TimeoutError):  # the scheduler is gone, as will be noticed
            return False
        if changed:
            waiting = [order for name, order in self.open.items() if name in self.futures.keys() - self.running]
            client.cancel([self.futures.pop(order.request.id) for order in waiting])
            for order in waiting:
                self._submit(client, order)
        return changed

    def _submit(self, client: Any, order: Order) -> None:
        workers = None if self.members.all_able else sorted(self.members.able)
        if workers == []:
            self.later.append((time.monotonic() + LOCKED_AGAIN, order))
            return
        sent = None
        if self.blind:
            requests = [order.request, *order.needs]
            packed = [(request.to_plain(), pack(self.store.folder(request))) for request in requests]
            try:
                sent = client.scatter(packed, hash=False, workers=workers)
            except (OSError, TimeoutError):  # there is no worker at present, or it has just died
                self.later.append((time.monotonic() + LOCKED_AGAIN, order))
                return
        future = client.submit(
            remote.perform_order, self.name, str(self.store.root), self.token, remote.versions(), order.to_plain(),
            sent, pure=False, key=f"rote-{order.request.id}-{secrets.token_hex(4)}", workers=workers,
        )  # fmt: skip
        self.futures[order.request.id] = future
        future.add_done_callback(lambda future: self.ended.put((order, future)))

    def _take(self, client: Any, order: Order, future: Any) -> None:
        """What became of one order."""
        del self.futures[order.request.id]
        self.running.discard(order.request.id)
        if line := self.lines.pop(order.request.id, None):
            line.remove()
        if future.status == "cancelled":  # with its scheduler, or with the worker that alone had what was sent
            self.later.append((time.monotonic() + LOCKED_AGAIN, order))
            return
        if future.status == "error":
            error = future.exception()
            if self._look(client):  # its worker may be one of another version that has just joined
                self.later.append((0.0, order))
            else:
                self._fail(order, f"Its worker failed: {type(error).__name__}: {' '.join(str(error).split())}")
            return
        answer = future.result()
        status = answer["status"]
        if answer.get("files"):
            try:
                unpack(self.store, order.request, answer["files"])
            except StoreError as error:
                status, answer = "failed", {"error": str(error)}
        if status == "unseen":
            self.blind = True
            self.later.append((0.0, order))
        elif status == "locked":
            self.later.append((time.monotonic() + LOCKED_AGAIN, order))
        elif status == "refused":  # by a worker of another version that has just joined
            self._look(client)
            self.later.append((time.monotonic() + LOCKED_AGAIN, order))
        elif status in ("died", "interrupted"):
            self._died(order, answer)
        elif status == "failed":
            self._settle(order, answer["error"])
        else:
            self._settle(order)

    def _died(self, order: Order, answer: dict[str, Any]) -> None:
        self.deaths[order.request] += 1
        how = f"exit code {answer['exit']}" if answer.get("exit") is not None else "it was asked to stop"
        if self.deaths[order.request] < ATTEMPTS:
            self.display.say(f"The worker of {order.label} died ({how}); its run is taken up again.")
            self.later.append((0.0, order))
        else:
            self._fail(order, f"Its worker died {ATTEMPTS} times ({how}).")

    def _fail(self, order: Order, reason: str) -> None:
        mark_failed(self.store, order, reason)
        self._settle(order, reason)

    def _settle(self, order: Order, failure: str | None = None) -> None:
        del self.open[order.request.id]
        self.orders.settle(order, failure)
        self.all.advance(self.orders.settled, self.orders.total)

    def _told(self, event: tuple[float, dict[str, Any]]) -> None:
        """Progress, in the thread of dask's client."""
        message = event[1]
        order = self.open.get(message["run"])
        if order is None:
            return
        if message["run"] not in self.lines:
            self.running.add(message["run"])
            self.lines[message["run"]] = self.display.line(message["host"])
            self.lines[message["run"]].show(order.label)
        if message["total"]:
            self.lines[message["run"]].advance(message["done"], message["total"])

    def _stop(self, client: Any) -> None:
        """Runs that have begun end their step and answer; the others are not begun."""
        with contextlib.suppress(OSError, TimeoutError):
            call(client, remote.stop, self.members.able, self.name)
        end = time.monotonic() + STOPPING
        while self.running and client.status == "running" and time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                order, future = self.ended.get(timeout=0.2)
                self.running.discard(order.request.id)
                if future.status == "finished" and future.result().get("files"):
                    unpack(self.store, order.request, future.result()["files"])
        client.cancel(list(self.futures.values()))

    # Before and after

    @contextlib.contextmanager
    def _scheduler(self) -> Iterator[str]:
        """The address; for Slurm, workers as jobs, as the configuration of dask-jobqueue describes them."""
        if self.address != "slurm":
            yield self.address
            return
        with _jobqueue().SLURMCluster(**_slurm_settings()) as cluster:
            cluster.scale(jobs=self.workers or 1)
            yield cluster.scheduler_address

    @contextlib.contextmanager
    def _token(self) -> Iterator[str]:
        """A locked file: a worker that sees it, and that it is locked, can work in this store."""
        for path in self.store.root.glob(".shared-*.tmp"):  # of a command that was killed
            if not remote.sees(str(self.store.root), path.name):
                path.unlink(missing_ok=True)
        path = self.store.root / f".shared-{self.name}.tmp"  # a leftover, should we be killed
        with path.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield path.name
            finally:
                os.unlink(path)


@contextlib.contextmanager
def _connected(address: str, patience: float = 0.0) -> Iterator[Any]:
    end = time.monotonic() + patience
    dask = remote.installed_dask()
    remote.check_certificates(address, "client")
    while True:
        try:
            client = dask.Client(address, timeout=CONNECT, set_as_default=False)
            break
        except (OSError, TimeoutError) as error:
            if time.monotonic() > end:
                raise _unreachable(address, error, patience) from None
            time.sleep(0.5)
    try:
        yield client
    finally:
        client.close(timeout=CONNECT)


def _unreachable(address: str, error: Exception, patience: float) -> UsageError | RunFailedError:
    if patience:
        return RunFailedError(
            f"The scheduler at {address} has not come back for {patience:.0f} s. What is finished is kept; give the "
            "same command again to go on."
        )
    return UsageError(f"No scheduler answers at {address} ({type(error).__name__}). Start one with: {remote.SCHEDULER}")


def _slurm_settings() -> dict[str, Any]:
    """As configured, but workers import no file of the current folder, and the dashboard is for this machine only."""
    import dask.config

    python = dask.config.get("jobqueue.slurm.python", None) or sys.executable
    options = dask.config.get("jobqueue.slurm.scheduler-options", None) or {}
    return {"python": f"{python} -P", "scheduler_options": {"dashboard_address": "127.0.0.1:0", **options}}


def _jobqueue() -> Any:
    try:
        return importlib.import_module("dask_jobqueue")
    except ImportError:
        raise UsageError("--cluster slurm needs dask-jobqueue. Install it with: pip install dask-jobqueue") from None
