"""A program small enough to be followed by hand, and its training, for the tests of the loop and of populations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rote.store import Request, Store
from rote.training import Program, TrainingConfig, train


class Line(Program):
    """A linear map with a batch of its own for each step, in float64."""

    def __init__(self) -> None:
        own = torch.Generator().manual_seed(1)
        self.model = nn.Linear(3, 2).double()
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=own, dtype=torch.float64))

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        own = torch.Generator().manual_seed(100 + step)
        return (
            torch.randn(5, 3, generator=own, dtype=torch.float64),
            torch.randn(5, 2, generator=own, dtype=torch.float64),
        )

    def losses(self, step: int) -> Tensor:
        inputs, targets = self.batch(step)
        return (self.model(inputs) - targets).square().mean().reshape(1)

    def measure(self) -> dict[str, Any]:
        return {"loss": self.losses(0).tolist()}


def trained(program: Program, config: TrainingConfig, folder: Path, **rest: Any) -> list[dict[str, Any]]:
    """Train and give back the recorded rows."""
    store = Store(folder)
    with store.open(Request("oracle", 1, "p", {"number": len(store.runs())}, (0,))) as run:
        train(program, config, run, **rest)
        return run.metrics.rows()
