"""Plain gradient descent against torch.optim.SGD, which it replaces."""

from __future__ import annotations

import torch

from rote.training import TrainingConfig
from rote.training.gradient_descent import GradientDescent


def weights() -> list[torch.Tensor]:
    torch.manual_seed(3)
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((4, 3), (5,), (2, 2))]


def test_it_makes_the_steps_of_torchs_sgd_and_leaves_weights_without_gradient() -> None:
    ours, theirs = weights(), weights()
    mine, reference = GradientDescent(ours, 0.1), torch.optim.SGD(theirs, lr=0.1)
    for rate in (0.1, 0.05, 0.3):
        for values, optimizer in ((ours, mine), (theirs, reference)):
            optimizer.param_groups[0]["lr"] = rate
            optimizer.zero_grad()
            (values[0].sin().sum() * values[1].exp().sum()).backward()
            optimizer.step()
    assert ours[2].grad is None
    for our, their in zip(ours, theirs, strict=True):
        assert torch.allclose(our, their, rtol=0, atol=1e-15)


def test_its_learning_rate_survives_a_checkpoint() -> None:
    optimizer, again = GradientDescent(weights(), 0.1), GradientDescent(weights(), 0.1)
    optimizer.param_groups[0]["lr"] = 0.025
    again.load_state_dict(optimizer.state_dict())
    assert again.param_groups[0]["lr"] == 0.025


def test_it_is_not_used_where_torchs_sgd_would_do_more() -> None:
    assert isinstance(TrainingConfig().make_optimizer(weights()), GradientDescent)
    for more in ({"momentum": 0.9}, {"weight_decay": 0.1}):
        assert isinstance(TrainingConfig(**more).make_optimizer(weights()), torch.optim.SGD)
