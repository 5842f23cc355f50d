"""Many short runs made durable together: while one sync of the file system waits for the disk, further runs end, and
the next sync is for all of them. A run is called finished after its results are durable, as when it is alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from rote.errors import StoreError
from rote.store.files import sync_file_system
from rote.store.run import Run

WAITING = 256  # runs that may have ended and not be durable; more of them wait

Told = Callable[[Run, StoreError | None], None]


class Commits:
    """``told(run, error)`` is called for each run once it is finished in the store, or could not be."""

    def __init__(self, root: Path, told: Told) -> None:
        self.root, self.told = root, told
        self._ended: list[tuple[Run, contextlib.ExitStack]] = []
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Returns when every run is durable, record and all."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def add(self, run: Run, held: contextlib.ExitStack) -> None:
        """``held`` has the run's lock, which is given up when the run is finished."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._ended) < WAITING)
            self._ended.append((run, held))
            self._changed.notify_all()

    def commit(self) -> None:
        """One sync, for all runs that have ended by now; it also makes the records durable that the last one wrote."""
        with self._changed:
            ended, self._ended = self._ended, []
            self._changed.notify_all()
        problem: StoreError | None = None
        try:
            sync_file_system(self.root)
        except StoreError as error:
            problem = error
        for run, held in ended:
            with held:
                self.told(run, problem or _problem(run))

    def _go_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._closing)
                last = self._closing and not self._ended
            self.commit()
            if last:
                return


def _problem(run: Run) -> StoreError | None:
    try:
        run.commit()
    except StoreError as error:
        return error
    return None
