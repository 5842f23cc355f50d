"""Progress of long work: bars with the time left on a terminal, plain lines elsewhere, nothing when nobody looks."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINE_EVERY = 10.0  # seconds between plain lines of one piece of work


class Display:
    """``with Display(console) as display: advance = display.track("plane random"); advance(done, total)``"""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console
        self._bars: Progress | None = None
        if console is not None and console.is_terminal:
            parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bars = Progress(*parts, console=console, transient=True)

    def __enter__(self) -> Display:
        if self._bars:
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bars:
            self._bars.stop()

    def say(self, text: str) -> None:
        if self.console:
            self.console.print(text, highlight=False, markup=False)

    def track(self, label: str) -> Callable[[int, int], None]:
        """A function to call with (steps done, steps in all)."""
        if self._bars is not None:
            return self._bar(self._bars, label)
        return self._lines(label)

    def _bar(self, bars: Progress, label: str) -> Callable[[int, int], None]:
        bar = bars.add_task(label, total=None)

        def advance(done: int, total: int) -> None:
            bars.update(bar, completed=done, total=total, visible=done < total)

        return advance

    def _lines(self, label: str) -> Callable[[int, int], None]:
        began: tuple[float, int] | None = None
        said = time.monotonic()

        def advance(done: int, total: int) -> None:
            nonlocal began, said
            now = time.monotonic()
            began = began or (now, done)
            if began[1] < done < total and now - said >= LINE_EVERY:
                said = now
                left = (now - began[0]) * (total - done) / (done - began[1])
                self.say(f"{label}: {done} of {total}, about {left:.0f} s left")

        return advance
