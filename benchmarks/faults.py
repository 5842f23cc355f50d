"""The long form of tests/faults: rounds of killed processes, full disks, damaged files and moved clocks.

Every round disturbs a small study at random moments; after every attempt the store is verified, and at the end its
files are compared with those of an undisturbed run. Prints each round and what went wrong: nothing may.

    python benchmarks/faults.py --rounds 100 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "faults"))

from harness import Round, play


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    began = time.monotonic()

    def told(now: Round) -> None:
        print(f"round {now.number}: {', '.join(now.faults)}: {'; '.join(now.wrong) or 'the same bytes'}", flush=True)

    with tempfile.TemporaryDirectory(dir=".") as folder:  # not in memory
        answer = play(asked.rounds, asked.seed, Path(folder).absolute(), told)
    faults = ", ".join(f"{name} {count} times" for name, count in sorted(answer["faults"].items()))
    print(f"{asked.rounds} rounds, seed {asked.seed}, {time.monotonic() - began:.0f} s: {faults}.")
    print(f"Wrong: {len(answer['wrong'])}")
    sys.exit(bool(answer["wrong"]))


if __name__ == "__main__":
    main()
