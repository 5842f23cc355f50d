"""Training jobs of the playgrounds: a bounded number, each a session that one page steps, plays and changes.

A job ends when its page says so, when the connection over which it plays is closed, and when nobody has asked for it
for a quarter of an hour; a job that has been still for a minute gives its place to one that is started.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

import anyio.to_thread
from pydantic import ConfigDict, Field

from rote.errors import UnknownNameError
from rote.explorer.messages import Body, BusyError
from rote.explorer.workbench import Workbench

IDLE_SECONDS = 900.0  # after which a job that nobody asks for ends
STILL_SECONDS = 60.0  # after which it may be ended for another one
FRAME_SECONDS = 0.05  # between two frames of a job that plays
TRAIN_SECONDS = 0.03  # of these for updates: a change must be seen within a tenth of a second
STEP_SECONDS = 20.0  # for one request of many updates


class Look(Body):
    """What of a session is shown in detail. The plane has networks alone."""

    model_config = ConfigDict(frozen=True)

    network: Annotated[int, Field(ge=0, le=7)] = 0
    item: Annotated[int, Field(ge=0, le=399)] = 0  # known items first, then new ones
    at: Annotated[int | None, Field(ge=0, le=99, description="the step of the loss; the last one that is asked")] = None


class Session(Protocol):
    """Networks that learn a few updates at a time. The settings are of the session's own kind; it alone reads them."""

    def advance(self, updates: int, seconds: float) -> None: ...

    def change(self, settings: Any) -> bool: ...

    def restart(self) -> None: ...

    def frame(self, look: Look | None) -> dict[str, Any]: ...

    def seen(self, look: Look | None) -> dict[str, Any]: ...


S = TypeVar("S", bound=Session)


class Job(Generic[S]):
    """A session and its place among the jobs. Calls from several threads wait for each other."""

    def __init__(self, session: S, place: contextlib.ExitStack) -> None:
        self.id = secrets.token_urlsafe(12)
        self.session = session
        self.used, self.ended = time.monotonic(), False
        self.playing = 0  # the number of the latest play; 0: paused
        self._plays = 0
        self._place, self._lock = place, threading.Lock()

    def ask(self, question: Callable[[S], dict[str, Any]]) -> dict[str, Any]:
        """What the session answers, while nobody else asks it."""
        with self._lock:
            self.used = time.monotonic()
            return question(self.session)

    def step(self, updates: int, look: Look | None, seconds: float = STEP_SECONDS) -> dict[str, Any]:
        def stepped(session: S) -> dict[str, Any]:
            session.advance(updates, seconds)
            return session.frame(look)

        return self.ask(stepped)

    def change(self, settings: Any, look: Look | None) -> dict[str, Any]:
        return self.ask(lambda session: {"restarted": session.change(settings), **session.seen(look)})

    def reset(self, look: Look | None) -> dict[str, Any]:
        def begun_again(session: S) -> dict[str, Any]:
            session.restart()
            return session.seen(look)

        return self.ask(begun_again)

    def look(self, look: Look | None) -> dict[str, Any]:
        return self.ask(lambda session: session.seen(look))

    async def play(self, updates: int, frames: int, look: Look | None) -> AsyncIterator[dict[str, Any]]:
        """Frames, a few updates apart, until so many were made, the job is paused, or another play begins."""
        self._plays += 1
        self.playing = mine = self._plays
        for _ in range(frames):
            begun = time.monotonic()
            if self.ended or self.playing != mine:
                return
            yield await anyio.to_thread.run_sync(self.step, updates, look, TRAIN_SECONDS)
            await asyncio.sleep(max(0.0, begun + FRAME_SECONDS - time.monotonic()))
        if self.playing == mine:
            self.playing = 0

    def pause(self) -> None:
        self.playing = 0

    def end(self) -> None:
        """Free the place; a second time does nothing."""
        self.ended = True
        self._place.close()


class Jobs:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._jobs: dict[str, Job[Any]] = {}
        self._lock = threading.Lock()

    def start(self, begin: Callable[[], S]) -> Job[S]:
        """A job with the session that ``begin`` makes, once there is a place for it."""
        with self._lock:
            self._sweep(IDLE_SECONDS)
            place = contextlib.ExitStack()
            try:
                place.enter_context(self._bench.job())
            except BusyError:
                if not self._sweep(STILL_SECONDS, most=1):
                    raise
                place.enter_context(self._bench.job())
            try:
                job = Job(begin(), place)
            except BaseException:
                place.close()
                raise
            self._jobs[job.id] = job
            return job

    def find(self, key: str, kind: type[S]) -> Job[S]:
        """The job of this key, if its session is of this kind."""
        with self._lock:
            self._sweep(IDLE_SECONDS)
            if key not in self._jobs or not isinstance(self._jobs[key].session, kind):
                raise UnknownNameError("training job", key[:40], (), ": it has ended. Reset to start another")
            return self._jobs[key]

    def stop(self, job: Job[Any]) -> None:
        with self._lock:
            if self._jobs.pop(job.id, None):
                job.end()

    def running(self) -> int:
        with self._lock:
            return len(self._jobs)

    def _sweep(self, seconds: float, most: int | None = None) -> int:
        """End what nobody has used for so long, the longest unused first; how many were ended."""
        now = time.monotonic()
        unused = [job for job in self._jobs.values() if not job.playing and now - job.used > seconds]
        for job in sorted(unused, key=lambda job: job.used)[:most]:
            del self._jobs[job.id]
            job.end()
        return len(unused[:most])


_OF: WeakKeyDictionary[Workbench, Jobs] = WeakKeyDictionary()


def jobs_of(bench: Workbench) -> Jobs:
    return _OF.setdefault(bench, Jobs(bench))


async def lines(bench: Workbench, job: Job[Any], updates: int, frames: int, look: Look | None) -> AsyncIterator[str]:
    """The frames of a job that plays, as lines of JSON. A reader that goes away ends the job."""
    whole = False
    try:
        async for frame in job.play(updates, frames, look):
            yield json.dumps(frame, allow_nan=False, separators=(",", ":")) + "\n"
            if bench.ending:
                break
        whole = True
    finally:
        if not whole:  # the reader has gone
            jobs_of(bench).stop(job)
