"""The plane's networks with what they take from each input measured while they learn; with one output and with two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.analyses.dependence import crossed
from rote.models import StackedMLP
from rote.store import Column, Table
from rote.studies.resistance.plane_training import PlaneProgram, mean_losses

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.resistance.information import InformationMeasurement, InformationRecipe

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
    Column("first_given", "I(prediction of the class; X2 | X1), bits"),
    Column("second_given", "I(prediction of the sign of X2; X1 | X2), bits"),
    Column("own_gradient", "mean size of the margin's derivative by its own input"),
    Column("other_gradient", "mean size of the margin's derivative by the other input"),
    Column("other_slope", "the same with its sign"),
    Column("input", "I(inputs; prediction of the class) over the training region, bits"),
    Column("class", "I(class; prediction of the class) over the training region, bits"),
)


class InformedProgram(PlaneProgram):
    """``outputs`` pairs of logits: the first for the sign of X1, the class, the second for the sign of X2."""

    def __init__(self, recipe: InformationRecipe, seeds: Sequence[int], device: str) -> None:
        super().__init__(recipe.task, recipe.model, recipe.training, seeds, device)
        self.outputs = recipe.outputs
        self.model = StackedMLP(2, 2 * self.outputs, recipe.model, seeds, self.dtype).to(self.device)

    def losses(self, step: int) -> Tensor:
        inputs, _ = self.batch_of(step)
        return self._losses(self.model(inputs), inputs)

    def measure(self) -> dict[str, Any]:
        seen = self.seen[0]
        return {"loss": self._losses(self._evaluate(seen), seen).double().tolist()}

    def information(self, values: int) -> dict[str, list[float]]:
        """Every measure of every replica; ``values`` of X1 and of X2, evenly spaced, are combined with each other."""
        axis = (torch.arange(values, dtype=torch.float64) + 0.5) / values * 2 - 1
        points = torch.cartesian_prod(axis, axis).to(self.device, self.dtype)  # X2 running fastest
        seen, corner = self.seen[0], self.corner[0]
        logits = self._evaluate(seen)
        row = {
            "loss": self._losses(logits, seen),
            "seen": self._correct(logits, seen),
            "corner": self._correct(self._evaluate(corner), corner),
            **self._given(points),
            **self._gradients(points),
            **self._of_class(logits[..., :2].softmax(-1)),
        }
        return {name: numbers.double().tolist() for name, numbers in row.items()}

    def _given(self, points: Tensor) -> dict[str, Tensor]:
        """Over all combinations of evenly spaced X1 and X2, the unseen ones too."""
        logits = self._evaluate(points.expand(self.replicas, -1, -1))
        values = math.isqrt(len(points))
        shape = (self.replicas, values, values, self.outputs, 2)
        given = crossed(logits.reshape(shape).movedim(3, 1).softmax(-1)).given  # [replica, output, input]
        own = given.diagonal(dim1=1, dim2=2)[:, : self.outputs]
        other = given.sum(2) - own
        each = dict(zip(("first_given", "second_given"), other.unbind(1), strict=False))
        return {"own_given": own.mean(1), "other_given": other.mean(1), **each}

    def _gradients(self, points: Tensor) -> dict[str, Tensor]:
        points = points.repeat(self.replicas, 1, 1).requires_grad_()
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


def measured(asked: InformationMeasurement, trained: Trained, progress: Progress, device: str) -> Table:
    """Every network at steps 0, 1, 2, 4, ..., from the weights that were kept there."""
    recipe: InformationRecipe = trained.recipe
    program, rows = recipe.program(trained.seeds, device), []
    with torch.no_grad():
        for done, step in enumerate(trained.steps):
            program.model.load_state_dict(trained.weights(step))
            found = program.information(asked.values)
            rows += [
                {"setting": recipe.task.setting, "outputs": recipe.outputs, "seed": seed, "step": step}
                | {name: values[index] for name, values in found.items()}
                for index, seed in enumerate(trained.seeds)
            ]
            progress(done + 1, len(trained.steps))
    return Table.make("curves", "Every network over training", COLUMNS, rows, details=True)
