"""The plane's networks, trained as one program, and what is measured on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rote.models import MLPConfig, StackedMLP
from rote.store import Column, Table
from rote.tasks.plane import Examples, PlaneTask, grid
from rote.training import Program, TrainingConfig, choose_device

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.resistance.plane import PlaneMeasurement, PlaneRecipe

BLOCK = 256  # batches that are drawn at once
PART = 384  # points that are evaluated at once
SEEN_SIDE, CORNER_SIDE = 18, 32  # points per side of a quadrant when accuracy is measured
LABELS = (
    Column("setting", "what X2 tells about the class in training", "label"),
    Column("seed", "random seed", "label"),
    Column("step", "updates; in the part 'epochs' passes over its points", "label"),
)


class PlaneProgram(Program):
    """One network per seed on the plane; ``losses`` is the mean cross entropy of each."""

    stacked = True

    def __init__(
        self, task: PlaneTask, model: MLPConfig, training: TrainingConfig, seeds: Sequence[int], device: str
    ) -> None:
        self.task, self.batch, self.seeds = task, training.batch, seeds
        self.replicas, self.device, self.dtype = len(seeds), choose_device(device), training.torch_dtype()
        self.model = StackedMLP(2, 2, model, seeds, self.dtype).to(self.device)
        self.seen, self.corner = self._even(task.seen(SEEN_SIDE)), self._even(task.corner(CORNER_SIDE))
        self._block = -1

    def losses(self, step: int) -> Tensor:
        inputs, targets = self.batch_of(step)
        return mean_losses(self.model(inputs), targets)

    def batch_of(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs [replica, point, 2] and classes of an update."""
        block, within = divmod(step, BLOCK)
        if block != self._block:
            drawn = [self.task.training(seed, block, BLOCK, self.batch) for seed in self.seeds]
            self._inputs = torch.stack([self._tensor(examples.inputs) for examples in drawn], dim=1)
            self._targets = torch.stack([torch.from_numpy(examples.targets) for examples in drawn], dim=1).to(
                self.device
            )
            self._block = block
        return self._inputs[within], self._targets[within]

    def measure(self) -> dict[str, Any]:
        return {"loss": self.sample_losses().tolist()}

    def sample_losses(self) -> Tensor:
        """Over the training region, covered evenly."""
        inputs, targets = self.seen
        return mean_losses(self._evaluate(inputs), targets)

    def accuracy(self) -> dict[str, list[float]]:
        """Loss, and the share classified right, of the training region and of the corner; one number per replica."""
        (inputs, targets), (corner, corner_targets) = self.seen, self.corner
        logits = self._evaluate(inputs)
        return {
            "loss": mean_losses(logits, targets).tolist(),
            "seen": _correct(logits, targets).tolist(),
            "corner": _correct(self._evaluate(corner), corner_targets).tolist(),
        }

    def probabilities(self, points: Tensor) -> Tensor:
        """Probability of class 1 at each point, [replica, point]."""
        with torch.no_grad():
            return self.model(points.expand(self.replicas, -1, -1)).softmax(-1)[..., 1]  # type: ignore[no-any-return]

    def corner_classes(self) -> Tensor:
        """The class given to each point of the corner, [replica, point]."""
        with torch.no_grad():
            return self.model(self.corner[0]).argmax(-1)  # type: ignore[no-any-return]

    def grid(self, per_side: int) -> Tensor:
        return self._tensor(grid(per_side))

    def _evaluate(self, inputs: Float[Tensor, "replica point 2"]) -> Float[Tensor, "replica point class"]:
        """The logits, a part of the points at a time: what is in between stays in the processor's cache."""
        return torch.cat([self.model(part) for part in inputs.split(PART, dim=1)], dim=1)

    def _even(self, examples: Examples) -> tuple[Tensor, Tensor]:
        inputs = self._tensor(examples.inputs).expand(self.replicas, -1, -1)
        targets = torch.from_numpy(examples.targets).to(self.device).expand(self.replicas, -1)
        return inputs, targets

    def _tensor(self, values: Any) -> Tensor:
        return torch.from_numpy(values).to(self.device, self.dtype)


def mean_losses(logits: Float[Tensor, "replica point class"], targets: Int[Tensor, "replica point"]) -> Tensor:
    return cross_entropy(logits.transpose(1, 2), targets, reduction="none").mean(1)


def _correct(logits: Float[Tensor, "replica point class"], targets: Int[Tensor, "replica point"]) -> Tensor:
    """The share of points classified right, for each replica."""
    return (logits.argmax(-1) == targets).double().mean(1)


def measured(asked: PlaneMeasurement, trained: Trained, progress: Progress, device: str) -> list[Table]:
    """Every network at steps 0, 1, 2, 4, ..., from the weights that were kept there."""
    recipe: PlaneRecipe = trained.recipe
    program, at = recipe.program(trained.seeds, device), recipe.steps()
    labels = [{"setting": recipe.label, "seed": seed} for seed in trained.seeds]
    rows, classes, pictures, points = [], [], [], program.grid(asked.grid)
    reached = trained.steps
    with torch.no_grad():
        for done, update in enumerate(reached):
            program.model.load_state_dict(trained.weights(update))
            rows.append({"step": at[update], **program.accuracy()})
            classes.append(program.corner_classes())
            shown = asked.first_seed + (asked.shown_seeds if update == reached[-1] else 1)
            pictures += _picture_rows(labels, at[update], points, program.probabilities(points), shown)
            progress(done + 1, len(reached))
    moved = (classes[min(1, len(classes) - 1)] != classes[-1]).double().mean(1).tolist()
    return [_dynamics(labels, rows), _seeds(labels, rows, moved), _pictures(pictures)]


def _picture_rows(
    labels: list[dict[str, Any]], step: int, points: Tensor, probabilities: Tensor, shown: int
) -> list[dict[str, Any]]:
    """The seeds below ``shown``, where this training has them."""
    coordinates = [(round(x1, 6), round(x2, 6)) for x1, x2 in points.tolist()]
    return [
        {**which, "step": step, "x1": x1, "x2": x2, "probability": round(value, 4)}
        for which, values in zip(labels, probabilities.tolist(), strict=True)
        if which["seed"] < shown
        for (x1, x2), value in zip(coordinates, values, strict=True)
    ]


def _dynamics(labels: list[dict[str, Any]], rows: list[dict[str, Any]]) -> Table:
    long = [
        {**which, "step": row["step"]} | {name: row[name][index] for name in ("loss", "seen", "corner")}
        for row in rows
        for index, which in enumerate(labels)
    ]
    columns = (
        *LABELS,
        Column("loss", "cross entropy over the training region, nats"),
        Column("seen", "share of the training region classified right"),
        Column("corner", "share of the held-out corner classified right"),
    )
    return Table.make("dynamics", "Every seed over training", columns, long, details=True)


def _seeds(labels: list[dict[str, Any]], rows: list[dict[str, Any]], moved: list[float]) -> Table:
    first, second, last = rows[0], rows[min(1, len(rows) - 1)], rows[-1]
    wide = [
        {
            **which, "step": last["step"],
            "corner_wrong": 1 - last["corner"][index], "seen_wrong": 1 - last["seen"][index],
            "loss_0": first["loss"][index], "loss_1": second["loss"][index], "loss_end": last["loss"][index],
            "moved_since_step_1": moved[index],
        }
        for index, which in enumerate(labels)
    ]  # fmt: skip
    columns = (
        *LABELS,
        Column("corner_wrong", "share of the held-out corner given to the wrong class"),
        Column("seen_wrong", "share of the training region given to the wrong class"),
        Column("loss_0", "loss before training"),
        Column("loss_1", "loss after step 1"),
        Column("loss_end", "loss at the end"),
        Column("moved_since_step_1", "share of the corner whose class differs between step 1 and the end"),
    )
    return Table.make("seeds", "Every seed at the end", columns, wide, details=True)


def _pictures(rows: list[dict[str, Any]]) -> Table:
    columns = (
        *LABELS,
        Column("x1", "decides the class: its sign"),
        Column("x2", "redundant input"),
        Column("probability", "of class 1"),
    )
    return Table.make("boundaries", "Probability of class 1 over the plane", columns, rows, details=True)
