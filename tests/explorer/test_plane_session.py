"""The playground's networks against the study's, against plain PyTorch, and against rote.information."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import nn

from rote.analyses import information
from rote.explorer.plane_session import SIDE, SLOPE_SIDE, PlaneSession
from rote.explorer.plane_settings import COMBINATIONS, PlaneSettings
from rote.explorer.training_jobs import Look
from rote.studies.resistance.plane import PlaneRecipe
from rote.tasks.plane import ChosenPlane, PlaneTask
from rote.training import TrainingConfig


def weights(session: PlaneSession) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in session.program.model.parameters()]


def same(one: PlaneSession, other: PlaneSession) -> bool:
    return all(torch.equal(*pair) for pair in zip(weights(one), weights(other), strict=True))


def picture(frame: dict[str, Any], networks: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(frame["image"]), np.uint8).reshape(networks, SIDE, SIDE)


@pytest.mark.parametrize(
    ("setting", "chosen"),
    [
        ("redundant", ChosenPlane()),
        ("random", ChosenPlane(redundancy=0.0)),
        ("narrow", ChosenPlane(combinations=(0, 0, 2))),
    ],
)
def test_the_settings_of_the_study_are_special_cases(setting: Any, chosen: ChosenPlane) -> None:
    for points in (None, 30):
        expected = PlaneTask(setting, points=points).training(3, 1, 16, 10)
        found = ChosenPlane(
            points=points, combinations=chosen.combinations, redundancy=chosen.redundancy
        ).training(3, 1, 16, 10)  # fmt: skip
        np.testing.assert_array_equal(found.inputs, expected.inputs)
        np.testing.assert_array_equal(found.targets, expected.targets)


def test_training_is_that_of_the_study() -> None:
    """300 updates go beyond the 256 batches that are drawn at once."""
    program = PlaneRecipe(training=TrainingConfig(batch=10, learning_rate=0.1)).program((5, 6), "cpu")
    optimizer = torch.optim.SGD(program.model.parameters(), 0.1)
    for step in range(300):
        optimizer.zero_grad()
        program.losses(step).sum().backward()
        optimizer.step()
    session = PlaneSession(PlaneSettings(seed=5, seeds=2))
    for updates in (1, 7, 292):  # in how many portions does not matter
        session.advance(updates)
    assert session.step == 300
    for mine, theirs in zip(weights(session), program.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs.detach())


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_uneven_layers_and_penalty_against_a_plain_network(kind: Any) -> None:
    settings = PlaneSettings(
        seeds=2, seed=3, hidden=(5, 3), activation="tanh", regularization=kind, strength=0.01, learning_rate=0.3,
        combinations=("10", "01"), redundancy=0.7, noise=0.1, batch=7,
    )  # fmt: skip
    session = PlaneSession(settings)
    network = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 2))
    with torch.no_grad():
        parts = zip(session.program.model.weights, session.program.model.biases, strict=True)
        for layer, (weight, bias) in zip(network[::2], parts, strict=True):
            layer.weight.copy_(weight[1].T)
            layer.bias.copy_(bias[1, 0])
    optimizer = torch.optim.SGD(network.parameters(), 0.3)
    data = settings.task().training(4, 0, 256, 7)
    for step in range(20):
        loss = nn.functional.cross_entropy(
            network(torch.tensor(data.inputs[step]).float()), torch.tensor(data.targets[step])
        )
        for layer in network[::2]:
            loss = loss + 0.01 * (layer.weight.abs().sum() if kind == "l1" else (layer.weight**2).sum() / 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    session.advance(20)
    for layer, weight in zip(network[::2], session.program.model.weights, strict=True):
        torch.testing.assert_close(weight[1].T, layer.weight)


def test_what_a_frame_says_is_what_the_analysis_says() -> None:
    session = PlaneSession(PlaneSettings(seeds=2, seed=1))
    session.advance(60)
    frame, model = session.frame(), session.program.model

    def second(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return model(torch.stack([x1, x2], -1).expand(2, -1, -1))[1]

    def axis(per_side: int) -> torch.Tensor:
        return (torch.arange(per_side) + 0.5) / per_side * 2 - 1

    found = information((axis(SIDE), axis(SIDE)), second)
    assert frame["alone"][1] == pytest.approx(found.alone.tolist(), rel=1e-4, abs=1e-6)
    assert frame["given"][1] == pytest.approx(found.given.tolist(), rel=1e-4, abs=1e-6)
    slopes = information((axis(SLOPE_SIDE), axis(SLOPE_SIDE)), second, gradients=SLOPE_SIDE**2).gradient
    assert frame["gradient"][1] == pytest.approx(slopes.tolist(), rel=1e-4)

    x1, x2 = (part.flatten() for part in torch.meshgrid(axis(SIDE), axis(SIDE), indexing="ij"))
    logits = second(x1, x2).detach()
    root = picture(frame, 2)[1].flatten() / 127.5 - 1
    np.testing.assert_allclose((1 + root * abs(root)) / 2, logits.softmax(-1)[:, 1], atol=0.005)
    assert ((root > 0) == (logits.argmax(-1) == 1).numpy()).all()
    for place, name in enumerate(COMBINATIONS):
        inside = ((x1 > 0) == (name[0] == "1")) & ((x2 > 0) == (name[1] == "1"))
        target = (x1[inside] > 0).long()
        assert frame["loss"][1][place] == pytest.approx(
            float(nn.functional.cross_entropy(logits[inside], target)), rel=1e-4
        )
        assert frame["accuracy"][1][place] == pytest.approx(
            float((logits[inside].argmax(-1) == target).double().mean())
        )


def test_the_training_loss_weighs_the_quadrants_as_training_shows_them() -> None:
    settings = PlaneSettings(seeds=1, combinations=("00", "01", "10"), redundancy=0.4)
    session = PlaneSession(settings)
    session.advance(30)
    inputs = settings.task().training(0, 0, 200_000, 1).inputs[:, 0]
    shown = np.bincount(2 * (inputs[:, 0] > 0) + (inputs[:, 1] > 0), minlength=4) / len(inputs)
    frame = session.frame()
    assert frame["train"][0] == pytest.approx(float(np.dot(shown, frame["loss"][0])), rel=0.01)


def test_only_networks_of_another_shape_or_seed_start_again() -> None:
    session = PlaneSession(PlaneSettings(seeds=2))
    session.advance(20)
    before = weights(session)
    live = PlaneSettings(
        seeds=2, learning_rate=0.5, noise=0.2, redundancy=0.5, combinations=("11",), batch=3, regularization="l2"
    )  # fmt: skip
    assert session.change(live) is False
    assert session.step == 20
    assert all(torch.equal(*pair) for pair in zip(before, weights(session), strict=True))
    session.advance(5)
    for other in ({"hidden": (4,)}, {"activation": "tanh"}, {"seeds": 3}, {"seed": 1}):
        session.advance(3)
        assert session.change(PlaneSettings(**other)) is True
        assert session.step == 0
        assert same(session, PlaneSession(PlaneSettings(**other)))


def test_the_same_history_gives_the_same_networks() -> None:
    def played(portions: tuple[int, ...]) -> PlaneSession:
        session = PlaneSession(PlaneSettings(seeds=3))
        for updates in portions:
            session.advance(updates)
            session.frame(Look(network=1))
        session.change(PlaneSettings(seeds=3, noise=0.3, learning_rate=0.05))
        session.advance(10)
        return session

    assert same(played((4, 6)), played((1, 1, 8)))
    assert not same(played((4, 6)), played((4, 7)))


def test_networks_that_diverge_are_told_as_missing_not_as_a_number() -> None:
    session = PlaneSession(PlaneSettings(seeds=1, learning_rate=10, activation="linear", hidden=(16,) * 6))
    session.advance(100)
    frame = session.frame(Look())
    assert frame["train"] == [None]
    assert frame["loss"] == [[None] * 4]
    assert set(picture(frame, 1).flatten().tolist()) == {128}


def test_units_are_pictures_of_what_they_compute() -> None:
    session = PlaneSession(PlaneSettings(seeds=2, hidden=(3, 2)))
    network = session.frame(Look(network=7))["network"]  # beyond the last: the last
    assert network["place"] == 1
    assert [np.shape(weight) for weight in network["weights"]] == [(2, 3), (3, 2), (2, 2)]
    units = np.frombuffer(base64.b64decode(network["units"]), np.uint8).reshape(5, 16, 16)
    first = np.array(network["weights"][0])[:, 0]
    middle = (np.arange(16) + 0.5) / 8 - 1
    active = np.maximum(first[0] * middle[:, None] + first[1] * middle[None], 0)
    np.testing.assert_allclose(units[0], (active / active.max() / 2 + 0.5) * 255, atol=0.6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"combinations": ()}, {"combinations": ("22",)}, {"redundancy": 1.1}, {"noise": -0.1}, {"batch": 0},
        {"batch": 101}, {"points": 1001}, {"learning_rate": 0}, {"learning_rate": 11}, {"strength": -1},
        {"hidden": (17,)}, {"hidden": (1,) * 7}, {"seeds": 0}, {"seeds": 9}, {"seed": -1}, {"nonsense": 1},
        {"learning_rate": float("nan")},
    ],
)  # fmt: skip
def test_settings_out_of_bounds_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PlaneSettings(**wrong)
