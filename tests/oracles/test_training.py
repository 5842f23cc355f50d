"""The training loop, its optimizers and schedules against independent arithmetic in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_programs import Line, trained

from rote.errors import RunFailedError, SettingError
from rote.training import EpochTraining, TrainingConfig


def sgd(momentum: float) -> Callable[..., np.ndarray]:
    def update(weight: np.ndarray, gradient: np.ndarray, rate: float, memory: dict[str, Any]) -> np.ndarray:
        memory["v"] = momentum * memory["v"] + gradient if "v" in memory else gradient
        return weight - rate * memory["v"]

    return update


def adam(weight: np.ndarray, gradient: np.ndarray, rate: float, memory: dict[str, Any]) -> np.ndarray:
    """Kingma and Ba, algorithm 1, with the usual constants."""
    t = memory["t"] = memory.get("t", 0) + 1
    memory["m"] = 0.9 * memory.get("m", 0.0) + 0.1 * gradient
    memory["v"] = 0.999 * memory.get("v", 0.0) + 0.001 * gradient**2
    return weight - rate * (memory["m"] / (1 - 0.9**t)) / (np.sqrt(memory["v"] / (1 - 0.999**t)) + 1e-8)


def adagrad(weight: np.ndarray, gradient: np.ndarray, rate: float, memory: dict[str, Any]) -> np.ndarray:
    memory["s"] = memory.get("s", 0.0) + gradient**2
    return weight - rate * gradient / (np.sqrt(memory["s"]) + 1e-10)


@pytest.mark.parametrize(
    ("settings", "update", "rate"),
    [
        ({"momentum": 0.9, "weight_decay": 0.01}, sgd(0.9), lambda step: 0.1),
        ({"clip": 1.5}, sgd(0.0), lambda step: 0.1),
        ({"optimizer": "adam", "weight_decay": 0.02}, adam, lambda step: 0.1),
        ({"optimizer": "adam", "clip": 1.5, "schedule": "exponential", "decay": 0.5, "decay_every": 10}, adam,
         lambda step: 0.1 * 0.5 ** (step / 10)),
        ({"optimizer": "adagrad", "weight_decay": 0.02}, adagrad, lambda step: 0.1),
        ({"momentum": 0.5, "schedule": "staircase", "decay": 0.3, "decay_every": 7}, sgd(0.5),
         lambda step: 0.1 * 0.3 ** (step // 7)),
    ],
    ids=["sgd momentum decay", "sgd clip", "adam decay", "adam clip exponential", "adagrad decay", "sgd staircase"],
)  # fmt: skip
def test_the_loop_makes_the_updates_of_the_papers_and_not_of_another_order_of_clipping_decay_or_schedule(
    tmp_path: Path, settings: dict[str, Any], update: Callable[..., np.ndarray], rate: Callable[[int], float]
) -> None:
    program, config = Line(), TrainingConfig(steps=25, learning_rate=0.1, dtype="float64", **settings)
    weight, bias = (parameter.detach().numpy().copy() for parameter in program.model.parameters())
    memories: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    clipped = 0
    for step in range(25):
        inputs, targets = (part.numpy() for part in program.batch(step))
        error = 2 * (inputs @ weight.T + bias - targets) / targets.size  # d mean squared error / d output
        gradients = [error.T @ inputs, error.sum(0)]
        norm = math.sqrt(sum((gradient**2).sum() for gradient in gradients))
        if config.clip is not None and norm > config.clip:
            clipped += 1
            gradients = [gradient * config.clip / (norm + 1e-6) for gradient in gradients]
        gradients = [g + config.weight_decay * w for g, w in zip(gradients, (weight, bias), strict=True)]
        weight = update(weight, gradients[0], rate(step), memories[0])
        bias = update(bias, gradients[1], rate(step), memories[1])
    rows = trained(program, config, tmp_path)
    got_weight, got_bias = (parameter.detach().numpy() for parameter in program.model.parameters())
    np.testing.assert_allclose(got_weight, weight, rtol=0, atol=1e-12)
    np.testing.assert_allclose(got_bias, bias, rtol=0, atol=1e-12)
    assert (0 < clipped < 25) == (config.clip is not None)  # some gradients were clipped and some were not
    assert [row["step"] for row in rows] == [0, 1, 2, 4, 8, 16, 25]


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        ("constant", {0: 0.5, 1: 0.5, 250: 0.5}),
        ("exponential", {0: 0.5, 50: 0.5 * math.sqrt(0.9), 100: 0.45, 101: 0.5 * 0.9**1.01, 300: 0.5 * 0.9**3}),
        ("staircase", {0: 0.5, 99: 0.5, 100: 0.45, 199: 0.45, 200: 0.405}),
    ],
)
def test_a_schedule_has_its_published_values_and_starts_with_the_undecayed_rate(
    schedule: Any, values: dict[int, float]
) -> None:
    config = TrainingConfig(learning_rate=0.5, schedule=schedule, decay=0.9, decay_every=100)
    for step, value in values.items():
        assert config.learning_rate_at(step) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("steps", "every", "expected"),
    [
        (1, None, [0, 1]),
        (8, None, [0, 1, 2, 4, 8]),
        (9, None, [0, 1, 2, 4, 8, 9]),
        (10, 4, [0, 4, 8, 10]),
        (8, 4, [0, 4, 8]),
        (3, 100, [0, 3]),
    ],
)
def test_the_first_and_the_last_step_are_always_recorded_and_no_step_beyond(
    steps: int, every: int | None, expected: list[int]
) -> None:
    assert TrainingConfig(steps=steps, record_every=every).recorded_steps() == expected


def test_epochs_are_updates_over_the_examples_and_the_last_one_is_measured() -> None:
    training = EpochTraining(batch=4, epochs=2.5, measure_every=1.0, learning_rate=0.3)
    assert training.steps_per_epoch(10) == 3  # the last batch is smaller
    assert training.measured(10) == {0: 0.0, 3: 1.0, 6: 2.0, 8: 2.5}  # 7.5 updates, to the even neighbor
    assert (training.over(10).steps, training.over(10).learning_rate) == (8, 0.3)
    assert EpochTraining(epochs=0.001).over(1).steps == 1  # there is always an update
    with pytest.raises(SettingError, match=r"'measure_every' must be at least 0\.001"):
        EpochTraining(measure_every=0.0)


def test_only_the_steps_that_were_asked_for_are_measured(tmp_path: Path) -> None:
    rows = trained(Line(), TrainingConfig(steps=6), tmp_path, record_at=[2, 5, 99])
    assert [row["step"] for row in rows] == [2, 5]


def test_a_program_that_does_not_measure_what_it_monitors_is_told_so(tmp_path: Path) -> None:
    class Silent(Line):
        def measure(self) -> dict[str, Any]:
            return {"accuracy": [1.0]}

    with pytest.raises(
        RunFailedError, match=r"measure\(\) of Silent must give 'loss', which is monitored. Got accuracy."
    ):
        trained(Silent(), TrainingConfig(steps=1), tmp_path)
