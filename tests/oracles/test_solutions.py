"""Solutions in parameter space (source 001, Figure 1) against computations of their own, in float64."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from rote.models import MLPConfig, StackedMLP
from rote.studies.resistance.plane import PlaneRecipe
from rote.studies.resistance.solutions_tables import composes, nearest
from rote.studies.resistance.solutions_training import Space, without_x2, written
from rote.tasks.plane import PlaneTask
from rote.training import TrainingConfig

F64 = torch.float64
SIZES = MLPConfig(hidden=4, layers=2)
TRAINING = TrainingConfig(steps=3, batch=10, dtype="float64")


def space_of(seeds: tuple[int, ...] = (0, 1)) -> Space:
    return Space(PlaneRecipe(PlaneTask(), SIZES, TRAINING).program(seeds, "cpu"))


def network(weights: dict[str, torch.Tensor]) -> StackedMLP:
    model = StackedMLP(2, 2, SIZES, range(len(weights["weights.0"])), F64)
    model.load_state_dict(weights)
    return model


def start_of(seeds: tuple[int, ...] = (0, 1)) -> dict[str, torch.Tensor]:
    return dict(StackedMLP(2, 2, SIZES, seeds, F64).state_dict())


def test_the_written_network_is_right_everywhere_ignores_x2_and_has_the_wanted_loss() -> None:
    wanted = torch.tensor([0.02, 0.05], dtype=F64)
    model = network(written(SIZES, start_of(), wanted))
    x1 = torch.linspace(-1, 1, 4001, dtype=F64)[torch.arange(4001) != 2000]
    for x2 in (-1.0, 0.3, 1.0):
        points = torch.stack([x1, torch.full_like(x1, x2)], -1).expand(2, -1, -1)
        logits = model(points).detach()
        assert ((logits.argmax(-1) == 1) == (x1 > 0)).all()
        odds = logits[..., 1] - logits[..., 0]
        torch.testing.assert_close(odds / x1, (np.pi**2 / 12 / wanted)[:, None].expand(-1, len(x1)))
        right = torch.nn.functional.logsigmoid(odds * x1.sign())
        torch.testing.assert_close(-right.mean(1), wanted, rtol=0.01, atol=0)


def test_the_written_network_is_the_nearest_over_all_pairs_of_units() -> None:
    start, loss = start_of(), torch.tensor([0.03, 0.03], dtype=F64)
    made = written(SIZES, start, loss)
    gain = float((np.pi**2 / 12 / 0.03) ** (1 / 3))
    for replica in (0, 1):
        distances = []
        for up, down in itertools.permutations(range(4), 2):
            first, second, last = (start[f"weights.{layer}"][replica].clone() for layer in range(3))
            first[:, [up, down]] = torch.tensor([[gain, -gain], [0.0, 0.0]], dtype=F64)
            second[:, [up, down]] = 0
            second[up, up] = second[down, down] = gain
            last[:] = 0
            last[up] = torch.tensor([-gain / 2, gain / 2], dtype=F64)
            last[down] = -last[up]
            changes = [new - start[f"weights.{layer}"][replica] for layer, new in enumerate((first, second, last))]
            distances.append(sum(float(change.square().sum()) for change in changes) ** 0.5)
        own = sum(float((made[name][replica] - start[name][replica]).square().sum()) for name in start) ** 0.5
        assert own == pytest.approx(min(distances))


def test_a_network_without_x2_is_what_it_was_at_x2_zero() -> None:
    start = start_of()
    cut, whole = network(without_x2(start)), network(start)
    points = torch.rand(2, 20, 2, dtype=F64) * 2 - 1
    flat = points * torch.tensor([1.0, 0.0], dtype=F64)
    torch.testing.assert_close(cut(points), whole(flat))
    assert not torch.allclose(cut(points), whole(points))


def test_losses_on_a_straight_way_are_those_of_its_points() -> None:
    space = space_of()
    first, last = (space.vector(start_of(seeds)) for seeds in ((0, 1), (2, 3)))
    way = space.along(first, last, 5)
    torch.testing.assert_close(way[0], space.losses(first))
    torch.testing.assert_close(way[3], space.losses(0.25 * first + 0.75 * last))
    model = network(start_of((2, 3)))
    inputs, targets = space.program.seen
    by_hand = [
        torch.nn.functional.cross_entropy(logits, target) for logits, target in zip(model(inputs), targets, strict=True)
    ]
    torch.testing.assert_close(way[-1], torch.stack(by_hand).detach())


def test_the_first_gradient_is_the_slope_of_the_mean_loss_of_the_batches() -> None:
    space = space_of()
    random = torch.Generator().manual_seed(0)
    here = space.vector(start_of())
    here = here + 0.1 * torch.randn(here.shape, dtype=F64, generator=random)  # biases of 0 lie on the bend of ReLU
    direction = torch.randn(here.shape, dtype=F64, generator=random)

    def mean_loss(at: torch.Tensor) -> torch.Tensor:
        space.losses(at)  # goes there
        with torch.no_grad():
            return sum(space.program.losses(step) for step in range(3)) / 3

    slope = (mean_loss(here + 1e-6 * direction) - mean_loss(here - 1e-6 * direction)) / 2e-6
    torch.testing.assert_close((space.gradient(here, 3) * direction).sum(1), slope, rtol=1e-5, atol=1e-8)


def row(solution: str, distance: float, test: float, *, found: int = 0) -> dict[str, object]:
    told = {"task": "digits", "seed": 7, "solution": solution, "found": found, "distance": distance, "test": test}
    made = {**told, "train": 0.9, "cosine": distance, "rise": 0.0, "way": 1.0, "barrier": 0.1, "loss": 0.2}
    return {**made, "composes": composes(made)}


def test_the_nearest_solution_is_one_that_composes_and_not_the_one_that_training_finds() -> None:
    rows = [
        row("redundant", 1.0, 0.7, found=1),
        row("random", 3.0, 0.88),
        row("random, then redundant", 2.0, 0.8),
    ]
    (found,) = nearest(rows)
    assert (found["nearest"], found["distance"], found["found_distance"]) == ("random", 3.0, 1.0)
    assert (found["before_gap"], found["tuned_gap"]) == (pytest.approx(0.02), pytest.approx(0.1))
    (none,) = nearest([row("redundant", 1.0, 0.7, found=1), *(row(one["solution"], 2.0, 0.5) for one in rows[1:])])
    assert none["nearest"] is None
    assert none["distance"] is None
