"""What would settle a claim that is open: more seeds, and where these cannot help, what can."""

from __future__ import annotations

import functools

from rote.errors import RoteError
from rote.laboratory.estimates import Estimator, duration
from rote.laboratory.ledger import Entry
from rote.laboratory.study import studies
from rote.store import Store


class Settling:
    """Says it for entries of a store's ledger, with the time that a larger scale would take on this machine."""

    def __init__(self, store: Store, workers: int) -> None:
        self.store, self.workers = store, workers
        self._times: dict[str, str] = {}  # by study

    def __call__(self, entry: Entry) -> str:
        """Nothing for what is decided or not judged by seeds."""
        verdict = entry.verdict
        if verdict.outcome not in ("open", "void"):
            return ""
        told = [verdict.settle]
        if verdict.outcome == "void":
            told.append("Longer training, or other settings under which the condition holds, would make it a test.")
        if verdict.scale is not None and verdict.scale.stand_in:
            told.append(f"The source's own data would: rote show {entry.study} says which.")
        if verdict.scale is not None and verdict.scale.name not in ("published", "own"):
            told.append(
                f"The source's own scale would: rote run {entry.study} --preset paper, {self._time(entry.study)}."
            )
        return " ".join(filter(None, told))

    @functools.cached_property
    def _estimator(self) -> Estimator:
        return Estimator(self.store, self.workers)

    def _time(self, name: str) -> str:
        if name not in self._times:
            self._times[name] = self._estimated(name)
        return self._times[name]

    def _estimated(self, name: str) -> str:
        study = studies[name]()
        try:
            seconds = self._estimator.expected([(study, study.resolve("paper", {}))]).seconds
        except RoteError:  # such as data that are not on this machine
            seconds = None
        return "of which the time is not known" if seconds is None else f"about {duration(seconds)}"
