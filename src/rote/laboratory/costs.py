"""What finished runs cost, in seconds and bytes: those of a store, and those that come with the package.

The package's were measured on another machine. A short calibration, the same there and here, says how much faster or
slower this one is. The file is never typed but made from stores with finished runs:

    python -m rote.laboratory.costs STORE ...        # writes src/rote/data/costs.json, and tables.json beside it
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rote.config import dotted, to_plain
from rote.errors import StoreError
from rote.laboratory import known_tables
from rote.laboratory.study import studies
from rote.recipes import measurements, recipes
from rote.recipes.job import MEASUREMENT, TRAINING
from rote.store import Listed, Store, digest, read_document, write_document
from rote.store.shared import add, entries

KIND, VERSION = "rote costs", 1
FILE = Path(__file__).parents[1] / "data" / "costs.json"
MACHINE = "machine.json"  # of a store: the calibration of the machines that used it
KINDS: dict[str, Mapping[str, Any]] = {TRAINING: recipes, MEASUREMENT: measurements}
Flat = Mapping[str, Any]  # dotted key -> value


@dataclass(frozen=True)
class Cost:
    """Of one run; where several differ only in their random seeds, of the middle one."""

    study: str  # the name of its recipe or measurement
    part: str
    preset: str
    config: Flat
    seeds: int
    seconds: float
    bytes: int


def costs_of(store: Store, rows: Iterable[Listed] | None = None) -> list[Cost]:
    """The costs of the finished runs in a store, one for each part and setting."""
    groups: dict[tuple[str, str, str, str, int], list[Listed]] = {}
    for row in store.runs() if rows is None else rows:
        if row.status == "finished" and _known(row.study, row.part):
            groups.setdefault((row.study, row.part, row.preset, row.config, row.seeds), []).append(row)
    return [
        Cost(
            study, part, preset, dotted(json.loads(config)), seeds,
            statistics.median_low(row.seconds for row in group), size_of(store.root / group[0].folder),
        )
        for (study, part, preset, config, seeds), group in groups.items()
    ]  # fmt: skip


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
    """Make the package's file from these stores; returns how many costs it has."""
    found = fastest_of(cost for store in stores for cost in costs_of(store))
    plain = [asdict(cost) | {"config": _changed(cost)} for cost in found]
    write_document(path, KIND, VERSION, {"speed": calibrate(), "costs": plain})
    return len(found)


def fastest_of(costs: Iterable[Cost]) -> list[Cost]:
    """Each setting that the studies still have, once: of several stores the fastest, which was disturbed least."""
    best: dict[str, Cost] = {}
    for cost in costs:
        key = json.dumps([cost.study, cost.part, cost.config, cost.seeds], sort_keys=True)
        if set(cost.config) <= set(_default(cost.study, cost.part)) and (
            key not in best or cost.seconds < best[key].seconds
        ):
            best[key] = cost
    return [best[key] for key in sorted(best)]


def _known(name: str, part: str) -> bool:
    return part in KINDS and name in KINDS[part]


@functools.cache
def _default(name: str, part: str) -> dict[str, Any]:
    return dotted(to_plain(KINDS[part][name]()))


def _changed(cost: Cost) -> dict[str, Any]:
    """What a file needs to say of a configuration."""
    return {key: value for key, value in cost.config.items() if _default(cost.study, cost.part)[key] != value}


def main(folders: Sequence[str]) -> None:
    stores = [Store(folder) for folder in folders]
    if not stores or not all((store.root / "runs").is_dir() for store in stores):
        sys.exit(f"Usage: python -m rote.laboratory.costs STORE ..., each a store with finished runs. Got {folders}.")
    known_tables.write(stores, studies)
    print(f"{write(stores)} costs in {FILE}, the studies' tables in {known_tables.FILE}")


if __name__ == "__main__":
    main(sys.argv[1:])
