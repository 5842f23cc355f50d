"""How many connections there may be, and how long one may hold its place without sending or reading.

What a request may take is bounded by ``safety``. Here it is the connection itself: whoever can reach the port can open
connections and say nothing, send a header one byte at a time, or ask for a stream and never read it.
"""

from __future__ import annotations

import asyncio
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 512  # connections, if the process may open twice as many files
TURN_SECONDS = 20  # for a client to send the whole head of a request, and to read any of what waits for it
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    b'{"error":"The explorer has too many connections. Try again in a few seconds."}'
)


def most_connections() -> int:
    """Half of the files that this process may open: the others are for runs, models and whatever else it does."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else max(1, min(MOST, files // 2))


class Connection(H11Protocol):
    """Cut off when it has been the client's turn for too long. When there are too many, the one makes room whose
    client's turn it has been for longest."""

    since: float | None = None  # the client's turn: for the head of a request, or for reading; None: it is ours
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._clients_turn()
        if len(self.connections) > most_connections():
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._our_turn()

    def handle_events(self) -> None:
        super().handle_events()
        if self._answering and not self.flow.write_paused:
            self._our_turn()

    def on_response_complete(self) -> None:
        self._clients_turn()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._clients_turn()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._answering:
            self._our_turn()

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _our_turn(self) -> None:
        self.since = None
        if self._timer is not None:
            self._timer.cancel()

    def _clients_turn(self) -> None:
        self._our_turn()
        self.since = time.monotonic()
        self._timer = self.loop.call_later(TURN_SECONDS, self._time_is_up, self.transport.get_write_buffer_size())

    def _time_is_up(self, unread: int) -> None:
        if self.transport.get_write_buffer_size() < unread:  # a slow reader is none that has stopped
            self._clients_turn()
        else:
            self._cut()

    def _make_room(self) -> None:
        others = [other for other in self.connections if isinstance(other, Connection) and other.since is not None]
        longest = min(others, key=lambda other: other.since or 0.0)  # at least this one
        if longest is self:
            self.transport.write(REFUSAL)
        longest._cut()

    def _cut(self) -> None:
        """At once: closing would wait until all was read."""
        self.connections.discard(self)
        self.transport.abort()
