"""What workers have to do: orders, and the queue of those that are not done yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rote.outside import Code
from rote.store import Request

ATTEMPTS = 3  # of a run whose worker dies
LOCKED_AGAIN = 0.5  # seconds until a run is tried again that another process is writing


@dataclass(frozen=True)
class Order:
    request: Request
    passed: dict[str, Any]
    device: str
    code: Code = field(default_factory=Code)  # from outside the package
    needs: tuple[Request, ...] = ()  # runs that this one reads when they are finished

    @property
    def label(self) -> str:
        seeds = self.request.seeds
        which = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
        told = f", {self.request.label}" if self.request.label else ""
        return f"{self.request.study} {self.request.part}{told}, {which}"

    def to_plain(self, known: Collection[str] = ()) -> dict[str, Any]:
        """Without the sources of modules that are known where it goes."""
        return {
            "request": self.request.to_plain(), "passed": self.passed, "device": self.device,
            "code": self.code.to_plain(known), "needs": [need.to_plain() for need in self.needs],
        }  # fmt: skip

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Order:
        return cls(
            Request.from_plain(plain["request"]), plain["passed"], plain["device"], Code.from_plain(plain["code"]),
            tuple(Request.from_plain(need) for need in plain["needs"]),
        )  # fmt: skip


class Orders:
    """Orders that wait, for several threads; each is taken once, unless it is put back, and is settled once. One that
    needs others of them is given when these are settled, and fails for the reason of one of these that failed."""

    def __init__(self, orders: Iterable[Order], failures: Mapping[Request, str] | None = None) -> None:
        """``failures``: runs that some of these may need and that are known to have failed, with the reasons."""
        self._waiting = [(0.0, order) for order in orders]
        self.requests = {order.request for _, order in self._waiting}
        self._unsettled = set(self.requests)
        self.total = len(self._waiting)
        self.failures: dict[Request, str] = dict(failures or {})
        self._changed = threading.Condition()
        self._stopped = False
        for request in list(self.failures):
            self._fail_what_needs(request)

    def waiting(self) -> list[Order]:
        """Those that nobody has taken."""
        return [order for _, order in self._waiting]

    def are_settled(self, requests: Iterable[Request]) -> bool:
        """Whether none of these is still to be done."""
        with self._changed:
            return self._unsettled.isdisjoint(requests)

    @property
    def settled(self) -> int:
        return self.total - len(self._unsettled)

    def take(self, *, wait: bool) -> Order | None:
        """The next order. None if there is none now, or, having waited, none any more: all are settled."""
        with self._changed:
            while True:
                now, soonest = time.monotonic(), float("inf")
                for place, (when, order) in enumerate(self._waiting):
                    if self._unsettled.isdisjoint(order.needs):
                        if when <= now:
                            del self._waiting[place]
                            return order
                        soonest = min(soonest, when)
                if not wait or not self._unsettled or self._stopped:
                    return None
                self._changed.wait(None if soonest == float("inf") else soonest - now)

    def put_back(self, order: Order, delay: float = 0.0) -> None:
        with self._changed:
            if not self._stopped:
                self._waiting.insert(0, (time.monotonic() + delay, order))
                self._changed.notify_all()

    def settle(self, order: Order, failure: str | None = None) -> None:
        """It is finished, or has failed for this reason, and with it what needs it."""
        with self._changed:
            self._unsettled.discard(order.request)
            if failure is not None:
                self.failures[order.request] = failure
                self._fail_what_needs(order.request)
            self._changed.notify_all()

    def _fail_what_needs(self, request: Request) -> None:
        for item in [item for item in self._waiting if request in item[1].needs]:
            if item in self._waiting:  # not yet failed with another
                self._waiting.remove(item)
                self.settle(item[1], self.failures[request])

    def stop(self) -> None:
        """No order is given any more, and nobody waits for one."""
        with self._changed:
            self._waiting, self._stopped = [], True
            self._changed.notify_all()
