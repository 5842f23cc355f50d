"""What the training loop adds to training: recording, checkpoints, progress, the watch for Ctrl-C.

A network of the size of the digit pairs (source 001, appendix A: input 1x28x56, convolution 3x3 to 32, ReLU, max-pool
2, convolution 3x3 to 64, ReLU, 17,600 values to 64, to 10; batch 64; Adam) on random images. Ours is
``rote.training.train`` with a run in a store: a row of metrics every 10 steps, and a checkpoint (weights and Adam's
moments, 14 MB) about every 3 seconds of its own time, where the default is 30, beside the one at the end. The baseline
is the bare loop: zero_grad, backward, step, with the same optimizer. The two take turns step by step, so that whatever
else the machine does hits both alike; still two equal steps differ by more than what is sought, so the time between an
update and the next batch, which the bare loop does not have, is also measured by itself. One thread.

Target: below 5 %.

    python benchmarks/overhead.py
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Any

import torch
from rich.console import Console
from rich.table import Table as Grid
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim.optimizer import register_optimizer_step_post_hook

from rote.store import Request, Store
from rote.training import Program, TrainingConfig, train

ROUNDS, STEPS, BATCH, TARGET = 5, 60, 64, 5
CONFIG = TrainingConfig(steps=STEPS, batch=BATCH, optimizer="adam", learning_rate=1e-3, record_every=10)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(17_600, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def batch(step: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(step)
    return torch.randn(BATCH, 1, 28, 56, generator=random), torch.randint(0, 10, (BATCH,), generator=random)


class Bare:
    """The baseline: its own network, one update at a time, timed."""

    def __init__(self) -> None:
        self.model, self.seconds = network(), 0.0
        self.optimizer = CONFIG.make_optimizer(self.model.parameters())

    def update(self, step: int) -> None:
        start = time.perf_counter()
        inputs, targets = batch(step)
        loss = cross_entropy(self.model(inputs), targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.seconds += time.perf_counter() - start


class Digits(Program):
    """Ours; before each of its updates the baseline has one. ``between`` is the time from an update to the next."""

    def __init__(self, bare: Bare) -> None:
        self.model, self.bare = network(), bare
        self.between, self.updated = 0.0, time.perf_counter()

    def losses(self, step: int) -> Tensor:
        self.pause()
        self.bare.update(step)
        inputs, targets = batch(step)
        self.loss = cross_entropy(self.model(inputs), targets).unsqueeze(0)
        return self.loss

    def measure(self) -> dict[str, Any]:
        return {"loss": self.loss.tolist()}

    def pause(self) -> None:
        self.between += time.perf_counter() - self.updated


def one_round(store: Store, number: int) -> tuple[float, float, float]:
    """Seconds of the bare loop, of ours, and of what ours does between updates."""
    bare = Bare()
    program = Digits(bare)

    def updated(optimizer: torch.optim.Optimizer, words: Any, more: Any) -> None:
        program.updated = time.perf_counter()

    hook = register_optimizer_step_post_hook(updated)
    with store.open(Request("benchmark", 1, str(number), {}, (0,))) as run:
        start = program.updated = time.perf_counter()
        train(program, CONFIG, run, progress=lambda done, total: None, record_at=CONFIG.recorded_steps()[1:])
        ours = time.perf_counter() - start - bare.seconds
        program.pause()
    hook.remove()
    for first, second in zip(bare.model.parameters(), program.model.parameters(), strict=True):
        assert torch.equal(first, second), "the two did not do the same work"
    return bare.seconds, ours, program.between


def main() -> None:
    torch.set_num_threads(1)
    os.environ["ROTE_CHECKPOINT_SECONDS"] = "6"  # half of which is the baseline's
    with tempfile.TemporaryDirectory(dir=".") as folder:  # not in memory, where a checkpoint would cost nothing
        rounds = [one_round(Store(folder), number) for number in range(ROUNDS)]
    bare = statistics.median(seconds for seconds, _, _ in rounds)
    total = statistics.median(ours / seconds for seconds, ours, _ in rounds)
    between = statistics.median(own / seconds for seconds, _, own in rounds)
    grid = Grid("loop", "ms per step", "more than the baseline", box=None)
    grid.add_row("bare (baseline)", f"{1000 * bare / STEPS:.1f}", "")
    grid.add_row("ours, by turns", f"{1000 * bare * total / STEPS:.1f}", f"{100 * (total - 1):.1f} %")
    grid.add_row("ours, between updates", f"{1000 * bare * between / STEPS:.2f}", f"{100 * between:.1f} %")
    Console().print(grid)
    print(f"Target: below {TARGET} % between updates. Medians of {ROUNDS} rounds of {STEPS} steps; one thread.")


if __name__ == "__main__":
    main()
