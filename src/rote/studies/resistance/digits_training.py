"""One network on digit pairs: how it is trained, and what is measured on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from rote.analyses import information
from rote.models import CNN
from rote.store import Column, Request, Run, Table
from rote.tasks.digits import CLASSES, DigitsTask, Pairs, single_digits
from rote.tasks.mnist import Digits, load_digits
from rote.training import Program, choose_device, train

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from rote.studies.resistance.digits import DigitsConfig
    from rote.studies.study import Progress

PART = 256  # pairs that are evaluated at once
COLUMNS = (
    Column("setting", "what the right digit tells in training, or which remedy was tried", "label"),
    Column("seed", "random seed", "label"),
    Column("step", "updates", "label"),
    Column("loss", "hinge loss on pairs of the training distribution"),
    Column("train", "share of pairs of the training distribution that are right"),
    Column("test", "share of pairs with held-out combinations that are right"),
    Column("left_alone", "I(prediction; left digit), bits"),
    Column("right_alone", "I(prediction; right digit), bits"),
    Column("left_given", "I(prediction; left digit | right digit), bits"),
    Column("right_given", "I(prediction; right digit | left digit), bits"),
    Column("right_bias", "its expected bias from the finite number of images, bits"),
    Column("left_gradient", "mean norm of the outputs' derivative by the left image"),
    Column("right_gradient", "mean norm of the outputs' derivative by the right image"),
)
MEASURED = tuple(column.name for column in COLUMNS if column.role == "measured")


class DigitsProgram(Program):
    """A convolutional network on pairs of digits. ``informed``: steps at which the information is measured too."""

    def __init__(
        self, part: str, config: DigitsConfig, seed: int, digits: Digits, device: str, informed: Collection[int] = ()
    ) -> None:
        self.config, self.seed, self.device = config, seed, choose_device(device)
        self.dtype, self.informed = config.training.torch_dtype(), set(informed)
        self.digits = replace(
            digits, training=digits.training.shrunk(config.side), test=digits.test.shrunk(config.side)
        )
        self.task = DigitsTask(
            "random" if part == "random" else "redundant", noise=config.noise if part == "noise" else 0.0
        )
        settings = replace(config.model, dropout=config.dropout) if part == "dropout" else config.model
        height, width = self.digits.test.images.shape[1:]
        self.model = CNN((height, 2 * width), CLASSES, settings, seed, self.dtype).to(self.device)
        self.seen = self._tensors(self.task.seen(self.digits.training, seed, config.evaluated))
        self.held_out = self._tensors(self.task.held_out(self.digits.test, seed, config.evaluated))
        self.updates = 0

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        self.updates = step + 1
        images, labels = self._tensors(
            self.task.training(self.digits.training, self.seed, step, self.config.training.batch)
        )
        return hinge(self.model(images), labels, self.config.loss).reshape(1)

    def measure(self) -> dict[str, Any]:
        logits, (_, labels) = self._evaluate(self.seen[0]), self.seen
        row = {
            "loss": [float(hinge(logits, labels, self.config.loss))],
            "train": [_right(logits, labels)],
            "test": [_right(self._evaluate(self.held_out[0]), self.held_out[1])],
        }
        return row | self._information() if self.updates in self.informed else row

    def _information(self) -> dict[str, list[float]]:
        """Every left image with every right one, of all classes: what moves the predicted class?"""
        images = [self._tensor(side) for side in single_digits(self.digits.test, self.seed, self.config.crossed)]
        found = information(
            images, lambda left, right: self.model(torch.cat([left, right], 2)), names=("left", "right"), hard=True,
            gradients=self.config.gradients, seed=self.seed,
        )  # fmt: skip
        row = {
            f"{name}_{quantity}": [float(values[index])]
            for index, name in enumerate(found.names)
            for quantity, values in (("alone", found.alone), ("given", found.given), ("gradient", found.gradient))
        }
        return {**row, "right_bias": [float(found.given_error[1])]}

    def _evaluate(self, images: Tensor) -> Tensor:
        return torch.cat([self.model(part) for part in images.split(PART)])

    def _tensors(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        return self._tensor(pairs.images), torch.from_numpy(pairs.labels).to(self.device)

    def _tensor(self, values: Any) -> Tensor:
        return torch.from_numpy(values).to(self.device, self.dtype)


def hinge(logits: Float[Tensor, "pair class"], labels: Int[Tensor, " pair"], kind: str) -> Tensor:
    """Mean over pairs. "one_vs_all": the right output should be above 1, each other below -1; "crammer_singer": the
    right one above the largest other by 1."""
    right = one_hot(labels, logits.shape[1]).bool()
    if kind == "crammer_singer":
        largest = logits.masked_fill(right, -torch.inf).amax(1)
        return (1 + largest - logits[right]).clamp(min=0).mean()
    return (1 - torch.where(right, logits, -logits)).clamp(min=0).mean()


def _right(logits: Tensor, labels: Tensor) -> float:
    return float((logits.argmax(-1) == labels).double().mean())


def train_and_measure(config: DigitsConfig, request: Request, run: Run, progress: Progress, device: str) -> Table:
    """Train the one seed of ``request``; its rows over training."""
    digits = load_digits("mnist" if config.data == "mnist" else "stand-in")
    run.note(data=digits.sha256)
    (seed,) = request.seeds
    training = config.training
    if request.part == "slow":
        training = replace(training, learning_rate=training.learning_rate * config.slower)
    program = DigitsProgram(request.part, config, seed, digits, device, config.informed_steps(request.part))
    train(program, training, run, progress=progress)
    rows = [
        {"setting": request.part, "seed": seed, "step": row["step"]}
        | {name: row[name][0] for name in MEASURED if name in row}
        for row in run.metrics.rows()
    ]
    return Table.make("curves", "Every network over training", COLUMNS, rows, details=True, note=digits.note)
