"""One network on digit pairs: how it is trained, and what is measured on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from rote.analyses import information
from rote.store import Column, Table
from rote.tasks.digits import Pairs, single_digits
from rote.tasks.mnist import Digits, load_digits
from rote.training import Program, choose_device

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.resistance.digits import DigitsMeasurement, DigitsRecipe

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


class DigitsProgram(Program):
    """A convolutional network on pairs of digits."""

    def __init__(self, recipe: DigitsRecipe, seed: int, digits: Digits, device: str) -> None:
        self.recipe, self.task, self.seed, self.device = recipe, recipe.task, seed, choose_device(device)
        self.dtype = recipe.training.torch_dtype()
        self.digits = replace(
            digits, training=digits.training.shrunk(recipe.side), test=digits.test.shrunk(recipe.side)
        )
        self.model = make_network(recipe, self.digits, seed).to(self.device)
        self.seen = self._tensors(self.task.seen(self.digits.training, seed, recipe.evaluated))
        self.held_out = self._tensors(self.task.held_out(self.digits.test, seed, recipe.evaluated))

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        images, labels = self._tensors(
            self.task.training(self.digits.training, self.seed, step, self.recipe.training.batch)
        )
        return hinge(self.model(images), labels, self.recipe.loss).reshape(1)

    def measure(self) -> dict[str, Any]:
        logits, (_, labels) = self._evaluate(self.seen[0]), self.seen
        return {
            "loss": [float(hinge(logits, labels, self.recipe.loss))],
            "train": [_right(logits, labels)],
            "test": [_right(self._evaluate(self.held_out[0]), self.held_out[1])],
        }

    def sample_losses(self) -> Tensor:
        """On the pairs that accuracy is measured on, as in training."""
        return hinge(self._evaluate(self.seen[0]), self.seen[1], self.recipe.loss).reshape(1)

    def information(self, asked: DigitsMeasurement) -> dict[str, float]:
        """Every left image with every right one, of all classes: what moves the predicted class?"""
        images = [self._tensor(side) for side in single_digits(self.digits.test, self.seed, asked.crossed)]
        found = information(
            images, lambda left, right: self.model(torch.cat([left, right], 2)), names=("left", "right"), hard=True,
            gradients=asked.gradients, seed=self.seed,
        )  # fmt: skip
        row = {
            f"{name}_{quantity}": float(values[index])
            for index, name in enumerate(found.names)
            for quantity, values in (("alone", found.alone), ("given", found.given), ("gradient", found.gradient))
        }
        return {**row, "right_bias": float(found.given_error[1])}

    def _evaluate(self, images: Tensor) -> Tensor:
        return torch.cat([self.model(part) for part in images.split(PART)])

    def _tensors(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        return self._tensor(pairs.images), torch.from_numpy(pairs.labels).to(self.device)

    def _tensor(self, values: Any) -> Tensor:
        return torch.from_numpy(values).to(self.device, self.dtype)


def make_network(recipe: DigitsRecipe, digits: Digits, seed: int) -> nn.Module:
    """The network before training."""
    height, width = digits.test.shrunk(recipe.side).images.shape[1:]
    return recipe.untrained((height, 2 * width), seed)


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


def note_of(recipe: Any) -> str:
    """What a table made with the networks of a recipe must say of their data; of other tasks nothing."""
    return load(recipe).note if hasattr(recipe, "data") else ""


def load(recipe: DigitsRecipe) -> Digits:
    """The images that it is trained and tested on."""
    return load_digits("mnist" if recipe.data == "mnist" else "stand-in")


def measured(asked: DigitsMeasurement, trained: Trained, progress: Progress, device: str) -> Table:
    """The network over its training: accuracies as they were recorded, the information from the weights kept."""
    recipe: DigitsRecipe = trained.recipe
    digits, (seed,) = load(recipe), trained.seeds
    program = DigitsProgram(recipe, seed, digits, device)
    program.model.eval()
    informed: dict[int, dict[str, float]] = {}
    with torch.no_grad():
        for done, step in enumerate(trained.steps):
            program.model.load_state_dict(trained.weights(step))
            informed[step] = program.information(asked)
            progress(done + 1, len(trained.steps))
    rows = [
        {"setting": recipe.label, "seed": seed, "step": row["step"], **informed.get(row["step"], {})}
        | {name: row[name][0] for name in ("loss", "train", "test")}
        for row in trained.run.metrics()
    ]
    return Table.make("curves", "Every network over training", COLUMNS, rows, details=True, note=digits.note)
