"""Stacked networks take many points with the axes turned, in parts; that must not change what they compute."""

from __future__ import annotations

import pytest
import torch

from rote.models import MLPConfig, StackedMLP
from rote.models.mlp import MANY
from rote.studies.resistance.plane import PlaneRecipe
from rote.studies.resistance.plane_training import PART


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_many_points_at_once_give_what_a_few_at_a_time_give(layers: int) -> None:
    """A bias added along the wrong axis, or outputs left turned, would show here."""
    model = StackedMLP(3, 2, MLPConfig(5, layers, "tanh"), (1, 2, 3), torch.float64)
    with torch.no_grad():
        for bias in model.biases:
            bias.normal_()
    inputs = torch.randn(3, 2 * MANY, 3, dtype=torch.float64)
    together = model(inputs)
    apart = torch.cat([model(part) for part in inputs.split(MANY, dim=1)], dim=1)
    assert together.shape == (3, 2 * MANY, 2)
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-12)
    first = torch.autograd.grad(together.square().sum(), list(model.parameters()))
    second = torch.autograd.grad(apart.square().sum(), list(model.parameters()))
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_the_measures_of_the_plane_are_those_of_each_network_alone() -> None:
    """Points lost or counted twice at the border of a part, or replicas mixed up, would change a share."""
    program = PlaneRecipe().program((4, 5, 6), "cpu")
    found = program.accuracy()
    assert program.seen[0].shape[1] % PART
    assert program.corner[0].shape[1] > PART
    for replica in range(3):
        weights = [weight[replica] for weight in program.model.weights]
        shares = []
        for points, targets in (program.seen, program.corner):
            values = points[replica]
            for layer, weight in enumerate(weights):  # biases are zero before training
                values = (values if layer == 0 else values.relu()) @ weight
            shares.append((values.argmax(-1) == targets[replica]).double().mean().item())
            if len(shares) == 1:
                chosen = values.log_softmax(-1)[torch.arange(len(values)), targets[replica]]
                assert found["loss"][replica] == pytest.approx(-chosen.mean().item(), rel=1e-5)
        assert [found["seen"][replica], found["corner"][replica]] == pytest.approx(shares, abs=1e-3)
