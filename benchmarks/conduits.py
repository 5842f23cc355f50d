"""Training language models on corpora with a rule, and looking into one of them (source 000).

1. Published size (200 units, 1002 symbols, batch 20, 35 steps): tokens per second of one model as the study trains it,
   against the plain word-level language-model loop: nn.Embedding, nn.LSTM, nn.Linear, clip_grad_norm_, p -= lr * grad.
2. Scaled setting of the study conduit-predictability (50 units, 102 symbols): ten models at once, against the plain
   loop for one after the other. At once means what ``rote run`` does on this machine: the population is split over as
   many processes as there are cores, each trains its part as one program. Stacked on one core is shown as well.
3. The decomposition analysis of one checkpoint of published size: 100 rules, all spans of Figures 1 and 2 (k = 8), the
   networks' own probabilities, and the error on 10 of them.

Both sides do the same updates from the same weights on the same corpus, and the losses are compared at the end. They
take turns; medians of the processors' time; one thread per process.

Targets: at least 1.0 times; at least 2 times; under 2 seconds.

    python benchmarks/conduits.py
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

import torch
from rich.console import Console
from rich.table import Table as Grid
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rote.laboratory.laboratory import cores
from rote.models import LanguageModelConfig
from rote.studies.conduits.rules import Passes, RulesMeasurement, RulesRecipe
from rote.studies.conduits.rules_training import RulesProgram, error, read, windows_of
from rote.tasks.rules import RulesTask
from rote.training.loop import clip_gradients

PUBLISHED = RulesRecipe((RulesTask(100_000, 1000, 1000, 8),), LanguageModelConfig(), Passes(epochs=1))
SCALED = RulesRecipe(
    (RulesTask(20_000, 100, 200, 8),),
    LanguageModelConfig(embedding=50, hidden=50),
    Passes(epochs=1, learning_rate=5.0),
)
POPULATION, ROUNDS = 10, 5


def ours(made: RulesProgram, training: Passes, updates: int) -> Tensor:
    """Updates as ``rote.training.train`` makes them."""
    parameters = list(made.model.parameters())
    optimizer = training.make_optimizer(parameters)
    for step in range(updates):
        losses = made.losses(step)
        for parameter in parameters:
            parameter.grad = None
        losses.sum().backward()
        clip_gradients(made, 0.25)
        optimizer.step()
    return losses.detach()


def plain(made: RulesProgram, index: int) -> tuple[nn.ModuleList, Tensor]:
    """Modules with the weights of one replica, and its corpus as [row, column]."""
    like = made.model
    symbols, size = like.embedding.shape[1:]
    modules = nn.ModuleList([nn.Embedding(symbols, size), nn.LSTM(size, size), nn.Linear(size, symbols)])
    with torch.no_grad():
        modules[0].weight.copy_(like.embedding[index])
        for name, weight in like.cell.named_parameters():
            getattr(modules[1], f"{name}_l0").copy_(weight[index])
        modules[2].weight.copy_(like.readout[index])
        modules[2].bias.zero_()
    return modules, made.columns[index].T.contiguous()


def word_level_loop(modules: nn.ModuleList, columns: Tensor, passes: Passes, updates: int) -> Tensor:
    embedding, lstm, readout = modules
    batch, size = columns.shape[1], lstm.hidden_size
    state = (torch.zeros(1, batch, size), torch.zeros(1, batch, size))
    parameters = list(modules.parameters())
    for step in range(updates):
        first = step * passes.bptt
        piece = columns[first : first + passes.bptt + 1]
        state = tuple(value.detach() for value in state)
        modules.zero_grad()
        hidden, state = lstm(embedding(piece[:-1]), state)
        loss = cross_entropy(readout(hidden).flatten(0, 1), piece[1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.25)
        for parameter in parameters:
            parameter.data.add_(parameter.grad, alpha=-passes.learning_rate)
    return loss.detach()


def timed(function: Callable[[], Tensor]) -> tuple[float, Tensor]:
    """Time of this process alone: another one on a busy machine does not count."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def one_model(updates: int = 10, rounds: int = 30) -> tuple[list[float], list[float]]:
    """Who goes first changes from round to round: the memory that one has used is quicker for the other."""
    mine: list[float] = []
    theirs: list[float] = []
    for number in range(-1, rounds):  # the round before the first is for warming up
        made = PUBLISHED.program(range(1), "cpu")
        modules, columns = plain(made, 0)
        ways = [
            (theirs, partial(word_level_loop, modules, columns, PUBLISHED.training, updates)),
            (mine, partial(ours, made, PUBLISHED.training, updates)),
        ]
        losses = []
        for times, way in ways[:: -1 if number % 2 else 1]:
            seconds, loss = timed(way)
            losses.append(loss.view(-1))
            if number >= 0:
                times.append(seconds / updates)
        torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-4)
    return mine, theirs


def part(ready: Barrier, go: Barrier, seeds: range, updates: int, rounds: int, results: Queue[float]) -> None:
    torch.set_num_threads(1)
    made = SCALED.program(seeds, "cpu")
    ours(made, SCALED.training, 2)
    made = SCALED.program(seeds, "cpu")
    for _ in range(rounds):
        ready.wait()
        go.wait()
        results.put(timed(lambda: ours(made, SCALED.training, updates))[0])


def one_after_the_other(prepared: list[tuple[nn.ModuleList, Tensor]], updates: int) -> Tensor:
    return torch.stack([word_level_loop(*each, SCALED.training, updates) for each in prepared])


def population(updates: int = 28) -> tuple[list[float], list[float], list[float]]:
    """Seconds for ten models: at once on all cores, stacked on one core, one after the other."""
    together, stacked, one_by_one = [], [], []
    context, count = multiprocessing.get_context("spawn"), min(cores(), POPULATION)
    ready, go, results = context.Barrier(count + 1), context.Barrier(count + 1), context.Queue()
    shares = [range(i * POPULATION // count, (i + 1) * POPULATION // count) for i in range(count)]
    workers = [context.Process(target=part, args=(ready, go, share, updates, ROUNDS, results)) for share in shares]
    for worker in workers:
        worker.daemon = True
        worker.start()
    for _ in range(ROUNDS):
        made = SCALED.program(range(POPULATION), "cpu")
        prepared = [plain(made, index) for index in range(POPULATION)]
        ready.wait()
        seconds, expected = timed(partial(one_after_the_other, prepared, updates))
        one_by_one.append(seconds)
        seconds, found = timed(partial(ours, made, SCALED.training, updates))
        stacked.append(seconds)
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
        go.wait()
        together.append(max(results.get() for _ in workers))
    for worker in workers:
        worker.join()
    return together, stacked, one_by_one


def analysis() -> list[float]:
    asked, made = RulesMeasurement(), PUBLISHED.program(range(1), "cpu")
    windows = windows_of(PUBLISHED.tasks[0], 0, asked, made.device)
    half = replace(windows, tokens=windows.tokens[:100], kinds=("unseen",))
    model, seconds = made.model.replica(0, torch.float64), []
    for _ in range(ROUNDS):
        start = time.process_time()
        read(model, half, asked)
        error(model, half, asked)
        seconds.append(time.process_time() - start)
    return seconds


def main() -> None:
    torch.set_num_threads(1)
    mine, theirs = map(statistics.median, one_model())
    together, stacked, one_by_one = map(statistics.median, population())
    tokens, scaled = 20 * 35, POPULATION * 20 * 35 * 28
    grid = Grid("training", "tokens per second", "times the baseline", box=None)
    grid.add_row("published size, plain loop (baseline)", f"{tokens / theirs:,.0f}", "1")
    grid.add_row("published size, ours", f"{tokens / mine:,.0f}", f"{theirs / mine:.2f}")
    grid.add_row("ten scaled models one after the other, plain loop (baseline)", f"{scaled / one_by_one:,.0f}", "1")
    grid.add_row("ten stacked, one core", f"{scaled / stacked:,.0f}", f"{one_by_one / stacked:.2f}")
    grid.add_row(
        f"ten at once, {min(cores(), POPULATION)} cores", f"{scaled / together:,.0f}", f"{one_by_one / together:.2f}"
    )
    Console().print(grid)
    print("Targets: at least 1.0 and, at once, 2 times.")
    print(f"Analysis of one checkpoint of published size: {statistics.median(analysis()):.2f} s. Target: under 2 s.")


if __name__ == "__main__":
    main()
