"""The plane's networks with what they take from each input measured while they learn; with one output and with two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.analyses.dependence import crossed
from rote.models import StackedMLP
from rote.store import Column, Request, Run, Table
from rote.studies.resistance.plane import PlaneConfig, task_of
from rote.studies.resistance.plane_training import PlaneProgram, mean_losses
from rote.training import train

if TYPE_CHECKING:
    from rote.studies.resistance.information import InformationConfig
    from rote.studies.study import Progress

COLUMNS = (
    Column("setting", "what X2 tells about the class in training", "label"),
    Column("outputs", "1: the class; 2: the sign of X2 too", "label"),
    Column("seed", "random seed", "label"),
    Column("step", "updates", "label"),
    Column("loss", "cross entropy over the training region, nats"),
    Column("seen", "share of the training region classified right, by all outputs"),
    Column("corner", "share of the held-out corner classified right, by all outputs"),
    Column("own_given", "I(prediction; its own input | the other), bits; mean over the outputs"),
    Column("other_given", "I(prediction; the other input | its own), bits; mean over the outputs"),
    Column("own_gradient", "mean size of the margin's derivative by its own input"),
    Column("other_gradient", "mean size of the margin's derivative by the other input"),
    Column("other_slope", "the same with its sign"),
    Column("input", "I(inputs; prediction of the class) over the training region, bits"),
    Column("class", "I(class; prediction of the class) over the training region, bits"),
)
MEASURED = tuple(column.name for column in COLUMNS if column.role == "measured")


class InformedProgram(PlaneProgram):
    """``outputs`` pairs of logits: the first for the sign of X1, the class, the second for the sign of X2."""

    def __init__(
        self, setting: str, config: InformationConfig, outputs: int, seeds: Sequence[int], device: str
    ) -> None:
        super().__init__(task_of(setting), PlaneConfig(config.model, config.training), seeds, device)
        self.outputs, self.values = outputs, config.values
        self.model = StackedMLP(2, 2 * outputs, config.model, seeds, self.dtype).to(self.device)
        axis = (torch.arange(config.values, dtype=torch.float64) + 0.5) / config.values * 2 - 1
        self.points = torch.cartesian_prod(axis, axis).to(self.device, self.dtype)  # X2 running fastest

    def losses(self, step: int) -> Tensor:
        inputs, _ = self.batch_of(step)
        return self._losses(self.model(inputs), inputs)

    def measure(self) -> dict[str, Any]:
        seen, corner = self.seen[0], self.corner[0]
        logits = self._evaluate(seen)
        row = {
            "loss": self._losses(logits, seen),
            "seen": self._correct(logits, seen),
            "corner": self._correct(self._evaluate(corner), corner),
            **self._given(),
            **self._gradients(),
            **self._of_class(logits[..., :2].softmax(-1)),
        }
        return {name: values.double().tolist() for name, values in row.items()}

    def _given(self) -> dict[str, Tensor]:
        """Over all combinations of evenly spaced X1 and X2, the unseen ones too."""
        logits = self._evaluate(self.points.expand(self.replicas, -1, -1))
        shape = (self.replicas, self.values, self.values, self.outputs, 2)
        given = crossed(logits.reshape(shape).movedim(3, 1).softmax(-1)).given  # [replica, output, input]
        own = given.diagonal(dim1=1, dim2=2)[:, : self.outputs]
        return {"own_given": own.mean(1), "other_given": (given.sum(2) - own).mean(1)}

    def _gradients(self) -> dict[str, Tensor]:
        points = self.points.repeat(self.replicas, 1, 1).requires_grad_()
        with torch.enable_grad():
            margins = self.model(points).unflatten(-1, (self.outputs, 2)).diff(dim=-1)[..., 0]
            found = [torch.autograd.grad(margin.sum(), points, retain_graph=True)[0] for margin in margins.unbind(-1)]
        own = torch.stack([gradient[..., index] for index, gradient in enumerate(found)])
        other = torch.stack([gradient[..., 1 - index] for index, gradient in enumerate(found)])
        return {
            "own_gradient": own.abs().mean((0, 2)),
            "other_gradient": other.abs().mean((0, 2)),
            "other_slope": other.mean((0, 2)),
        }

    def _of_class(self, p: Tensor) -> dict[str, Tensor]:
        """Over the training region: what the inputs, and what the class, tell about the prediction."""
        is_one = self.seen[1][0].bool()
        zero, one = p[:, ~is_one].mean(1), p[:, is_one].mean(1)
        by_class = torch.stack([zero, zero, one], 1)  # of the three quadrants two are of class 0
        return {"input": crossed(p, 1).total, "class": crossed(by_class, 1).total}

    def _losses(self, logits: Tensor, inputs: Tensor) -> Tensor:
        pairs = zip(logits.split(2, -1), (inputs > 0).long().unbind(-1), strict=False)
        return torch.stack([mean_losses(pair, target) for pair, target in pairs]).sum(0)

    def _correct(self, logits: Tensor, inputs: Tensor) -> Tensor:
        classes = logits.unflatten(-1, (self.outputs, 2)).argmax(-1)
        right: Tensor = (classes == (inputs[..., : self.outputs] > 0)).all(-1).double().mean(1)
        return right


def train_and_measure(config: InformationConfig, request: Request, run: Run, progress: Progress, device: str) -> Table:
    setting, outputs = request.part.split()
    program = InformedProgram(setting, config, int(outputs), request.seeds, device)
    train(program, config.training, run, progress=progress)
    rows = [
        {"setting": setting, "outputs": int(outputs), "seed": seed, "step": row["step"]}
        | {name: row[name][index] for name in MEASURED}
        for row in run.metrics.rows()
        for index, seed in enumerate(request.seeds)
    ]
    return Table.make("curves", "Every network over training", COLUMNS, rows, details=True)
