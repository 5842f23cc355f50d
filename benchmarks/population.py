"""A population of 64 plane networks, stacked into one program, against the same 64 one after the other.

Ours is what ``rote run plane`` does for one setting: 1024 updates of the stacked population by ``rote.training.train``
with a run in a store, so drawing the data, measuring and recording at 0, 1, 2, 4, ... and a checkpoint at each of these
are in it. The baseline is a bare loop in plain PyTorch: nn.Sequential, torch.optim.SGD, cross_entropy, the same initial
weights and the same points, nothing measured or written. Five of its 64 networks are trained in turn with ours and
their time is scaled to 64. Both use one thread. That both did the same work is checked: same loss at the end. The row
in between, stacked updates and nothing else, says how much of the rest is recording.

Target: at least 30 times as fast.

    python benchmarks/population.py
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time

import torch
from rich.console import Console
from rich.table import Table as Grid
from torch import nn
from torch.nn.functional import cross_entropy

from rote.store import Store
from rote.studies.resistance.plane import PlaneRecipe
from rote.studies.resistance.plane_training import BLOCK, PlaneProgram
from rote.training import train

NETWORKS, BASELINE, TARGET = 64, 5, 30


def stacked(store: Store, recipe: PlaneRecipe) -> tuple[float, PlaneProgram]:
    (job,) = recipe.jobs(range(NETWORKS))
    start = time.perf_counter()
    with store.open(job.request) as run:
        program = recipe.program(job.request.seeds, "cpu")
        train(program, recipe.training, run, record_at=recipe.steps(), snapshots=recipe.steps())
    return time.perf_counter() - start, program


def updates_only(config: PlaneRecipe) -> float:
    program = config.program(range(NETWORKS), "cpu")
    optimizer = config.training.make_optimizer(program.model.parameters())
    start = time.perf_counter()
    for step in range(config.training.steps):
        losses = program.losses(step)
        optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()
        optimizer.step()
    return time.perf_counter() - start


def alone(config: PlaneRecipe, seed: int) -> tuple[float, nn.Module]:
    task, training = config.task, config.training
    like = config.program([seed], "cpu").model
    start = time.perf_counter()
    sizes = [2, *[config.model.hidden] * config.model.layers, 2]
    layers: list[nn.Module] = []
    for weight, (inputs, outputs) in zip(like.weights, itertools.pairwise(sizes), strict=True):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        with torch.no_grad():
            layers[-2].weight.copy_(weight[0].T)
            layers[-2].bias.zero_()
    model = nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=training.learning_rate)
    for block in range(training.steps // BLOCK):
        drawn = task.training(seed, block, BLOCK, training.batch)
        inputs, targets = torch.from_numpy(drawn.inputs).float(), torch.from_numpy(drawn.targets)
        for step in range(BLOCK):
            optimizer.zero_grad()
            cross_entropy(model(inputs[step]), targets[step]).backward()
            optimizer.step()
    return time.perf_counter() - start, model


def main() -> None:
    torch.set_num_threads(1)
    config = PlaneRecipe()
    ours, theirs, bare = [], [], []
    for seed in range(BASELINE):
        with tempfile.TemporaryDirectory() as folder:
            seconds, model = alone(config, seed)
            theirs.append(seconds)
            bare.append(updates_only(config))
            seconds, program = stacked(Store(folder), config)
            ours.append(seconds)
            with torch.no_grad():
                inputs, targets = program.seen
                loss = cross_entropy(model(inputs[seed]), targets[seed])
            torch.testing.assert_close(loss, torch.tensor(program.measure()["loss"][seed]), rtol=1e-3, atol=1e-4)

    one, together = statistics.median(theirs), {"updates alone": bare, "recorded, checkpointed": ours}
    grid = Grid("1024 updates", f"seconds for {NETWORKS}", "times as fast", box=None)
    grid.add_row("one after the other, plain PyTorch (baseline)", f"{one * NETWORKS:.1f} = {NETWORKS} x {one:.3f}", "1")
    for label, times in together.items():
        seconds = statistics.median(times)
        grid.add_row(f"stacked, {label}", f"{seconds:.2f}", f"{one * NETWORKS / seconds:.1f}")
    Console().print(grid)
    print(f"Target: at least {TARGET} times when recorded. Medians of {BASELINE} rounds that took turns; one thread.")


if __name__ == "__main__":
    main()
