"""Ctrl-C and SIGTERM end a run after its current step; a second one ends it at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Stop:
    requested = False


@contextlib.contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """``stop.requested`` becomes true at the first signal. Outside the main thread signals are not ours to take."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def request(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True

    earlier = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
