"""Training jobs of the playground: a bounded number, each a session that one page steps, plays and changes.

A job ends when its page says so, when the connection over which it plays is closed, and when nobody has asked for it
for a quarter of an hour; a job that has been still for a minute gives its place to one that is started.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio.to_thread

from rote.errors import UnknownNameError
from rote.explorer.messages import BusyError
from rote.explorer.plane_settings import PlaneSettings
from rote.explorer.workbench import Workbench

if TYPE_CHECKING:
    from rote.explorer.plane_session import PlaneSession

IDLE_SECONDS = 900.0  # after which a job that nobody asks for ends
STILL_SECONDS = 60.0  # after which it may be ended for another one
FRAME_SECONDS = 0.05  # between two frames of a job that plays
TRAIN_SECONDS = 0.03  # of these for updates: a change must be seen within a tenth of a second
STEP_SECONDS = 20.0  # for one request of many updates


class Job:
    """A session and its place among the jobs. Calls from several threads wait for each other."""

    def __init__(self, settings: PlaneSettings, place: contextlib.ExitStack) -> None:
        from rote.explorer.plane_session import PlaneSession

        self.id = secrets.token_urlsafe(12)
        self.session: PlaneSession = PlaneSession(settings)
        self.used, self.ended = time.monotonic(), False
        self.playing = 0  # the number of the latest play; 0: paused
        self._plays = 0
        self._place, self._lock = place, threading.Lock()

    def step(self, updates: int, focus: int | None, seconds: float = STEP_SECONDS) -> dict[str, Any]:
        with self._lock:
            self.used = time.monotonic()
            self.session.advance(updates, seconds)
            return self.session.frame(focus)

    def change(self, settings: PlaneSettings, focus: int | None) -> dict[str, Any]:
        with self._lock:
            self.used = time.monotonic()
            restarted = self.session.change(settings)
            return {"restarted": restarted, **self._seen(focus)}

    def reset(self, focus: int | None) -> dict[str, Any]:
        with self._lock:
            self.used = time.monotonic()
            self.session.restart()
            return self._seen(focus)

    def look(self, focus: int | None) -> dict[str, Any]:
        with self._lock:
            self.used = time.monotonic()
            return self._seen(focus)

    def _seen(self, focus: int | None) -> dict[str, Any]:
        return {"frame": self.session.frame(focus), "points": self.session.points()}

    async def play(self, updates: int, frames: int, focus: int | None) -> AsyncIterator[dict[str, Any]]:
        """Frames, a few updates apart, until so many were made, the job is paused, or another play begins."""
        self._plays += 1
        self.playing = mine = self._plays
        for _ in range(frames):
            begun = time.monotonic()
            if self.ended or self.playing != mine:
                return
            yield await anyio.to_thread.run_sync(self.step, updates, focus, TRAIN_SECONDS)
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
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def start(self, settings: PlaneSettings) -> Job:
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
                job = Job(settings, place)
            except BaseException:
                place.close()
                raise
            self._jobs[job.id] = job
            return job

    def find(self, key: str) -> Job:
        with self._lock:
            self._sweep(IDLE_SECONDS)
            if key not in self._jobs:
                raise UnknownNameError("training job", key[:40], (), ": it has ended. Reset to start another")
            return self._jobs[key]

    def stop(self, job: Job) -> None:
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
