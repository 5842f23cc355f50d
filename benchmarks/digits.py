"""Ten digit-pair networks (five seeds, settings A and B) with both cores, against the same ten one after the other.

Ours is ``rote run digit-pairs`` at the published size with two workers, one thread each: starting the processes,
reading MNIST, a store with records and checkpoints are in it; measuring is cut down to a few pairs before and after.
The baseline is a bare loop in plain PyTorch on the same initial weights and pairs, nothing measured or written, with
one thread, and again with all threads. That both did the same work is checked: same loss at the end.

Target: at least 1.7 times less wall time than one after the other. Needs MNIST ($ROTE_DATA) and two idle cores.

    python benchmarks/digits.py [STEPS]
"""

from __future__ import annotations

import sys
import tempfile
import time

import torch
from rich.console import Console
from rich.table import Table as Grid
from torch import nn

from rote.laboratory import Laboratory
from rote.store import Store
from rote.studies.resistance.digits import DigitPairsStudy, DigitsRecipe
from rote.studies.resistance.digits_training import DigitsProgram
from rote.tasks.mnist import Digits, available, load_digits

SEEDS, STEPS, WORKERS, TARGET = 5, 100, 2, 1.7


def ours(overrides: dict[str, object]) -> tuple[float, dict[tuple[str, int], float]]:
    """Seconds, and the last loss of each network."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = Laboratory(Store(folder), workers=WORKERS).run("digit-pairs", "paper", overrides)
        seconds = time.perf_counter() - start
        rows = result.run.tables()["curves"].records()
    return seconds, {(row["setting"], row["seed"]): row["loss"] for row in rows}  # the last row of each stays


def plain(recipe: DigitsRecipe, digits: Digits, seed: int) -> tuple[float, float]:
    """Seconds of training, and the loss at the end."""
    program = DigitsProgram(recipe, seed, digits, "cpu")
    like, training = program.model, recipe.training
    first, second = (nn.Conv2d(*layer.weight.shape[1::-1], 3) for layer in like.convolutions)
    hidden = nn.Linear(*like.hidden.weight.shape[::-1])
    output = nn.Linear(*like.output.weight.shape[::-1])
    model = nn.Sequential(
        first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.Flatten(), hidden, nn.ReLU(), output
    )  # fmt: skip
    with torch.no_grad():
        for mine, theirs in zip(model.parameters(), like.parameters(), strict=True):
            mine.copy_(theirs)
    start = time.perf_counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    for step in range(training.steps):
        pairs = program.task.training(program.digits.training, seed, step, training.batch)
        images, labels = torch.from_numpy(pairs.images)[:, None], torch.from_numpy(pairs.labels)
        sign = 2 * nn.functional.one_hot(labels, 10) - 1
        optimizer.zero_grad()
        torch.clamp(1 - sign * model(images), min=0).mean().backward()
        optimizer.step()
    seconds = time.perf_counter() - start
    like.load_state_dict(dict(zip(like.state_dict(), model.state_dict().values(), strict=True)))
    with torch.no_grad():
        return seconds, program.measure()["loss"][0]


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    if available() != "mnist":
        sys.exit("MNIST is not on this machine: set ROTE_DATA to a folder that has mnist/.")
    overrides: dict[str, object] = {
        "seeds": SEEDS, "remedies": False, "training.steps": steps, "training.record_every": steps,
        "evaluated": 64, "crossed": 1, "gradients": 1,
    }  # fmt: skip
    config, digits = DigitPairsStudy().resolve("paper", overrides), load_digits("mnist")
    networks = [(recipe, seed) for recipe in config.recipes() for seed in range(SEEDS)]
    threads = torch.get_num_threads()
    together, losses = ours(overrides)
    alone = {}
    for count in dict.fromkeys((1, threads)):
        torch.set_num_threads(count)
        alone[count] = 0.0
        for recipe, seed in networks:
            seconds, loss = plain(recipe, digits, seed)
            alone[count] += seconds
            torch.testing.assert_close(loss, losses[recipe.label, seed], rtol=0.02, atol=0.01)
    grid = Grid(f"{steps} updates of {len(networks)} networks", "seconds", "times as fast", box=None)
    for count, seconds in alone.items():
        label = f"one after the other, plain PyTorch, {count} thread{'s' if count > 1 else ''}"
        grid.add_row(label, f"{seconds:.1f}", f"{alone[1] / seconds:.2f}")
    grid.add_row(f"rote run digit-pairs, {WORKERS} workers", f"{together:.1f}", f"{alone[1] / together:.2f}")
    Console().print(grid)
    print(f"Target: at least {TARGET} times as fast as one after the other with one thread.")


if __name__ == "__main__":
    main()
