"""Short trainings in which everything happens that a run has to survive being stopped in."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rote.store import Column, FinishedRun, Request, Run, Store, Table
from rote.training import Program, TrainingConfig, train


class Fragile(Program):
    """Small, but every kind of state matters: dropout, batch statistics, and all three generators of random numbers."""

    def __init__(self, seed: int) -> None:
        own = torch.Generator().manual_seed(seed)
        self.model = nn.Sequential(
            nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.3), nn.Tanh(), nn.Linear(6, 1)
        )  # fmt: skip
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_(torch.rand(parameter.shape, generator=own) - 0.5)
        self.fixed = torch.randn(16, 4, generator=own)

    def losses(self, step: int) -> Tensor:
        shift = random.gauss(0.0, 1.0) + float(np.random.normal())  # both keep half of each pair of numbers for later
        inputs = torch.randn(8, 4) + 0.1 * shift
        return self._loss(inputs)

    def measure(self) -> dict[str, Any]:
        return {"loss": (self._loss(self.fixed) + 0.3 * np.random.normal()).tolist(), "luck": random.random()}

    def _loss(self, inputs: Tensor) -> Tensor:
        return (self.model(inputs) - inputs.prod(1, keepdim=True)).square().mean().reshape(1)


@dataclasses.dataclass(frozen=True)
class Case:
    """One way of training, as short as it can be with everything happening in it."""

    name: str
    training: TrainingConfig
    seeds: tuple[int, ...]
    snapshots: tuple[int, ...] = ()

    @property
    def request(self) -> Request:
        return Request("killed", 1, self.name, {"steps": self.training.steps}, self.seeds)

    def program(self) -> Program:
        if self.name.startswith("fragile"):
            return Fragile(self.seeds[0])
        from rote.models import MLPConfig
        from rote.studies.resistance.plane_training import PlaneProgram
        from rote.tasks.plane import PlaneTask

        return PlaneProgram(PlaneTask(), MLPConfig(), self.training, self.seeds, "cpu")

    def perform(self, store: Store, progress: Callable[[int, int], None] | None = None) -> Path:
        with store.open(self.request) as run:
            program = self.program()
            train(program, self.training, run, progress=progress, snapshots=self.snapshots)
            run.finish([table_of(program, run)])
        return store.folder(self.request)


def table_of(program: Program, run: Run) -> Table:
    rows = [{"name": name, "value": value.double().sum().item()} for name, value in program.model.state_dict().items()]
    rows += [{"name": f"step {row['step']}", "value": row["loss"][0]} for row in run.metrics.rows()]
    return Table.make("weights", "Weights", [Column("name", role="label"), Column("value")], rows)


# Stops early, after its best weights: the last step saves other weights than those of that step.
EARLY = Case(
    "fragile early",
    TrainingConfig(
        steps=30, optimizer="adam", learning_rate=0.05, schedule="exponential", decay=0.5, decay_every=4, clip=0.5,
        record_every=1, patience=2,
    ),
    seeds=(4,),
)  # fmt: skip
# Goes to the end, several networks in one program, some checkpoints to be kept.
STACKED = Case(
    "stacked",
    TrainingConfig(
        steps=4, batch=4, momentum=0.9, weight_decay=0.01, schedule="staircase", decay_every=2, clip=0.1, record_every=2
    ),
    seeds=(3, 5),
    snapshots=(0, 2),
)
LONG = dataclasses.replace(STACKED, training=dataclasses.replace(STACKED.training, steps=40), snapshots=(0, 8, 16))
CASES = {"early": EARLY, "stacked": STACKED, "long": LONG}


def essentials(folder: Path) -> dict[str, bytes]:
    """Every file of a run but the record, which has times in it, and the lock."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in ("record.json", "lock")}


def finished(case: Case, store: Store) -> dict[str, bytes]:
    """Take the run up in this process and go to its end."""
    FinishedRun(case.perform(store))
    return essentials(store.folder(case.request))
