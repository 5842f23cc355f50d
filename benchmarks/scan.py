"""Ten SCAN models of the published size, five seeds in settings A and B, against plain PyTorch one after the other.

Training only: batches of 256 from the same lines, forward, backward, Adam; nothing is measured or written. The baseline
is nn.LSTM on padded batches, tests/oracles/plain_translator.py, in one process with one thread; two of its ten models,
one of each setting, are trained and their time is scaled to ten. Ours are trained five at a time, as one program for
each setting: one after the other in one process for the CPU time, at the same time in two processes for the wall time.
All use one thread per process and the same initial weights; that they did the same work is checked: same loss at the
end. Where other programs use the cores, the CPU time of the slower of the two processes says what the wall time would
be without them. Then sentence accuracy on all 7,706 test commands, which needs no decoding, and decoding them all.

Targets: 2.5 times less CPU time per step and model, 4 times less wall time with two cores, 5 s per model to decode.

    python benchmarks/scan.py
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table as Grid
from torch.nn.functional import cross_entropy

from rote.laboratory import studies
from rote.studies.resistance.scan import ScanConfig
from rote.studies.resistance.scan_training import ScanProgram
from rote.tasks.scan_examples import END, ScanTask, encoded

sys.path.append(str(Path(__file__).parents[1] / "tests" / "oracles"))
from plain_translator import PlainTranslator, copy_replica

SEEDS, STEPS, ROUNDS = 5, 24, 3
SETTINGS = ("original", "random")


def program_of(setting: str, config: ScanConfig, seeds: int = SEEDS) -> ScanProgram:
    return config.recipe(setting).program(range(seeds), "cpu")


def train_ours(program: ScanProgram, config: ScanConfig) -> list[float]:
    optimizer = config.training.make_optimizer(program.model.parameters())
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = config.training.learning_rate_at(step)
        losses = program.losses(step)
        optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()
        optimizer.step()
    return losses.tolist()


def train_plain(model: PlainTranslator, setting: str, config: ScanConfig) -> float:
    drawn = ScanTask(setting=setting).training(0, 0, 64, config.training.batch)
    known = encoded()
    optimizer = torch.optim.Adam([weight for weight in model.parameters() if weight.requires_grad])
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = config.training.learning_rate_at(step)
        commands = drawn[step]
        lengths, ends = known.input_lengths[commands], torch.from_numpy(known.output_lengths[commands])
        tokens = torch.from_numpy(known.inputs[commands][:, : lengths.max()])
        targets = torch.from_numpy(known.outputs[commands][:, : int(ends.max())])
        fed = torch.cat([torch.full_like(targets[:, :1], END), targets[:, :-1]], 1)
        targets = targets.masked_fill(torch.arange(targets.shape[1]) >= ends[:, None], -100)
        optimizer.zero_grad()
        loss = cross_entropy(model(tokens, torch.from_numpy(lengths), fed).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
    return loss.item()


def in_process(setting: str, config: ScanConfig, ready: Barrier, done: Barrier, spent: SimpleQueue[float]) -> None:
    """Two of these at the same time; what comes before training is not counted."""
    torch.set_num_threads(1)
    program_of(setting, config).losses(0).sum().backward()
    for _ in range(ROUNDS):
        program = program_of(setting, config)
        ready.wait()
        start = time.process_time()
        train_ours(program, config)
        spent.put(time.process_time() - start)
        done.wait()


def two_processes(config: ScanConfig) -> tuple[float, float]:
    """Wall seconds, and CPU seconds of the slower process, which they would be on two cores without other work."""
    context = multiprocessing.get_context("spawn")
    ready, done, spent = context.Barrier(3), context.Barrier(3), context.SimpleQueue()
    workers = [context.Process(target=in_process, args=(setting, config, ready, done, spent)) for setting in SETTINGS]
    for worker in workers:
        worker.start()
    wall, cpu = [], []
    for _ in range(ROUNDS):
        ready.wait()
        start = time.perf_counter()
        done.wait()
        wall.append(time.perf_counter() - start)
        cpu.append(max(spent.get(), spent.get()))
    for worker in workers:
        worker.join()
    return statistics.median(wall), statistics.median(cpu)


def one_process(config: ScanConfig) -> tuple[list[float], list[float], list[float]]:
    """CPU seconds of ten models of ours, CPU and wall seconds of ten plain ones; in turns."""
    ours, plain, plain_wall = [], [], []
    for round_ in range(ROUNDS + 1):  # the first warms up
        spent = [0.0, 0.0, 0.0]
        for setting in SETTINGS:
            program, model = program_of(setting, config), PlainTranslator(13, 7)
            copy_replica(program.model, 0, model)
            start, wall = time.process_time(), time.perf_counter()
            loss = train_plain(model, setting, config)
            spent[1] += SEEDS * (time.process_time() - start)
            spent[2] += SEEDS * (time.perf_counter() - wall)
            start = time.process_time()
            losses = train_ours(program, config)
            spent[0] += time.process_time() - start
            assert abs(losses[0] - loss) < 1e-3 * loss, (losses[0], loss)
        if round_:
            for times, seconds in zip((ours, plain, plain_wall), spent, strict=True):
                times.append(seconds)
    return ours, plain, plain_wall


def evaluation(config: ScanConfig) -> tuple[int, float, float]:
    """Seconds of one model on all test commands: exact sentence accuracy, and what it says when fed its own guesses."""
    program = program_of("original", config, seeds=1)
    commands = program.task.test(0)[None]
    program.right(commands[:, :256])
    start = time.perf_counter()
    program.right(commands)
    accuracy = time.perf_counter() - start
    start = time.perf_counter()
    pairs = program.pairs(commands)
    said = pairs.in_order(program.model.decode(pairs, END, 50))
    assert said.shape[1] == commands.shape[1]
    return np.size(commands), accuracy, time.perf_counter() - start


def main() -> None:
    torch.set_num_threads(1)
    config = studies["scan-jump"]().resolve("paper", {})
    encoded()
    ours, plain, plain_wall = (statistics.median(times) for times in one_process(config))
    both, slower = two_processes(config)
    per = 1000 / (STEPS * 2 * SEEDS)
    grid = Grid("training, per step and model", "ms", "times less", box=None)
    grid.add_row("plain PyTorch, padded, one after the other: CPU", f"{plain * per:.1f}", "1")
    grid.add_row("ours, five at a time, one process: CPU", f"{ours * per:.1f}", f"{plain / ours:.2f}")
    grid.add_row("plain PyTorch, one process: wall", f"{plain_wall * per:.1f}", "1")
    grid.add_row("ours, two processes: wall", f"{both * per:.1f}", f"{plain_wall / both:.2f}")
    grid.add_row("ours, two processes: CPU of the slower", f"{slower * per:.1f}", f"{plain / slower:.2f}")
    console = Console()
    console.print(grid)
    commands, accuracy, decoding = evaluation(config)
    console.print(f"All {commands} test commands, one model: accuracy {accuracy:.2f} s, decoding {decoding:.2f} s.")
    print(f"Targets: 2.5, 4 and 5 s. Medians of {ROUNDS} rounds of {STEPS} steps that took turns; one thread each.")


if __name__ == "__main__":
    main()
