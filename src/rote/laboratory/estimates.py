"""How long runs will take and how much disk they will need, before they are begun.

    expected(study, [config], workers=2, store=store)     # runs, seconds, bytes, and where that comes from

Each run that is still missing is compared with the nearest one that was measured: a finished run of this store, or one
of those that come with the package, scaled by the speed of this machine. Its time is scaled by the number of updates
and of seeds. What else differs (a larger network) is not in it: then the whole study is compared with one that was
measured with these settings, or else this is told as the rough estimate that it is, or as the least that it will take.
"""

from __future__ import annotations

import functools
import heapq
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.config import dotted, to_plain
from rote.errors import StoreError
from rote.laboratory.costs import Cost, Flat, costs_of, packaged, slowness
from rote.laboratory.study import Study
from rote.recipes import Job
from rote.store import Listed, Request, Store
from rote.store.run import STUDY

SEEDS = ("seeds", "first_seed")  # keys that say which seeds, and how many
UPDATES = ("steps", "epochs", "passes")  # keys of a group that say how long it trains
HERE, ELSEWHERE = "finished runs in this store", "the package's costs, scaled to the speed of this machine"
UNKNOWN, NOTHING = "no run like these was measured yet", "everything is there already"
DEEPEST = 8  # runs that come one after another
ALIKE = 1  # differences up to which a study that was measured as a whole tells what another takes
FAR = 10  # differences from which on a measured run says nothing about another


@dataclass(frozen=True)
class Expectation:
    """What is still to be done. ``seconds`` and ``bytes`` are None where no run like these was ever measured."""

    runs: int | None  # that are needed, each once
    finished: int | None  # of them, in the store already
    seconds: float | None  # of wall time, with so many workers
    bytes: int | None
    workers: int
    basis: str  # where the estimate comes from
    rough: bool = False  # from runs with other settings than these, of which only seeds and updates are scaled
    least: bool = False  # and some of these ask for more: larger networks, or longer texts


def unknown(workers: int, reason: str) -> Expectation:
    """For what cannot even be counted."""
    return Expectation(None, None, None, None, workers, reason)


@dataclass(frozen=True)
class _Price:
    seconds: float
    bytes: float
    basis: str
    rough: bool
    least: bool = False


def expected(study: Study[Any], configs: Iterable[Any], *, workers: int, store: Store) -> Expectation:
    """What it will take to run ``study`` with all of these configurations, a run that several need counted once."""
    return Estimator(store, workers).expected((study, config) for config in configs)


class Estimator:
    """What was measured, here or elsewhere, and which runs are finished, as the store was when this was made."""

    def __init__(self, store: Store, workers: int) -> None:
        self.store, self.workers = store, workers
        self.rows: dict[str, list[Listed]] = {}
        for row in store.runs():
            if row.status == "finished":
                self.rows.setdefault(row.study, []).append(row)
        self.finished = {row.id for rows in self.rows.values() for row in rows}
        self._measured: dict[str, list[tuple[int, Cost, float]]] = {}
        self._prices: dict[tuple[str, str, int, str], _Price | None] = {}  # by what they depend on
        self._slowness: float | None = None

    def expected(self, asked: Iterable[tuple[Study[Any], Any]]) -> Expectation:
        """Of several studies and configurations together, a run that several need counted once."""
        needed: set[str] = set()
        missing: dict[str, tuple[Job, _Price | None]] = {}
        for study, config in asked:
            jobs = study.jobs(config)
            own = {one.request.id for job in jobs for one in job.all()}
            needed |= own
            new = {one.request.id: one for job in jobs for one in self._missing(job) if one.request.id not in missing}
            prices = {name: self._price_of(job) for name, job in new.items()}
            whole = self._price_of_all(study, config) if not all(map(_is_known, prices.values())) else None
            if whole is not None:
                each = replace(whole, seconds=whole.seconds / len(own))
                prices = {
                    name: price if _is_known(price, HERE) else _sized(each, price) for name, price in prices.items()
                }
            missing |= {name: (job, prices[name]) for name, job in new.items()}
        waves = [[price for job, price in missing.values() if _depth(job) == depth] for depth in range(DEEPEST)]
        return self._together(len(needed), waves)

    def _missing(self, job: Job) -> Iterator[Job]:
        """What is to be computed of it; a training that nothing still needs may be gone."""
        if job.request.id not in self.finished:
            for need in job.needs:
                yield from self._missing(need)
            yield job

    def suppose_finished(self, study: Study[Any], config: Any) -> None:
        """Count the runs of this one as finished from now on, as they are when another comes after it."""
        self.finished |= {one.request.id for job in study.jobs(config) for one in job.all()}

    def _together(self, runs: int, prices: Sequence[Sequence[_Price | None]]) -> Expectation:
        known = [price for wave in prices for price in wave if price]
        missing = sum(map(len, prices))
        if len(known) < missing:
            return Expectation(runs, runs - missing, None, None, self.workers, UNKNOWN)
        spent = [[price.seconds for price in wave if price] for wave in prices]
        seconds = sum(together(wave, self.workers) for wave in spent)
        basis = " and ".join(sorted({price.basis for price in known})) or NOTHING
        size, rough = round(sum(price.bytes for price in known)), any(price.rough for price in known)
        least = any(price.least for price in known)
        return Expectation(runs, runs - missing, seconds, size, self.workers, basis, rough, least)

    def _price_of(self, job: Job) -> _Price | None:
        """A measurement of networks that are larger than measured ones takes longer too, with the same settings."""
        price, needs = self._known_price(job.request), [self._price_of(need) for need in job.needs]
        if price is None or all(map(_is_known, needs)):
            return price
        return replace(price, rough=True, least=price.least or any(need is not None and need.least for need in needs))

    def _known_price(self, request: Request) -> _Price | None:
        """Runs that differ in nothing but which seeds they have cost the same."""
        key = (request.study, request.part, len(request.seeds), repr(request.config))
        if key not in self._prices:
            self._prices[key] = self._price(request)
        return self._prices[key]

    def _price(self, request: Request) -> _Price | None:
        """From the nearest run of the same recipe or measurement whose time is known."""
        config, seeds = dotted(request.config), max(1, len(request.seeds))
        updates = _updates(config) * seeds
        ranked = [
            ((_difference(cost.config, config), abs(math.log(work)), place), work, cost)
            for place, cost, made in self._costs(request.study)
            if cost.part == request.part
            for work in [updates / made]
        ]
        nearest = min((rank for rank, _, _ in ranked), default=None)
        if nearest is None or nearest[0] >= FAR:
            return None
        alike = [(work, cost) for rank, work, cost in ranked if rank == nearest]
        seconds = statistics.median(cost.seconds * work for work, cost in alike)
        sized = min(
            ((rank, cost.bytes / max(1, cost.seeds)) for rank, _, cost in ranked if cost.bytes is not None),
            default=(nearest, 0.0),
        )
        rough, least = nearest[0] != 0, any(_is_more(config, cost.config) for _, cost in alike)
        factor, basis = (1.0, HERE) if nearest[-1] == 0 else (self._factor(), ELSEWHERE)
        return _Price(seconds * factor, sized[1] * seeds, basis, rough, least)

    def _price_of_all(self, study: Study[Any], config: Any) -> _Price | None:
        """Of all runs of a study together, where it was measured as a whole with settings like these."""
        asked = dotted(to_plain(config))
        known = [cost for cost in _packaged() if (cost.study, cost.part) == (study.name, STUDY)]
        ranked = [(_difference(cost.config, asked), cost.seconds / max(1, cost.seeds)) for cost in known]
        apart, each = min(ranked, default=(FAR, 0.0))
        return None if apart > ALIKE else _Price(each * config.seeds * self._factor(), 0, ELSEWHERE, apart > 0)

    def _costs(self, study: str) -> list[tuple[int, Cost, float]]:
        """Behind 0 for those of this store, 1 for the package's; with the updates of all seeds together."""
        if study not in self._measured:
            here = [(0, cost) for cost in costs_of(self.store, self.rows.get(study, []))]
            both = here + [(1, cost) for cost in _packaged() if cost.study == study]
            self._measured[study] = [(place, cost, _updates(cost.config) * max(1, cost.seeds)) for place, cost in both]
        return self._measured[study]

    def _factor(self) -> float:
        if self._slowness is None:
            self._slowness = slowness(self.store)
        return self._slowness


def _is_known(price: _Price | None, basis: str = "") -> bool:
    """Whether it is that of a run with the same settings, measured there."""
    return price is not None and not price.rough and price.basis.startswith(basis)


def _sized(share: _Price, price: _Price | None) -> _Price:
    """A share of a study's time, with the bytes that are known otherwise."""
    return share if price is None else replace(share, bytes=price.bytes)


def _depth(job: Job) -> int:
    """How many runs come before it, one after another."""
    return 1 + max(map(_depth, job.needs)) if job.needs else 0


def together(seconds: Sequence[float], workers: int) -> float:
    """Until the last of them is done, when each worker takes the next one as soon as it is free."""
    free = [0.0] * max(1, workers)
    for spent in seconds:
        heapq.heapreplace(free, free[0] + spent)
    return max(free)


def in_words(found: Expectation) -> dict[str, str]:
    """The numbers as people read them."""
    rough = "roughly " if found.rough else ""
    about = "at least " if found.least else rough
    return {
        "runs": "unknown" if found.runs is None else str(found.runs),
        "finished": "unknown" if found.finished is None else str(found.finished),
        "time": "unknown" if found.seconds is None else about + duration(found.seconds),
        "disk": "unknown" if found.bytes is None else rough + in_bytes(found.bytes),
        "from": found.basis + (", with other settings" if found.rough else ""),
    }


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{_short(seconds / length)} {unit}"
    return f"{_short(seconds)} s" if seconds >= 1 else "under 1 s"


def in_bytes(count: float) -> str:
    for unit, length in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= length:
            return f"{_short(count / length)} {unit}"
    return f"{count:.0f} bytes"


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def _packaged() -> tuple[Cost, ...]:
    try:
        return packaged()[1]
    except StoreError:  # an incomplete installation
        return ()


@functools.cache
def _is_updates(key: str) -> bool:
    return "." in key and key.rsplit(".", 1)[1] in UPDATES


def _updates(config: Flat) -> float:
    """As many times more updates as this number is greater, for two configurations of one study."""
    return math.prod(max(float(value), 1e-9) for key, value in config.items() if _is_updates(key) and value)


def _difference(one: Flat, other: Flat) -> float:
    """In what does not count as work: doublings of each number, 1 for anything else. A run may leave keys out."""
    keys = [key for key in one if key in other and key not in SEEDS and not _is_updates(key)]
    return round(sum(_apart(one[key], other[key]) for key in keys), 6)


def _is_more(one: Flat, other: Flat) -> bool:
    """Whether some count that is no work is greater in the first configuration, and none smaller."""
    both = [(one[key], other[key]) for key in one if key in other and key not in SEEDS and not _is_updates(key)]
    counts = [(mine, theirs) for mine, theirs in both if type(mine) is int and type(theirs) is int]
    return any(mine > theirs for mine, theirs in counts) and not any(mine < theirs for mine, theirs in counts)


def _apart(one: Any, other: Any) -> float:
    if one == other:
        return 0.0
    numbers = all(type(value) in (int, float) and value > 0 for value in (one, other))
    return abs(math.log2(one / other)) if numbers else 1.0
