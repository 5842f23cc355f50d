"""Connectivity against one backward pass for each output, through torch's own nn.LSTM and nn.GRU.

2 layers of 600, embedding 600, 28 inputs, 16,386 outputs, 200 steps: the models of source 003. The plain way keeps the
graph of one forward pass and goes back through it once for each output; only the target's row of the readout is ever
used, in both. It takes half a minute, so that every tenth of its 200 passes is measured and the sum is scaled by ten.

Process time on one thread, the best of several rounds in which all programs take turns. Memory is that of a process
of its own: the peak of the resident set (VmHWM, reset before) beyond what was there before.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

import rote
from rote.models.sequence import SequenceModel

HIDDEN, INPUTS, OUTPUTS, TIME = 600, 28, 16_386, 200
EVERY = 10  # of the plain way's passes, one in so many is measured
ROUNDS = 3
GATES = {"lstm": 4, "gru": 3}  # blocks of units in a row of weight_ih @ x: what a product per gate would take
BLOCKS = {"lstm": 2, "gru": 1}  # the same with the gates' diagonals in the matrices: from d_c and d_h, from d_h
FASTER, MEMORY, GROWTH = 8.0, 64.0, 2.0  # at least, at most (MiB), at most (exponent of T)


class Case:
    """One model and one sequence, for both ways."""

    def __init__(self, kind: str) -> None:
        torch.manual_seed(0)
        made = {"lstm": nn.LSTM, "gru": nn.GRU}[kind]
        self.kind, self.module = kind, made(HIDDEN, HIDDEN, num_layers=2, batch_first=True)
        self.embedding, self.readout = nn.Embedding(INPUTS, HIDDEN), nn.Linear(HIDDEN, OUTPUTS)
        self.tokens = torch.randint(INPUTS, (1, TIME))
        self.targets = torch.randint(OUTPUTS, (1, TIME))

    @property
    def model(self) -> SequenceModel:
        return rote.adapt(recurrent=self.module, embedding=self.embedding, readout=self.readout)

    def ours(self, steps: int = TIME) -> Tensor:
        return rote.connectivity(self.model, self.tokens[:, :steps], self.targets[:, :steps]).values[0]

    def graph(self) -> tuple[Tensor, Tensor]:
        vectors = self.embedding(self.tokens).detach().requires_grad_()
        return vectors, self.module(vectors)[0]

    def plain(self, vectors: Tensor, hidden: Tensor) -> Tensor:
        """Every tenth output's row, [row, input]."""
        rows, table = self.readout.weight.detach()[self.targets[0]], self.embedding.weight.detach()
        found = []
        for t in sampled():
            (gradient,) = torch.autograd.grad(hidden[0, t] @ rows[t], vectors, retain_graph=True)
            found.append((gradient[0] @ table.T).norm(dim=-1))
        return torch.stack(found)

    def flops(self, blocks: int) -> float:
        """Of the matrix products that carry the rows: the recurrent ones, the one between the layers, the last one."""
        return 2.0 * blocks * HIDDEN * (3 * HIDDEN + INPUTS) * TIME * (TIME + 1) / 2


def sampled() -> range:
    return range(EVERY // 2, TIME, EVERY)


def process_time(run: Callable[[], object]) -> float:
    before = time.process_time()
    run()
    return time.process_time() - before


def measure_speed(case: Case) -> bool:
    square = torch.randn(1000, 1000)
    vectors, hidden = case.graph()
    programs: dict[str, Callable[[], object]] = {
        "ours": case.ours,
        "plain": lambda: case.plain(vectors, hidden),
        "gemm": lambda: [square @ square for _ in range(20)],
    }
    best = dict.fromkeys(programs, math.inf)
    for _ in range(ROUNDS):
        for name, run in programs.items():
            best[name] = min(best[name], process_time(run))
    plain, rate = best["plain"] * EVERY, 20 * 2e9 / best["gemm"]
    expected = case.plain(vectors, hidden)
    difference = (case.ours()[sampled()] - expected).abs().amax(1) / expected.amax(1)
    print(f"  {TIME} backward passes   {plain:7.2f} s  ({len(sampled())} measured, scaled by {EVERY})")
    print(f"  Rote                  {best['ours']:7.2f} s  differs by {float(difference.max()):.1e} of a row's maximum")
    reached, by_gate = (case.flops(count[case.kind]) / best["ours"] for count in (BLOCKS, GATES))
    print(
        f"  products at {reached / 1e9:.1f} GFLOP/s, {reached / rate:.0%} of this machine's float32 GEMM "
        f"({rate / 1e9:.1f}); with a product for each gate this time would need {by_gate / 1e9:.1f}"
    )
    return judge("times as fast", plain / best["ours"], FASTER, plain / best["ours"] >= FASTER)


def measure_growth(case: Case) -> bool:
    lengths = [25, 50, 100, 200]
    best = dict.fromkeys(lengths, math.inf)
    for _ in range(ROUNDS):
        for steps in lengths:
            best[steps] = min(best[steps], process_time(lambda steps=steps: case.ours(steps)))
    print("  " + ", ".join(f"T={steps} {seconds:.2f} s" for steps, seconds in best.items()))
    exponent = math.log(best[lengths[-1]] / best[lengths[0]]) / math.log(lengths[-1] / lengths[0])
    return judge("exponent of growth with T", exponent, GROWTH, exponent <= GROWTH)


def measure_memory(kind: str) -> bool:
    told = subprocess.run([sys.executable, __file__, "memory", kind], capture_output=True, text=True, check=True)
    extra = float(told.stdout)
    return judge("MiB of extra memory", extra, MEMORY, extra <= MEMORY)


def print_memory(kind: str) -> None:
    case = Case(kind)
    case.ours(2)  # what the libraries allocate once
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    case.ours()
    print((resident("VmHWM") - before) / 1024)


def resident(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


def judge(what: str, value: float, target: float, met: bool) -> bool:
    print(f"  {value:.1f} {what} (target {target:g}): {'met' if met else 'MISSED'}")
    return met


def main() -> int:
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["memory"]:
        print_memory(sys.argv[2])
        return 0
    met = []
    for kind in GATES:
        case = Case(kind)
        print(f"{kind}: 2 layers of {HIDDEN}, {INPUTS} inputs, {OUTPUTS} outputs, {TIME} steps")
        met += [measure_speed(case), measure_growth(case), measure_memory(kind)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
