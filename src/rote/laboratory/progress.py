"""Progress of long work: bars with the time left on a terminal, plain lines elsewhere, nothing when nobody looks."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LINE_EVERY = 10.0  # seconds between plain lines of one piece of work


class Display:
    """``with Display(console) as display: advance = display.track("plane random"); advance(done, total)``"""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console
        self.bars: Progress | None = None
        if console is not None and console.is_terminal:
            parts = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self.bars = Progress(*parts, console=console, transient=True)

    def __enter__(self) -> Display:
        if self.bars:
            self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bars:
            self.bars.stop()

    def say(self, text: str) -> None:
        if self.console:
            self.console.print(text, highlight=False, markup=False)

    def track(self, label: str) -> Callable[[int, int], None]:
        """A function to call with (steps done, steps in all)."""
        line = self.line()
        line.show(label)

        def advance(done: int, total: int) -> None:
            line.advance(done, total)
            if done == total:
                line.remove()

        return advance

    def line(self, name: str = "") -> Line:
        """One line of the dashboard: what ``name`` is doing, how far it is, how long it will take."""
        return Line(self, name)

    def overall(self, runs: int) -> Line:
        """The line of all runs together, if there are several."""
        line = Line(self, "", shown=runs > 1)
        line.show("runs")
        line.advance(0, runs)
        return line


class Line:
    def __init__(self, display: Display, name: str, *, shown: bool = True) -> None:
        self.display, self.name = display, name
        self.bar: TaskID | None = None
        if display.bars is not None:
            self.bar = display.bars.add_task(name, total=None, visible=shown)
        self.shown = shown
        self.show("")

    def show(self, label: str) -> None:
        """What is done from now on."""
        self.label = ": ".join(filter(None, (self.name, label)))
        self.began: tuple[float, int] | None = None
        if self.display.bars is not None and self.bar is not None:
            self.display.bars.reset(self.bar, description=self.label, total=None)

    def advance(self, done: int, total: int) -> None:
        if self.display.bars is not None and self.bar is not None:
            self.display.bars.update(self.bar, completed=done, total=total)
        elif self.shown:
            self._tell(done, total)

    def remove(self) -> None:
        if self.display.bars is not None and self.bar is not None:
            self.display.bars.remove_task(self.bar)
            self.bar = None

    def _tell(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self.began is None:
            self.began, self.said = (now, done), now
        if self.began[1] < done < total and now - self.said >= LINE_EVERY:
            self.said = now
            left = (now - self.began[0]) * (total - done) / (done - self.began[1])
            self.display.say(f"{self.label}: {done} of {total}, about {left:.0f} s left")
