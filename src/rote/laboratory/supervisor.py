"""Runs on this machine: worker processes perform one after another; one that dies is replaced and its run taken up
again from its checkpoint, three times at most."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from rote.errors import InterruptedRunError, RunFailedError, StoreError
from rote.laboratory.orders import ATTEMPTS, LOCKED_AGAIN, Order, Orders
from rote.laboratory.processes import WorkerProcess, starter
from rote.laboratory.progress import Display
from rote.store import Request, Store


class Supervisor:
    def __init__(self, store: Store, workers: int, display: Display) -> None:
        self.store, self.workers, self.display = store, workers, display
        self.deaths: Counter[Request] = Counter()
        self.stopping = threading.Event()
        self.living: set[WorkerProcess] = set()
        self.problem: BaseException | None = None

    def perform(self, orders: Orders, turn: Callable[[], None] = lambda: None) -> None:
        """Perform all. Ctrl-C stops each after its current step. ``turn`` is called several times a second."""
        self.orders = orders
        self.all = self.display.overall(orders.total)
        lines = [f"worker {number + 1}" for number in range(min(self.workers, orders.total))]
        threads = [threading.Thread(target=self._work, args=(line,)) for line in lines]
        with sigterm_as_ctrl_c():
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    while thread.is_alive():  # with a timeout, so that Ctrl-C is noticed
                        thread.join(timeout=0.2)
                        turn()
            except KeyboardInterrupt:
                self.stop()
                for thread in threads:
                    if thread.ident is not None:  # it may have come before all were started
                        thread.join()
                raise InterruptedRunError("Stopped; every run keeps its last step.") from None
            finally:
                self.all.remove()
        if self.problem is not None:
            raise self.problem

    def stop(self) -> None:
        self.stopping.set()
        self.orders.stop()
        for worker in list(self.living):
            worker.stop()
        starter.close()  # which may still be importing torch for a worker

    def _work(self, name: str) -> None:
        try:
            _Shift(self, name).work()
        except BaseException as error:  # a bug: the other threads must not wait for this one for ever
            self.problem = error
            self.stop()

    def settle(self, order: Order, failure: str | None = None) -> None:
        self.orders.settle(order, failure)
        self.all.advance(self.orders.settled, self.orders.total)

    def died(self, order: Order, code: int | None) -> None:
        """The worker that performed this order is dead: once more, or enough."""
        how = "exit code unknown" if code is None else f"exit code {code}"
        self.deaths[order.request] += 1
        if self.deaths[order.request] < ATTEMPTS:
            self.display.say(f"The worker of {order.label} died ({how}); its run is taken up again.")
            self.orders.put_back(order)
            return
        reason = f"Its worker died {ATTEMPTS} times ({how})."
        mark_failed(self.store, order, reason)
        self.settle(order, reason)


class _Shift:
    """What one thread does: it has one worker process, and the next when that dies, and gives it orders."""

    def __init__(self, supervisor: Supervisor, name: str) -> None:
        self.supervisor, self.orders = supervisor, supervisor.orders
        self.line = supervisor.display.line(name)
        self.worker: WorkerProcess | None = None
        self.current: Order | None = None
        self.performed: dict[str, Order] = {}  # and not durable yet

    def work(self) -> None:
        while True:
            order = self.orders.take(wait=False)
            if order is None and self.performed:
                self._listen()  # what it has performed may come to nothing, and then there is more to do
            elif order is None and (order := self.orders.take(wait=True)) is None:
                break
            if order is not None:
                self._give(order)
        self._end()
        self.line.remove()

    def _give(self, order: Order) -> None:
        if self.worker is None:
            self.line.show("starting")
            self.worker = starter.worker()
            self.supervisor.living.add(self.worker)
        if self.supervisor.stopping.is_set():
            return
        self.current = order
        self.worker.give(order, self.supervisor.store)
        self.line.show(order.label)
        while self.current is not None:
            self._listen()
        self.line.show("idle")

    def _listen(self) -> None:
        """One message of the worker, or its death."""
        assert self.worker is not None
        message = self.worker.read()
        if message is None:
            self._bury()
        elif "status" in message:
            order = self.performed.pop(message["run"], None)
            if order is None:
                order, self.current = self.current, None
            assert order is not None
            assert order.request.id == message["run"]
            self._ended(order, message["status"], message.get("error", ""))
        else:
            self.line.advance(message["done"], message["total"])

    def _ended(self, order: Order, status: str, error: str) -> None:
        if status == "performed":
            self.performed[order.request.id] = order
        elif status == "locked":
            self.line.show(f"waiting for {order.label}, which another process is computing")
            self.orders.put_back(order, LOCKED_AGAIN)
        elif status == "interrupted" and not self.supervisor.stopping.is_set():  # by a signal that was not ours
            self.supervisor.died(order, -signal.SIGTERM)
        else:
            self.supervisor.settle(order, error if status == "failed" else None)

    def _bury(self) -> None:
        assert self.worker is not None
        self.supervisor.living.discard(self.worker)
        self.worker.close()
        code, self.worker = self.worker.exit, None
        performed, self.performed, current, self.current = self.performed, {}, self.current, None
        guilty = [current] if current else list(performed.values())
        if self.supervisor.stopping.is_set():
            return
        for order in performed.values():
            if order not in guilty:
                self.orders.put_back(order)
        for order in guilty:
            self.supervisor.died(order, code)

    def _end(self) -> None:
        """Let the worker make durable what it has done."""
        if self.worker is not None:
            self.worker.dismiss()
            while self.worker is not None:
                self._listen()


def mark_failed(store: Store, order: Order, reason: str) -> None:
    """In the record, where whoever looks for the run will read it."""
    try:
        with store.open(order.request, order.passed, again=False):
            raise RunFailedError(reason)
    except (StoreError, RunFailedError):  # also: written or finished by another process meanwhile
        return


@contextlib.contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """In the main thread; others get no signals and may not ask for them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)
