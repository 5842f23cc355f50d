"""What the server may touch: the store (to read), opened models, bounded pools for computing and for training."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import ParamSpec, TypeVar

from fastapi import Request

from rote.explorer.messages import BusyError, TimeLimitError
from rote.explorer.shelf import Shelf
from rote.store import Store

P = ParamSpec("P")
R = TypeVar("R")

WORKERS = 2  # computations at a time
WAITING = 96  # and so many that wait for one of them
JOBS = 4  # training jobs at a time
SECONDS = 60.0  # for one computation, waiting included


class Workbench:
    """``compute`` is for routes that answer at once, ``job`` for those that stream for as long as they train."""

    def __init__(self, store: Store | None = None, shelf: Shelf | None = None, *, seconds: float = SECONDS) -> None:
        self.store = store or Store()
        self.shelf = shelf or Shelf(self.store)
        self.seconds = seconds
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="explorer")
        self._places = threading.BoundedSemaphore(WORKERS + WAITING)
        self._jobs = threading.BoundedSemaphore(JOBS)
        self._closing: list[Callable[[], None]] = []

    def compute(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """``function(...)`` in the pool. Out of time, it is given up; its place is free when it ends."""
        if not self._places.acquire(blocking=False):
            raise BusyError("The explorer is busy with many requests. Try again in a moment.")
        future = self._pool.submit(function, *args, **kwargs)
        future.add_done_callback(lambda _: self._places.release())
        try:
            return future.result(self.seconds)
        except FutureTimeoutError:
            if not future.cancel() and future.done():  # it was the function's own
                raise
            raise TimeLimitError(f"Not done within {self.seconds:g} seconds. Ask for less, or try again.") from None

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

        def load() -> None:
            import rote.analyses  # noqa: F401

        self._pool.submit(load)

    def on_close(self, action: Callable[[], None]) -> None:
        """To be done when the server ends."""
        self._closing.append(action)

    def close(self) -> None:
        """End the server's work: what waits is given up, what is being computed is waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for action in self._closing:
            action()
        self._pool.shutdown(wait=True)


def workbench(request: Request) -> Workbench:
    found: Workbench = request.app.state.workbench
    return found
