"""Networks as points of one space: distances, the loss on straight ways, and the first gradient."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.models import MLPConfig
from rote.store import Table
from rote.studies.resistance.digits_training import note_of
from rote.studies.resistance.plane_training import PlaneProgram
from rote.studies.resistance.scan_training import ScanProgram
from rote.studies.resistance.solutions_tables import LANDSCAPE, SOLUTIONS

if TYPE_CHECKING:
    from jaxtyping import Float

    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.resistance.solutions import SolutionsMeasurement

Weights = dict[str, Tensor]
AREA = torch.pi**2 / 12  # loss of a network whose log odds are c X1, times c, for a large c
MARGIN = 0.25  # around the three networks of a picture, as a share of the largest distance
X2 = 1  # row of the first matrix


class Space:
    """All parameters of each replica as one vector, and what a program of setting A says at such a point."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.parameters = list(program.model.parameters())
        program.model.eval()

    def vector(self, weights: Mapping[str, Tensor]) -> Float[Tensor, "replica number"]:
        self.program.model.load_state_dict(weights)
        return self._flat([parameter.detach() for parameter in self.parameters])

    def gradient(self, at: Tensor, batches: int) -> Float[Tensor, "replica number"]:
        """The mean over the first batches of training."""
        self._go(at)
        total = sum(self.program.losses(step).sum() for step in range(batches))
        return self._flat(torch.autograd.grad(total, self.parameters)) / batches

    @torch.no_grad()
    def losses(self, at: Tensor) -> Float[Tensor, " replica"]:
        self._go(at)
        found: Tensor = self.program.sample_losses().cpu()
        return found

    @torch.no_grad()
    def along(self, first: Tensor, last: Tensor, points: int) -> Float[Tensor, "point replica"]:
        """The loss at evenly spaced points of the straight way."""
        shares = torch.linspace(0, 1, points).tolist()
        return torch.stack([self.losses(torch.lerp(first, last, share)) for share in shares])

    @torch.no_grad()
    def accuracy(self, at: Tensor) -> dict[str, list[float]]:
        self._go(at)
        if isinstance(self.program, PlaneProgram):
            found = self.program.accuracy()
            return {"loss": found["loss"], "train": found["seen"], "test": found["corner"]}
        measured = self.program.measure()
        return {name: measured[name] for name in ("loss", "train", "test")}

    def _flat(self, tensors: Sequence[Tensor]) -> Tensor:
        replicas = self.program.replicas
        return torch.cat([tensor.reshape(replicas, -1) for tensor in tensors], 1)

    @torch.no_grad()
    def _go(self, at: Tensor) -> None:
        place = 0
        for parameter in self.parameters:
            size = parameter.numel() // self.program.replicas
            parameter.copy_(at[:, place : place + size].reshape(parameter.shape))
            place += size


def measured(asked: SolutionsMeasurement, trained: Sequence[Trained], progress: Progress, device: str) -> list[Table]:
    """``trained``: what training finds in setting A; the others, some trained further."""
    found = trained[0]
    program = found.recipe.program(found.seeds, device)
    space, task = Space(program), _task(program)
    start = found.weights(0)
    known = {one.recipe.label: one.weights() for one in trained}
    if task == "plane":
        known |= _on_the_plane(found.recipe.model, start, known, space)
    here, rows = space.vector(start), []
    points = {name: space.vector(weights) for name, weights in known.items()}
    downhill, first = -space.gradient(here, asked.batches), points[found.recipe.label]
    for done, (name, there) in enumerate(points.items()):
        told = _told(space, asked.points, here, there, first, downhill)
        rows += [
            {"task": task, "solution": name, "seed": seed, "found": int(name == found.recipe.label)}
            | {key: values[index] for key, values in told.items()}
            for index, seed in enumerate(found.seeds)
        ]
        progress(done + 1, len(points))
    tables = [Table.make("solutions", "Every solution", SOLUTIONS, rows, details=True, note=note_of(found.recipe))]
    return [*tables, landscape(asked, found, space, points)] if task == "plane" else tables


def _task(program: Any) -> str:
    if isinstance(program, PlaneProgram):
        return "plane"
    return "scan" if isinstance(program, ScanProgram) else "digits"


def _told(
    space: Space, points: int, here: Tensor, there: Tensor, first: Tensor, downhill: Tensor
) -> dict[str, list[float]]:
    way, between = space.along(here, there, points), space.along(first, there, points)
    ends = torch.maximum(between[0], between[-1])
    return {
        "distance": (there - here).norm(dim=1).tolist(),
        "start_size": here.norm(dim=1).tolist(),
        "cosine": torch.cosine_similarity(downhill, there - here, dim=1).tolist(),
        "rise": (way.amax(0) - way[0]).tolist(),
        "way": way.mean(0).tolist(),
        "from_found": (there - first).norm(dim=1).tolist(),
        "barrier": (between.amax(0) - ends).tolist(),
        **space.accuracy(there),
    }


def _on_the_plane(model: MLPConfig, start: Weights, known: Mapping[str, Weights], space: Space) -> dict[str, Weights]:
    """Solutions that are made, not found: X2 cut off, and a network that is written into the initial weights, with the
    loss of the one that training finds."""
    cut = {f"{name}, X2 cut off": without_x2(known[name]) for name in ("redundant", "random")}
    return {**cut, "written": written(model, start, space.losses(space.vector(known["redundant"])))}


def without_x2(weights: Mapping[str, Tensor]) -> Weights:
    """The same network with X2 at 0, its mean in the setting 'random', whatever X2 is."""
    first = weights["weights.0"].clone()
    first[:, X2] = 0
    return {**weights, "weights.0": first}


def written(model: MLPConfig, start: Mapping[str, Tensor], losses: Float[Tensor, " replica"]) -> Weights:
    """A network that composes, written into the weights ``start`` with as little change as this way of writing allows.

    In each layer one unit carries X1 where that is positive and another one -X1 where it is negative, each times a
    gain; no other unit is read out. The gain gives the log odds that have the wanted loss. Of all pairs of units the
    nearest is taken, for each replica."""
    gain = (AREA / losses.clamp(1e-4, 0.2)) ** (1 / (model.layers + 1))
    pairs = list(itertools.permutations(range(model.hidden), 2))
    made = [_written_with(positive, negative, start, gain) for positive, negative in pairs]
    nearest = torch.stack([_squared_distance(one, start) for one in made]).argmin(0).tolist()
    return {name: torch.stack([made[index][name][replica] for replica, index in enumerate(nearest)]) for name in start}


def _squared_distance(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> Float[Tensor, " replica"]:
    return torch.stack([(one[name] - other[name]).flatten(1).square().sum(1) for name in one]).sum(0)


def _written_with(positive: int, negative: int, start: Mapping[str, Tensor], gain: Tensor) -> Weights:
    made = {name: weight.clone() for name, weight in start.items()}
    last = len(start) // 2 - 1
    units, signs = [positive, negative], gain.new_tensor([1.0, -1.0])
    for layer in range(last + 1):
        weight, bias = made[f"weights.{layer}"], made[f"biases.{layer}"]
        if layer == last:
            weight.zero_()
            bias.zero_()
            weight[:, units, 1] = gain[:, None] * signs / 2
            weight[:, units, 0] = -gain[:, None] * signs / 2
            continue
        weight[:, :, units] = 0
        bias[:, :, units] = 0
        if layer == 0:
            weight[:, 0, units] = gain[:, None] * signs
        else:
            weight[:, units, units] = gain[:, None].expand(-1, 2)
    return made


def landscape(asked: SolutionsMeasurement, found: Trained, space: Space, points: Mapping[str, Tensor]) -> Table:
    """The loss on the plane through the initial weights, what training finds and a solution that composes, of the first
    seed; with the way of the training, as it is seen on that plane."""
    here, first = space.vector(found.weights(0))[0], points[found.recipe.label][0]
    other = min(("random, X2 cut off", "written"), key=lambda name: float((points[name][0] - here).norm()))
    across = first - here
    along = across / across.norm()
    up = points[other][0] - here
    up = up - (up @ along) * along
    up = up / up.norm()

    def seen(vector: Tensor) -> tuple[float, float]:
        return float((vector - here) @ along), float((vector - here) @ up)

    ends = {"start": (0.0, 0.0), "found": seen(first), other: seen(points[other][0])}
    rows: list[dict[str, Any]] = [{"kind": name, "x": x, "y": y} for name, (x, y) in ends.items()]
    rows += [
        {"kind": "way", "step": step, "x": x, "y": y}
        for step in found.steps
        for x, y in [seen(space.vector(found.weights(step))[0])]
    ]
    low, high = (fold(value for end in ends.values() for value in end) for fold in (min, max))
    sides = torch.linspace(low - MARGIN * (high - low), high + MARGIN * (high - low), asked.grid).tolist()
    for y in sides:
        for x in sides:
            losses = space.losses((here + x * along + y * up).expand(space.program.replicas, -1))
            rows.append({"kind": "loss", "x": x, "y": y, "loss": float(losses[0])})
    told = [{**row, "seed": found.seeds[0]} for row in rows]
    return Table.make("landscape", "The loss between three networks", LANDSCAPE, told, details=True)
