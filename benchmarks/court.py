"""The court's speed: the truth of strings by one batched pass, against one set at a time; and the whole court.

The ratio is to the plain way on the same machine, in the same run. The whole court must take less than ten minutes of
two cores; with "few" as an argument it is asked about two programs only.
"""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np

from rote import court
from rote.court.program import NOTHING, Program


def one_at_a_time(program: Program, tokens: np.ndarray) -> np.ndarray:
    """v of every set, each by an interpretation of its own."""
    time_ = tokens.shape[1]
    worth = np.zeros((len(tokens), 2**time_))
    for row, string in enumerate(tokens):
        for number, kept in enumerate(itertools.product((0, 1), repeat=time_)):
            worth[row, number] = program.values(np.where(kept[::-1], string, NOTHING)[None])[0, -1, 0]
    return worth


def main() -> None:
    program = court.programs["latch"]
    tokens = program.strings(0, 4, 12)
    began = time.perf_counter()
    known = court.truth(program, tokens)
    batched = time.perf_counter() - began
    began = time.perf_counter()
    plain = one_at_a_time(program, tokens)
    single = time.perf_counter() - began
    assert np.array_equal(known.worth, plain)
    print(
        f"truth of 4 strings of 12 symbols: {batched:.3f} s, one set at a time {single:.2f} s, {single / batched:.0f} x"
    )
    chosen = ["latch", "and"] if "few" in sys.argv[1:] else None
    began, cpu = time.perf_counter(), time.process_time()
    verdict = court.judge(programs=chosen)
    wall, spent = time.perf_counter() - began, time.process_time() - cpu
    networks = len({row[:4] for row in verdict.cases.rows})
    methods = len(dict.fromkeys(verdict.summary.column("method")))
    print(f"court of {networks} networks and {methods} methods: {wall:.0f} s, of one core {spent:.0f} s")
    print(verdict)


if __name__ == "__main__":
    main()
