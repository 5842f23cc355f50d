"""What workers have to do: orders, and the queue of those that are not done yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rote.store import Request

ATTEMPTS = 3  # of a run whose worker dies
LOCKED_AGAIN = 0.5  # seconds until a run is tried again that another process is writing


@dataclass(frozen=True)
class Order:
    request: Request
    passed: dict[str, Any]
    module: str  # that registers the study
    device: str
    needs: tuple[Request, ...] = ()  # finished runs that this one reads

    @property
    def label(self) -> str:
        seeds = self.request.seeds
        which = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
        return f"{self.request.study} {self.request.part}, {which}"

    def to_plain(self) -> dict[str, Any]:
        return {
            "request": self.request.to_plain(), "passed": self.passed, "module": self.module, "device": self.device
        }  # fmt: skip


class Orders:
    """Orders that wait, for several threads; each is taken once, unless it is put back, and is settled once."""

    def __init__(self, orders: Iterable[Order]) -> None:
        self._waiting = [(0.0, order) for order in orders]
        self._unsettled = self.total = len(self._waiting)
        self._changed = threading.Condition()
        self._stopped = False

    @property
    def settled(self) -> int:
        return self.total - self._unsettled

    def take(self, *, wait: bool) -> Order | None:
        """The next order. None if there is none now, or, having waited, none any more: all are settled."""
        with self._changed:
            while True:
                now = time.monotonic()
                for index, (when, order) in enumerate(self._waiting):
                    if when <= now:
                        del self._waiting[index]
                        return order
                if not wait or not self._unsettled or self._stopped:
                    return None
                soonest = min((when for when, _ in self._waiting), default=None)
                self._changed.wait(None if soonest is None else soonest - now)

    def put_back(self, order: Order, delay: float = 0.0) -> None:
        with self._changed:
            if not self._stopped:
                self._waiting.insert(0, (time.monotonic() + delay, order))
                self._changed.notify_all()

    def settle(self, order: Order) -> None:
        with self._changed:
            self._unsettled -= 1
            self._changed.notify_all()

    def stop(self) -> None:
        """No order is given any more, and nobody waits for one."""
        with self._changed:
            self._waiting, self._stopped = [], True
            self._changed.notify_all()
