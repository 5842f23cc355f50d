"""What the server may touch: the store (to read), opened models, bounded pools for computing and for training."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, ParamSpec, TypeVar

from fastapi import Request

from rote.explorer.catalog import Catalog
from rote.explorer.messages import BusyError, EndingError, TimeLimitError
from rote.store import Store

P = ParamSpec("P")
R = TypeVar("R")

WORKERS = 2  # computations at a time
WAITING = 96  # and so many that wait for one of them
JOBS = 4  # training jobs at a time
SECONDS = 60.0  # for one computation, waiting included
ENDING = "The explorer is being ended. Start it again: rote explore"


class Workbench:
    """``compute`` is for routes that answer at once, ``job`` for those that stream for as long as they train."""

    def __init__(
        self,
        store: Store | None = None,
        catalog: Catalog | None = None,
        *,
        seconds: float = SECONDS,
        patience: float | None = None,
    ) -> None:
        """``patience``: how long to wait, when it is closed, for what is being computed; None: until it is done."""
        self.store = store or Store()
        self.catalog = catalog or Catalog(self.store)
        self.seconds, self.patience = seconds, patience
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="explorer")
        self._places = threading.BoundedSemaphore(WORKERS + WAITING)
        self._jobs = threading.BoundedSemaphore(JOBS)
        self._closing: list[Callable[[], None]] = []
        self._ending: Future[None] = Future()  # done when the server is to end
        self._closer = threading.Thread(target=self._close, name="closing", daemon=True)

    @property
    def ending(self) -> bool:
        return self._ending.done()

    def compute(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """``function(...)`` in the pool. Out of time, it is given up; its place is free when it ends."""
        if not self._places.acquire(blocking=False):
            raise BusyError("The explorer is busy with many requests. Try again in a moment.")
        try:
            future = self._submit(function, *args, **kwargs)
        except EndingError:
            self._places.release()
            raise
        future.add_done_callback(lambda _: self._places.release())
        either: tuple[Future[Any], ...] = (future, self._ending)
        wait(either, self.seconds, FIRST_COMPLETED)
        if future.done():
            return future.result()
        future.cancel()
        if self.ending:
            raise EndingError(ENDING)
        raise TimeLimitError(f"Not done within {self.seconds:g} seconds. Ask for less, or try again.")

    @contextlib.contextmanager
    def job(self) -> Iterator[None]:
        """A place for one training job; held until the block ends."""
        if not self._jobs.acquire(blocking=False):
            raise BusyError(f"{JOBS} training jobs are running. Stop one of them first.")
        try:
            yield
        finally:
            self._jobs.release()

    def warm_up(self) -> None:
        """Import what computing needs while the page is being looked at."""
        with contextlib.suppress(EndingError):  # it is called by a clock, which may be late
            self._submit(importlib.import_module, "rote.analyses")

    def on_close(self, action: Callable[[], None]) -> None:
        """To be done when the server ends."""
        self._closing.append(action)

    def end(self) -> None:
        """What waits is given up, and who waits for an answer is told; a second time does nothing."""
        if not self.ending:
            self._ending.set_result(None)
            self._pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> bool:
        """End the server's work. Whether nothing is being computed any more, after waiting for it."""
        self.end()
        if self._closer.ident is None:
            self._closer.start()
        self._closer.join(self.patience)
        return not self._closer.is_alive()

    def _submit(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        try:
            return self._pool.submit(function, *args, **kwargs)
        except RuntimeError:  # the pool takes nothing more
            raise EndingError(ENDING) from None

    def _close(self) -> None:
        for action in self._closing:
            action()
        self._pool.shutdown(wait=True)


def workbench(request: Request) -> Workbench:
    found: Workbench = request.app.state.workbench
    return found
