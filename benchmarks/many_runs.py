"""What many runs cost beside their own work, with the worker processes of this machine.

first task    from the start of the command to the moment when a run computes; importing torch, most of it, is
              measured by itself beside it (target: 2 s)
empty runs    wall time of 1000 runs that compute nothing, each recorded, durable and reused later (target: 5 ms each):
              500 trainings, and a measurement of each
grid          small trainings of 50 ms of computing each: how much faster two workers are than one (target: 1.8)

python benchmarks/many_runs.py
"""

from __future__ import annotations

import importlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rote.laboratory import Laboratory
from rote.laboratory.processes import starter
from rote.store import Record, Store

FAULTS = Path(__file__).resolve().parents[1] / "tests" / "faults"
sys.path.insert(0, str(FAULTS))
importlib.import_module("tiny_study")  # which makes it known
EMPTY, SMALL, WORK, ROUNDS = 1000, 200, 0.05, 3
COMMAND = "import tiny_study; from rote.cli import main; main()"


def main() -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:  # not in memory, where a sync costs nothing
        first, bare = zip(*(first_task(Path(folder) / str(number)) for number in range(ROUNDS)), strict=True)
        print(f"first task: {statistics.median(first):.2f} s; importing torch: {statistics.median(bare):.2f} s")
        _, few = empty_runs(Path(folder) / "few", 2)
        wall, many = empty_runs(Path(folder) / "many", EMPTY // 2 + 2)
        print(
            f"{EMPTY} empty runs: {1000 * wall / EMPTY:.2f} ms each; {1000 * (many - few) / EMPTY:.2f} ms of computing"
        )
        ratios = [grid(Path(folder) / f"grid {number}") for number in range(ROUNDS)]
        print(f"{SMALL} trainings of {1000 * WORK:.0f} ms: two workers are {statistics.median(ratios):.2f} times one")
        print(f"Medians of {ROUNDS}; load of the machine while measuring: {os.getloadavg()[0]:.1f}")


def first_task(root: Path) -> tuple[float, float]:
    """Seconds to the first step of a run, and to an imported torch."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FAULTS), *filter(None, sys.path)])}
    words = ["run", "tiny", "--workers", "2", "--store", str(root), "steps=0"]
    began = time.time()
    subprocess.run([sys.executable, "-c", COMMAND, *words], env=environment, check=True, capture_output=True)
    started = min(path.stat().st_ctime for path in root.glob("runs/tiny/*/lock"))
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return started - began, time.perf_counter() - start


def empty_runs(root: Path, count: int) -> tuple[float, float]:
    """Seconds from the first run's start to the end of the study, and seconds of computing in all processes."""
    before = computing()
    Laboratory(Store(root), workers=2).run("tiny", overrides={"seeds": count, "steps": 0})
    wall = time.time() - min(path.stat().st_ctime for path in root.glob("runs/tiny/*/lock"))
    starter.close()  # what its children took counts when it has ended
    return wall, computing() - before


def computing() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def grid(root: Path) -> float:
    """How many times faster two workers perform the same runs; torch is imported before the clock starts."""
    seconds = {}
    for workers in (1, 2):
        store = Store(root / str(workers))
        laboratory = Laboratory(store, workers=workers)
        laboratory.run("tiny", overrides={"seeds": 2, "steps": 1})
        start = time.perf_counter()
        laboratory.run("tiny", overrides={"seeds": SMALL, "steps": 1, "work": WORK})
        seconds[workers] = time.perf_counter() - start
        assert all(Record.read(path.parent).status == "finished" for path in store.root.glob("runs/*/*/record.json"))
    return seconds[1] / seconds[2]


if __name__ == "__main__":
    main()
