"""Best weights, replica by replica, and early stopping: each replica stops by itself."""

from __future__ import annotations

from typing import Any

import torch

from rote.training.program import Program

NEVER = 2**62  # records


class EarlyStopping:
    def __init__(self, program: Program, patience: int | None) -> None:
        self.program, self.patience = program, NEVER if patience is None else patience
        self.best = torch.full((program.replicas,), torch.inf, dtype=torch.float64)
        self.since = torch.zeros(program.replicas, dtype=torch.int64)  # records without improvement
        self.weights = {name: value.clone() for name, value in program.model.state_dict().items()}

    def update(self, values: list[float]) -> None:
        """Look at the monitored measure of each replica; one that has stopped is not looked at again."""
        current = torch.tensor(values, dtype=torch.float64)
        better = (current < self.best) & (self.since < self.patience)
        self.since = torch.where(better, 0, self.since + 1)
        self.best = torch.where(better, current, self.best)
        self._keep(better)

    @property
    def finished(self) -> bool:
        return bool((self.since >= self.patience).all())

    def restore_best(self) -> None:
        self.program.model.load_state_dict(self.weights)

    def state(self) -> dict[str, Any]:
        return {"best": self.best, "since": self.since, "weights": self.weights}

    def load(self, state: dict[str, Any]) -> None:
        self.best, self.since = state["best"], state["since"]
        for name, value in state["weights"].items():
            self.weights[name].copy_(value)

    def _keep(self, better: torch.Tensor) -> None:
        for name, value in self.program.model.state_dict().items():
            if self.program.stacked:
                chosen = better.to(value.device)
                self.weights[name][chosen] = value[chosen]
            elif better.any():
                self.weights[name].copy_(value)
