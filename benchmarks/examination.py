"""What does a standard examination of a model of about 100,000 weights cost? Target: 15 minutes of two cores.

    python benchmarks/examination.py                         # a few updates of every task, as rote examine plans
    python benchmarks/examination.py --trained lookup        # and one training of this task, with what it is spent on

An LSTM and a transformer are timed as ``rote examine`` times a model before it plans, but in processor time, which
other programs on the machine hardly change. What is printed are the minutes of one core for all tasks with five seeds
and the choice of the rate, and how much of it is not updates but the allowance for what stands beside them
(``rote.examination.plan.OVERHEAD``). ``--trained`` trains one network as a worker does and asks it, so that this
allowance is measured.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import torch
from torch import nn

from rote.cells import Recurrent
from rote.examination import battery
from rote.examination.learners import enter
from rote.examination.plan import OVERHEAD, planned, seconds_of, standard
from rote.examination.recipe import ExaminationMeasurement, ExaminationRecipe
from rote.examination.training import ExaminationProgram
from rote.laboratory.orders import Order
from rote.laboratory.perform import code_for, perform
from rote.models import SequenceModel
from rote.models.transformer import TransformerConfig
from rote.recipes import Job
from rote.store import Store

MINUTES, CORES, SEEDS = 15, 2, 5


def lstm(symbols: int) -> nn.Module:
    recurrent = Recurrent("lstm", 64, 128)
    return SequenceModel(recurrent, nn.Embedding(symbols, 64), nn.Linear(128, symbols))


def transformer(symbols: int) -> nn.Module:
    config = TransformerConfig(width=76)
    return config.build(symbols, seed=int(torch.randint(2**31, ())))


LEARNERS = {"lstm": lstm, "transformer": transformer}


def estimate(name: str) -> None:
    size = sum(weight.numel() for weight in LEARNERS[name](33).parameters())
    costs = {task: seconds_of(f"large:{name}", task, clock=time.process_time) for task in standard()}
    plan = planned(costs, float("inf"), SEEDS)
    beside = OVERHEAD * plan.trainings / 60
    print(
        f"{name}, {size:,} weights: {plan.trainings} trainings, {plan.seconds / 60:.1f} minutes of one core, "
        f"{beside:.1f} of them beside the updates; {MINUTES * CORES} are there"
    )
    print("  " + ", ".join(f"{task} {seconds:.1f} s" for task, seconds in costs.items()))


def trained(name: str, task: str) -> None:
    """One training and what is asked of it, in processor seconds."""
    recipe = ExaminationRecipe(f"large:{name}", task, steps=battery[task].steps)
    (job,) = recipe.jobs([0])
    begun = time.process_time()
    program = ExaminationProgram(recipe.learner, battery[task](), 0)
    items = time.process_time() - begun
    with torch.no_grad():
        recording = _seconds(program.measure) * len(recipe.training.recorded_steps())
    estimated = seconds_of(recipe.learner, task, clock=time.process_time)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        training, asking = (_performed(store, one) for one in (job, ExaminationMeasurement().of(job)))
    print(
        f"  {task}: {training + asking:.1f} s of one core, {estimated:.1f} estimated. Training {training:.1f} (items "
        f"{items:.2f}, records {recording:.2f}), what is asked of it {asking:.2f}"
    )


def _performed(store: Store, job: Job) -> float:
    order = Order(job.request, {}, "cpu", code_for(job), tuple(need.request for need in job.needs))
    return _seconds(lambda: perform(store, order, "cpu", lambda done, total: None))


def _seconds(act: object) -> float:
    begun = time.process_time()
    assert callable(act)
    act()
    return time.process_time() - begun


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trained", default="", metavar="TASK,...")
    parser.add_argument("--learners", default=",".join(LEARNERS))
    chosen = parser.parse_args()
    torch.optim.AdamW([nn.Parameter(torch.zeros(1))])  # whose first use imports a lot, once for each process
    for name in chosen.learners.split(","):
        enter(f"large:{name}", LEARNERS[name])
        estimate(name)
        for task in filter(None, chosen.trained.split(",")):
            trained(name, task)


if __name__ == "__main__":
    main()
