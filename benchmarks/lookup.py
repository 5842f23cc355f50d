"""How fast five lookup models of the published size train, and how long looking inside a pair of them takes.

    python benchmarks/lookup.py [updates] [store with the models of the preset paper]

Published size: 512 units, batches of one. Baseline: plain PyTorch (nn.GRU, nn.Linear, Adam with its defaults), one
model after the other. Against it, per update of all five models: the five stacked into one program (whose weight
gradients are gathered into one product each), the same program for one model at a time, and two processes with two and
three stacked models on two cores. Wall time; the engines take turns, and the fastest round of each counts.
"""

import multiprocessing
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracles"))
from plain_encoder_decoder import PlainEncoderDecoder, plain_loss

from rote.recipes import Trained
from rote.store import Store
from rote.studies.realization import inside_measures as measures
from rote.studies.realization.models import LookupRecipe
from rote.studies.realization.training import make_program
from rote.tasks.lookup import PAD
from rote.training.loop import LARGE, clip_gradients

SEEDS, ROUNDS = range(5), 3
RECIPE = LookupRecipe()


def plain_engine(seeds):
    """One model after the other, as one would write it."""
    program = make_program(RECIPE, seeds, "cpu")
    sizes = len(program.data.input_symbols), len(program.data.output_symbols)
    models = [PlainEncoderDecoder(*sizes) for _ in seeds]
    optimizers = [torch.optim.Adam(model.parameters(), 0.001) for model in models]

    def update(step):
        rows = program.data.rows("train", program._chosen(step))
        for replica, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            tokens, targets = rows.tokens[replica], rows.targets[replica]
            logits, attention = model(tokens, (tokens != PAD).sum(-1), targets, program.data.start)
            loss = plain_loss(logits, attention, targets, rows.attention[replica], 1.0)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()

    return update


def stacked_engine(seeds):
    """As the training loop updates a stacked population."""
    program = make_program(RECIPE, seeds, "cpu")
    optimizer = RECIPE.training.make_optimizer(program.model.parameters())
    parameters = list(program.model.parameters())

    def update(step):
        losses = program.losses(step)
        for parameter in parameters:
            if parameter.grad is not None and parameter.numel() >= LARGE:
                parameter.grad.zero_()
            else:
                parameter.grad = None
        losses.sum().backward()
        clip_gradients(program, 5.0)
        optimizer.step()

    return update


def one_by_one_engine(seeds):
    engines = [stacked_engine([seed]) for seed in seeds]

    def update(step):
        for engine in engines:
            engine(step)

    return update


def seconds(update, updates):
    start = time.perf_counter()
    for step in range(updates):
        update(step)
    return (time.perf_counter() - start) / updates


def work(seeds, orders, answers):
    """A process with one thread that times its population whenever it is told how many updates."""
    torch.set_num_threads(1)
    update = stacked_engine(seeds)
    seconds(update, 3)
    answers.put(0.0)
    while updates := orders.get():
        answers.put(seconds(update, updates))


def processes_engine(groups):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    orders = [context.Queue() for _ in groups]
    children = [
        context.Process(target=work, args=(group, order, answers), daemon=True)
        for group, order in zip(groups, orders, strict=True)
    ]
    for child in children:
        child.start()
    for _ in children:
        answers.get()

    def measure(updates):
        for order in orders:
            order.put(updates)
        return max(answers.get() for _ in orders)

    return measure


def main():
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    torch.set_num_threads(1)
    engines = {
        "plain PyTorch, one after the other": plain_engine(SEEDS),
        "ours, one after the other": one_by_one_engine(SEEDS),
        "stacked population": stacked_engine(SEEDS),
    }
    timed = {name: (lambda n, update=update: seconds(update, n)) for name, update in engines.items()}
    timed["two processes, stacked"] = processes_engine([[0, 1, 2], [3, 4]])
    best = dict.fromkeys(timed, float("inf"))
    for name in engines:
        timed[name](3)  # first-time costs
    for _ in range(ROUNDS):
        for name, measure in timed.items():
            best[name] = min(best[name], measure(updates))
    baseline = next(iter(best.values()))
    print(f"five models of 512 units, batches of one, {updates} updates, fastest of {ROUNDS} rounds (target 1.8x)")
    for name, value in best.items():
        print(f"  {name:36} {1000 * value:7.1f} ms per update of all five   {baseline / value:5.2f}x")

    if len(sys.argv) > 2:
        look_inside(Store(sys.argv[2]))


def look_inside(store):
    """All analyses of a trained pair, from a store in which lookup-accuracy has finished at the preset paper."""
    total = 0.0
    for recipe in (RECIPE.baseline(), RECIPE):
        (job,) = recipe.jobs(SEEDS)
        model = Trained(store.load(job.request.id)).network(0).model
        begin = time.perf_counter()
        measures.every_measure(measures.InsideModel(model, recipe.task), 5, 0, in_detail=True)
        spent = time.perf_counter() - begin
        total += spent
        print(f"  all analyses, {recipe.label}: {spent:.1f} s")
    print(f"  all analyses of the pair: {total:.1f} s (target 60 s)")


if __name__ == "__main__":
    main()
