"""What finished runs cost, in seconds and bytes: those of a store, and those that come with the package.

The package's were measured on another machine. A short calibration, the same there and here, says how much faster or
slower this one is. The file is never typed but made from stores with finished runs, and for the larger presets from the
results that come with Rote, whose records tell how long each run took:

    python -m rote.laboratory.costs STORE ...        # writes src/rote/data/costs.json, and tables.json beside it
    python -m rote.laboratory.costs                  # the same with the stores' costs that are known: new kept results
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rote.config import dotted, to_plain
from rote.errors import StoreError
from rote.laboratory import known_tables
from rote.laboratory.kept_results import Kept, kept_folder, kept_in
from rote.laboratory.study import studies
from rote.recipes import measurements, recipes
from rote.recipes.job import MEASUREMENT, TRAINING
from rote.store import Listed, Record, Store, digest, read_document, write_document
from rote.store.run import STUDY
from rote.store.shared import add, entries

KIND, VERSION = "rote costs", 1
FILE = Path(__file__).parents[1] / "data" / "costs.json"
MACHINE = "machine.json"  # of a store: the calibration of the machines that used it
KINDS: dict[str, Mapping[str, Any]] = {TRAINING: recipes, MEASUREMENT: measurements}
MEASURED_IDLE = ("smoke", "quick")  # presets whose costs are those of a store: it ran them on an idle machine
Flat = Mapping[str, Any]  # dotted key -> value


@dataclass(frozen=True)
class Cost:
    """Of one run; where several differ only in their random seeds, of the middle one."""

    study: str  # the name of its recipe or measurement; of a study, where it is of all runs of that together
    part: str
    preset: str
    config: Flat
    seeds: int
    seconds: float
    bytes: int | None  # unknown of kept results, whose runs are in no store


def costs_of(store: Store, rows: Iterable[Listed] | None = None) -> list[Cost]:
    """The costs of the finished runs in a store, one for each part and setting. A study's own run, which only says
    what it is made of, is none of them."""
    groups: dict[tuple[str, str, str, str, int], list[Listed]] = {}
    for row in store.runs() if rows is None else rows:
        if row.status == "finished" and row.part != STUDY and _known(row.study, row.part):
            groups.setdefault((row.study, row.part, row.preset, row.config, row.seeds), []).append(row)
    return [
        Cost(
            study, part, preset, dotted(json.loads(config)), seeds,
            statistics.median_low(row.seconds for row in group), size_of(store.root / group[0].folder),
        )
        for (study, part, preset, config, seeds), group in groups.items()
    ]  # fmt: skip


def costs_of_kept(results: Iterable[Kept]) -> list[Cost]:
    """The costs of kept results with presets that no store has: of their runs, one for each part and setting; and of
    the whole study, since what its runs were divided into may have been another than today."""
    costs: list[Cost] = []
    for kept in results:
        request, groups = kept.record.request, dict[str, list[Record]]()
        if request.preset in MEASURED_IDLE or request.study not in studies:
            continue
        for record in kept.runs:
            one = record.request
            if _known(one.study, one.part):
                key = json.dumps([one.study, one.part, one.config, len(one.seeds)], sort_keys=True)
                groups.setdefault(key, []).append(record)
        for group in groups.values():
            one, seconds = group[0].request, statistics.median_low(record.seconds for record in group)
            costs.append(Cost(one.study, one.part, request.preset, dotted(one.config), len(one.seeds), seconds, None))
        total = sum(record.seconds for record in kept.runs)
        costs.append(
            Cost(request.study, STUDY, request.preset, dotted(request.config), len(request.seeds), total, None)
        )
    return costs


def size_of(folder: Path) -> int:
    """Bytes of the files in a run's folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    return 0


@functools.cache
def packaged() -> tuple[float, tuple[Cost, ...]]:
    """The speed of the machine that they were measured on, and the costs that come with the package."""
    body = read_document(FILE, KIND, VERSION)
    known = [cost for cost in body["costs"] if _known(cost["study"], cost["part"])]
    return body["speed"], tuple(
        Cost(**{**cost, "config": _default(cost["study"], cost["part"]) | cost["config"]}) for cost in known
    )


def slowness(store: Store) -> float:
    """How much longer this machine takes than the one of the package's costs."""
    there, _ = packaged()
    return there / speed(store)


def speed(store: Store) -> float:
    """Of one core of this machine, measured once for each store that exists."""
    path, kind = store.root / MACHINE, "rote machines"
    here = digest(f"{platform.node()} {platform.processor()} {os.cpu_count()}".encode())[:16]
    with contextlib.suppress(StoreError):  # from a later version, for example
        if here in (known := entries(path, kind, float)):
            return known[here]
    measured = calibrate()
    if store.root.is_dir():
        with contextlib.suppress(StoreError):  # a store that may only be read
            add(path, kind, here, measured)
    return measured


@functools.cache  # a machine stays as fast as it is while one command runs
def calibrate(slices: int = 20) -> float:
    """Small matrix products and plain Python, as training a small network has both: rounds per second.

    Of this thread's own time, and the fastest of several slices of a hundredth of a second: other work on the machine
    must not count.
    """
    import numpy as np
    from threadpoolctl import threadpool_limits

    state, weight = np.full((32, 64), 0.5, np.float32), np.full((64, 64), 0.01, np.float32)
    fastest = 0.0
    with threadpool_limits(1):
        for _ in range(slices):
            rounds, began = 0, time.thread_time()
            while time.thread_time() - began < 0.01:
                for _ in range(20):
                    state = np.tanh(state @ weight + 0.1)
                sum(number * number for number in range(500))
                rounds += 1
            fastest = max(fastest, rounds / (time.thread_time() - began))
    return fastest


def write(stores: Sequence[Store], path: Path = FILE) -> int:
    """Make the package's file from these stores, or what it knows of earlier ones, and the kept results; returns how
    many costs it has."""
    speed, known = packaged() if not stores else (calibrate(), ())
    here = [cost for cost in known if cost.preset in MEASURED_IDLE] + [
        one for store in stores for one in costs_of(store)
    ]
    found = fastest_of([*here, *costs_of_kept(kept_in(kept_folder(), []))])
    plain = [asdict(cost) | {"config": _changed(cost)} for cost in found]
    write_document(path, KIND, VERSION, {"speed": speed, "costs": plain})
    return len(found)


def fastest_of(costs: Iterable[Cost]) -> list[Cost]:
    """Each setting, once: of several stores the fastest, which was disturbed least. Of runs only settings that there
    still are; of a whole study those that there were, as far as there still are."""
    best: dict[str, Cost] = {}
    for cost in costs:
        known = _default(cost.study, cost.part)
        config = {name: value for name, value in cost.config.items() if name in known or cost.part != STUDY}
        key = json.dumps([cost.study, cost.part, config, cost.seeds], sort_keys=True)
        if set(config) <= set(known) and (key not in best or cost.seconds < best[key].seconds):
            best[key] = replace(cost, config=config)
    return [best[key] for key in sorted(best)]


def _known(name: str, part: str) -> bool:
    return name in studies if part == STUDY else part in KINDS and name in KINDS[part]


@functools.cache
def _default(name: str, part: str) -> dict[str, Any]:
    return dotted(to_plain(studies[name].default if part == STUDY else KINDS[part][name]()))


def _changed(cost: Cost) -> dict[str, Any]:
    """What a file needs to say of a configuration."""
    return {key: value for key, value in cost.config.items() if _default(cost.study, cost.part)[key] != value}


def main(folders: Sequence[str]) -> None:
    stores = [Store(folder) for folder in folders]
    if not all((store.root / "runs").is_dir() for store in stores):
        sys.exit(f"Usage: python -m rote.laboratory.costs STORE ..., each a store with finished runs. Got {folders}.")
    if stores:
        known_tables.write(stores, studies)
    print(f"{write(stores)} costs in {FILE}" + (f", the studies' tables in {known_tables.FILE}" if stores else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
