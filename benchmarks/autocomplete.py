"""Autocomplete (source 003): training throughput, what a sampled softmax saves, suggestions, connectivity, preparation.

Training: one step of a model of the published size (two layers of 600 units, 64 observations of 200 characters, 16,386
words, one character in ten of a word outside the vocabulary), forward, backward and Adam, against the float32 matrix
products that this step cannot do without, alone, into memory that is there already: for each layer and step the product
with the recurrent weights and its transpose in the backward pass, for each layer one product over all steps for the
gradient of those weights, three products for the inputs of the second layer (those of the first are 28 characters), and
three for the words, in the pieces that we use. They take turns; one thread each. Target: at least 60 percent of the
rate of the products alone.

Typing: time after one more character (under 10 ms) and for the connectivity of 200 characters (under 1 s), with the
models that come with the package. Preparing 74 million characters of text8, where they are: under a minute and 1 GB.

    python benchmarks/autocomplete.py [rounds]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from rich.console import Console
from rich.table import Table as Grid
from torch import Tensor

import rote
from rote.models import AutocompleteConfig, AutocompleteModel
from rote.models.many_words import PIECE
from rote.tasks.autocomplete import UNKNOWN, Batch
from rote.tasks.text_files import available

UNITS, LAYERS, ROWS, STEPS, WORDS = 600, 2, 64, 200, 16_386
OUTSIDE = 0.1  # share of characters whose word is not in the vocabulary
LARGE = ("gru", "lstm")  # of the published size
GATES = {"gru": 3, "lstm": 4, "nested_lstm": 4}
SENTENCE = (
    "context the formal study of grammar is an important part of education from a young age through advanced learning "
    "though the rules taught in schools are not a grammar in the sense most linguists use t"
)
PREPARE = """
import resource, time
from rote.tasks.autocomplete import AutocompleteTask
start = time.perf_counter()
made = AutocompleteTask(characters=74_000_000).observations()
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, len(made))
"""


def a_batch(words: int) -> Batch:
    random = np.random.default_rng(0)
    targets = random.integers(UNKNOWN + 1, words, (ROWS, STEPS))
    targets[random.random((ROWS, STEPS)) < OUTSIDE] = UNKNOWN
    return Batch(random.integers(1, 28, (ROWS, STEPS)), targets, np.full(ROWS, STEPS))


def seconds_of(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def step_of(model: AutocompleteModel, batch: Batch, samples: int = 0) -> Callable[[], object]:
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    frequencies = torch.ones(len(model.vocabulary))

    def step() -> None:
        loss = model.loss(batch, samples, frequencies)
        for weight in model.parameters():  # as the training loop does it
            if weight.grad is not None:
                weight.grad.zero_()
        loss.backward()
        optimizer.step()

    return step


class Products:
    """The matrix products of one step, alone."""

    def __init__(self, cell: str, counted: int) -> None:
        rows, tokens = GATES[cell] * UNITS, ROWS * STEPS
        self.flops, self.made = 0, list[tuple[Tensor, Tensor, Tensor, int]]()
        self.per_step(cell, rows)
        for _ in range(LAYERS):
            self.add((rows, tokens), (tokens, UNITS))  # gradient of the recurrent weights
        for _ in range(LAYERS - 1):  # the second layer's inputs: forward, their gradient, that of their weights
            self.add((tokens, UNITS), (UNITS, rows))
            self.add((tokens, rows), (rows, UNITS))
            self.add((rows, tokens), (tokens, UNITS))
        piece = PIECE // WORDS
        for times, size in ((counted // piece, piece), (1, counted % piece)):
            self.add((size, UNITS), (UNITS, WORDS), times)
            self.add((size, WORDS), (WORDS, UNITS), times)
            self.add((WORDS, size), (size, UNITS), times)

    def per_step(self, cell: str, rows: int) -> None:
        parts = (2 * UNITS, UNITS) if cell == "gru" else (rows,)  # the candidate waits for the reset gate
        for part in parts:
            self.add((ROWS, UNITS), (UNITS, part), LAYERS * STEPS)
            self.add((ROWS, part), (part, UNITS), LAYERS * STEPS)

    def add(self, one: tuple[int, int], other: tuple[int, int], times: int = 1) -> None:
        made = torch.randn(one), torch.randn(other), torch.empty(one[0], other[1])
        self.made.append((*made, times))
        self.flops += 2 * times * one[0] * one[1] * other[1]

    def __call__(self) -> None:
        for one, other, out, times in self.made:
            for _ in range(times):
                torch.mm(one, other, out=out)


def throughput(rounds: int) -> Grid:
    grid = Grid(
        "one step of training", "GFLOP", "products alone s", "ours s", "share of the rate", "characters/s", box=None
    )
    words = [str(number) for number in range(WORDS)]
    batch = a_batch(WORDS)
    counted = int((batch.targets > UNKNOWN).sum())
    for cell in LARGE:
        model = AutocompleteModel(AutocompleteConfig(cell, UNITS, LAYERS), words)
        ours, alone = step_of(model, batch), Products(cell, counted)
        times: list[tuple[float, float]] = []
        for round_ in range(rounds + 1):
            times.append((seconds_of(alone), seconds_of(ours)))
            if round_ == 0:
                times.clear()  # for warming up
        base, mine = (statistics.median(column) for column in zip(*times, strict=True))
        share = statistics.median(one / other for one, other in times)
        grid.add_row(
            f"{cell}, {LAYERS} x {UNITS}", f"{alone.flops / 1e9:.0f}", f"{base:.2f}", f"{mine:.2f}", f"{share:.0%}",
            f"{ROWS * STEPS / mine:.0f}",
        )  # fmt: skip
    return grid


def sampling(rounds: int) -> Grid:
    grid = Grid("one step of training", "words", "exact s", "samples", "sampled s", "times less", box=None)
    sizes = [(cell, 160, 1, 4098, 512) for cell in GATES] + [(cell, UNITS, LAYERS, WORDS, 1024) for cell in LARGE]
    for cell, units, layers, words, samples in sizes:
        model = AutocompleteModel(AutocompleteConfig(cell, units, layers), [str(number) for number in range(words)])
        steps = [step_of(model, a_batch(words), number) for number in (0, samples)]
        steps[1]()  # for warming up
        times = [[seconds_of(step) for step in steps] for _ in range(rounds)]
        exact, sampled = (statistics.median(column) for column in zip(*times, strict=True))
        name = f"{cell}, {layers} x {units}"
        grid.add_row(name, str(words), f"{exact:.2f}", str(samples), f"{sampled:.2f}", f"{exact / sampled:.1f}")
    return grid


def typing() -> Grid:
    columns = ("one more character ms", "connectivity of 200 characters s", "the same, CPU s")
    grid = Grid("with the model of the package", *columns, box=None)
    for cell in GATES:
        model = rote.load_autocomplete(cell)
        typed, spent = rote.suggest(model, SENTENCE[:1]), []
        for end in range(2, len(SENTENCE) + 1):
            start = time.perf_counter()
            typed = rote.suggest(model, SENTENCE[:end], after=typed)
            spent.append(time.perf_counter() - start)
        tokens = model.encode(SENTENCE)
        wall, cpu = [], []
        for _ in range(3):
            start = time.perf_counter()
            cpu.append(seconds_of(partial(rote.connectivity, model, tokens)))
            wall.append(time.perf_counter() - start)
        times = (1000 * statistics.median(spent), statistics.median(wall), statistics.median(cpu))
        grid.add_row(cell, *(f"{value:.2f}" for value in times))
    return grid


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    console = Console(width=120)
    console.print(typing())
    if available(74_000_000):
        done = subprocess.run([sys.executable, "-c", PREPARE], capture_output=True, text=True, check=True)
        spent, memory, count = done.stdout.split()
        console.print(
            f"74,000,000 characters prepared in {float(spent):.1f} s, {float(memory):.2f} GB: {count} observations."
        )
    console.print(sampling(rounds))
    console.print(throughput(rounds))
    print("Targets: 10 ms, 1 s; 60 s, 1 GB; 60 percent. CPU seconds of one thread; medians of", rounds, "rounds.")


if __name__ == "__main__":
    main()
