"""A population of networks on the plane that is trained a few updates at a time and looked at in between.

With the default settings the networks are those of the study ``plane``: same weights, same points, same updates. What a
session holds after a number of updates depends on its settings, and on when they were changed, never on the clock.
"""

from __future__ import annotations

import base64
import math
import time
from typing import Any

import torch
from torch import Tensor

from rote.analyses.dependence import crossed
from rote.explorer.plane_settings import COMBINATIONS, PlaneSettings
from rote.explorer.training_jobs import Look
from rote.models import MLPConfig, StackedMLP
from rote.studies.resistance.plane_training import PlaneProgram
from rote.training import TrainingConfig

SIDE = 40  # points per side of the picture, half of them in each quadrant
SLOPE_SIDE = 20  # of the points at which derivatives are taken
UNIT_SIDE = 16  # of the picture of a unit
SHOWN_POINTS = 120  # of each network's training data


class PlaygroundProgram(PlaneProgram):
    """The study's networks with layers of any sizes, and with a penalty on their weights."""

    def __init__(self, settings: PlaneSettings) -> None:
        training = TrainingConfig(batch=settings.batch, learning_rate=settings.learning_rate)
        super().__init__(settings.task(), MLPConfig(), training, settings.seed_numbers(), "cpu")
        shape = MLPConfig(activation=settings.activation)
        self.model: StackedMLP = StackedMLP(2, 2, shape, self.seeds, self.dtype, settings.hidden)
        self.settings = settings
        self.optimizer = training.make_optimizer(self.model.parameters())

    def change(self, settings: PlaneSettings) -> None:
        """Data, learning rate and penalty from the next update on."""
        self.settings, self.task, self.batch = settings, settings.task(), settings.batch
        self._block = -1  # draw the batches again
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate

    def losses(self, step: int) -> Tensor:
        return super().losses(step) + self._penalty()

    def update(self, step: int) -> None:
        losses = self.losses(step)
        self.optimizer.zero_grad()
        losses.sum().backward()
        self.optimizer.step()

    def logits(self, points: Tensor) -> Tensor:
        """[replica, point, class]"""
        return self._evaluate(points.expand(self.replicas, -1, -1))

    def _penalty(self) -> Tensor:
        kind, zero = self.settings.regularization, torch.zeros(self.replicas)
        if kind == "none" or not self.settings.strength:
            return zero
        sizes = [(weight.abs() if kind == "l1" else weight.square() / 2).sum((1, 2)) for weight in self.model.weights]
        return self.settings.strength * torch.stack(sizes).sum(0)


class PlaneSession:
    def __init__(self, settings: PlaneSettings | None = None) -> None:
        self.settings = settings or PlaneSettings()
        self.version = 0  # how often it was changed or begun again: which of two frames is the newer one
        self.restart()

    def restart(self) -> None:
        self.program, self.step = PlaygroundProgram(self.settings), 0
        self.version += 1

    def change(self, settings: PlaneSettings) -> bool:
        """Whether the networks are new; otherwise they go on under the new settings."""
        new = not settings.same_networks(self.settings)
        self.settings = settings
        if new:
            self.restart()
        else:
            self.program.change(settings)
            self.version += 1
        return new

    def advance(self, updates: int, seconds: float = math.inf) -> None:
        """So many updates, fewer when the time is over (one at least)."""
        end = time.monotonic() + seconds
        for _ in range(updates):
            self.program.update(self.step)
            self.step += 1
            if time.monotonic() > end:
                break

    def seen(self, look: Look | None = None) -> dict[str, Any]:
        """All that the page shows: the frame, and points that were learned from."""
        return {"frame": self.frame(look), "points": self.points()}

    def points(self) -> list[dict[str, Any]]:
        """Of each network the first points that it learns from under the current settings."""
        batches = -(-SHOWN_POINTS // self.settings.batch)
        found = []
        for seed in self.settings.seed_numbers():
            drawn = self.program.task.training(seed, 0, batches, self.settings.batch)
            inputs, targets = drawn.inputs.reshape(-1, 2)[:SHOWN_POINTS], drawn.targets.reshape(-1)[:SHOWN_POINTS]
            found.append({"x": inputs.round(3).tolist(), "y": targets.tolist()})
        return found

    @torch.no_grad()
    def frame(self, look: Look | None = None) -> dict[str, Any]:
        """What is seen at this step, as plain data: a list with an entry for each network.

        image: probability of class 1 as bytes, finer near one half, where the boundary is: base64 of [network, X1, X2],
        lowest first. loss and accuracy: of each quadrant. train: the loss with the quadrants weighted as training shows
        them. alone, given: bits; gradient: mean norm of d logits / d X_i. ``look``: of its network also the weights,
        and the picture of each hidden unit.
        """
        logits = self.program.logits(_even(SIDE)).double()
        quadrants = logits.unflatten(1, (2, SIDE // 2, 2, SIDE // 2))
        surprise, right = _by_quadrant(quadrants)
        probabilities = logits.softmax(-1).unflatten(1, (SIDE, SIDE))
        bits = crossed(probabilities)
        frame: dict[str, Any] = {
            "step": self.step,
            "version": self.version,
            "image": _bytes(_fine_near_half(probabilities[..., 1].nan_to_num(0.5))),
            "train": _plain((surprise * self._shares()).sum(1)),
            "loss": _plain(surprise),
            "accuracy": _plain(right),
            "alone": _plain(bits.alone),
            "given": _plain(bits.given),
            "gradient": _plain(self._slopes()),
        }
        if look is not None:
            frame["network"] = self._network(min(look.network, self.settings.seeds - 1))
        return frame

    def _shares(self) -> Tensor:
        """How often training shows each quadrant."""
        chosen, redundancy = self.settings.combinations, self.settings.redundancy
        shown = torch.tensor([float(name in chosen) for name in COMBINATIONS]) / len(chosen)
        of_class = shown.view(2, 2).sum(1)
        return redundancy * shown + (1 - redundancy) * of_class.repeat_interleave(2) / 2

    def _slopes(self) -> Tensor:
        """Mean over the plane of the norm of d logits / d X_i, [network, input]."""
        points = _even(SLOPE_SIDE).repeat(self.settings.seeds, 1, 1).requires_grad_()
        with torch.enable_grad():
            columns = self.program.model(points).unbind(-1)
            found = [torch.autograd.grad(column.sum(), points, retain_graph=True)[0] for column in columns]
        return torch.stack(found).double().square().sum(0).sqrt().mean(1)

    def _network(self, place: int) -> dict[str, Any]:
        model, values, units = self.program.model, _even(UNIT_SIDE), []
        for weight, bias in zip(model.weights[:-1], model.biases[:-1], strict=True):
            values = model.activation(values @ weight[place] + bias[place])
            units.append(values)
        pictures = torch.cat(units, 1).T if units else torch.empty(0, UNIT_SIDE**2)
        largest = pictures.abs().amax(1, keepdim=True).clamp(min=1e-9)
        return {
            "place": place,
            "weights": [_plain(weight[place]) for weight in model.weights],
            "biases": [_plain(bias[place, 0]) for bias in model.biases],
            "units": _bytes((pictures / largest / 2 + 0.5).nan_to_num(0.5)),
        }


def _even(per_side: int) -> Tensor:
    """The middles of a grid over the plane, X2 running fastest: as many in each quadrant."""
    axis = (torch.arange(per_side) + 0.5) / per_side * 2 - 1
    return torch.cartesian_prod(axis, axis)


def _by_quadrant(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Mean loss and share of right answers, [network, quadrant], of logits [network, Y1, x1, Y2, x2, class]."""
    surprise = torch.stack([-logits[:, y1].log_softmax(-1)[..., y1] for y1 in (0, 1)], 1)
    right = torch.stack([logits[:, y1].argmax(-1) == y1 for y1 in (0, 1)], 1).double()
    return surprise.mean((2, 4)).flatten(1), right.mean((2, 4)).flatten(1)


def _fine_near_half(p: Tensor) -> Tensor:
    """0..1 -> 0..1, so that 256 steps still tell on which side of one half a network is that is hardly sure."""
    margin = 2 * p - 1
    return (1 + margin.sign() * margin.abs().sqrt()) / 2


def _bytes(shares: Tensor) -> str:
    return base64.b64encode((shares.clamp(0, 1) * 255).round().to(torch.uint8).numpy().tobytes()).decode()


def _plain(values: Tensor) -> Any:
    """Nested lists with five digits; what is not finite, as after too large steps, is None."""
    if values.dim() > 1:
        return [_plain(row) for row in values]
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values.tolist()]
