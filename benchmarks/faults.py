"""The long form of tests/faults and tests/unit/test_killed_runs.py, of four kinds, three of them in rounds.

kills    processes are killed, disks filled, files damaged, clocks moved, at random moments of a small study
flips    one bit is flipped, in every kind of file at every stage: running, killed, taken up again, finished
hostile  a store, kept results, a model or a text is made to do harm, and commands look at it
moments  short trainings are killed before and during every single call that touches the disk, once each

After every attempt of all but the third the store is verified, and at the end its files are compared with those of an
undisturbed run. Of the third no command may end with a traceback, wait, write elsewhere or harm another run. Prints
each round and what went wrong: nothing may.

    python benchmarks/faults.py [kills] [flips] [hostile] [moments] [--rounds 100] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "faults"))

import hostile
from flips import Flips
from harness import Round, play

PLAYED = {"kills": Round, "flips": Flips}
KINDS = (*PLAYED, "hostile", "moments")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kinds", nargs="*", help=f"{', '.join(KINDS)}; all, if none is named")
    parser.add_argument("--rounds", type=int, default=100, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if unknown := set(asked.kinds) - set(KINDS):
        parser.error(f"kinds are {', '.join(KINDS)}. Got {', '.join(sorted(unknown))}.")
    with tempfile.TemporaryDirectory(dir=".") as folder:  # not in memory
        wrong = sum(rounds(kind, asked.rounds, asked.seed, Path(folder).absolute()) for kind in asked.kinds or KINDS)
    sys.exit(bool(wrong))


def rounds(kind: str, count: int, seed: int, folder: Path) -> int:
    """How much went wrong."""
    if kind == "moments":
        return every_moment(folder)
    began = time.monotonic()

    def told(now: Round | hostile.Case) -> None:
        print(f"{kind} {now.number}: {', '.join(now.faults)}: {'; '.join(now.wrong) or 'as it should be'}", flush=True)

    if kind in PLAYED:
        answer = play(count, seed, folder, told, PLAYED[kind])
    else:
        answer = hostile.play(count, seed, folder, told)
    counts: Counter[str] = Counter()
    for fault, times in answer["faults"].items():
        counts[fault.split(",")[0]] += times
    faults = ", ".join(f"{name} {times} times" for name, times in sorted(counts.items()))
    print(f"{count} rounds of {kind}, seed {seed}, {time.monotonic() - began:.0f} s: {faults}.")
    print(f"Wrong: {len(answer['wrong'])}")
    return len(answer["wrong"])


def every_moment(folder: Path) -> int:
    """How much went wrong. In a process of its own, since it forks a child for each moment."""
    (folder / "moments").mkdir()
    program = Path(hostile.__file__).parents[1] / "unit" / "killed_runs.py"
    words = [sys.executable, program, folder / "moments", "early", "stacked", "--every"]
    found = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    wrong = [f"{case}: {told}" for case, answer in found.items() for told in answer["sweep"]["wrong"]]
    counts = {case: answer["sweep"]["moments"] for case, answer in found.items()}
    print(*wrong, f"Every moment, by case: {counts}.", f"Wrong: {len(wrong)}", sep="\n")
    return len(wrong)


if __name__ == "__main__":
    main()
