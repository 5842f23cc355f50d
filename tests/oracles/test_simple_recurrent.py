"""Elman's learning procedure against autograd with the context cut off; the population against its members."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rote.models import StackedSRN

I, H, O, R, T = 3, 4, 2, 3, 12  # noqa: E741


def streams(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(0, 2, (R, T, I)).astype(float), random.integers(0, 2, (R, T, O)).astype(float)


def by_autograd(model: StackedSRN, replica: int, inputs: np.ndarray, targets: np.ndarray, rate: float):
    """One network, one symbol at a time; the gradient of half the squared error with the context as a constant."""
    inner, outer = model.inner[replica].clone(), model.outer[replica].clone()
    context, states, outputs = torch.full((H,), 0.5, dtype=torch.float64), [], []
    for x, wanted in zip(torch.from_numpy(inputs), torch.from_numpy(targets), strict=True):
        inner, outer = inner.detach().requires_grad_(), outer.detach().requires_grad_()
        below = torch.cat([x, context, torch.ones(1, dtype=torch.float64)])
        hidden = torch.sigmoid(below @ inner)
        output = torch.sigmoid(torch.cat([hidden, torch.ones(1, dtype=torch.float64)]) @ outer)
        gradients = torch.autograd.grad(0.5 * ((wanted - output) ** 2).sum(), [inner, outer])
        inner, outer = inner - rate * gradients[0], outer - rate * gradients[1]
        context = hidden.detach()
        states.append(context.numpy())
        outputs.append(output.detach().numpy())
    return inner.detach(), outer.detach(), np.stack(states), np.stack(outputs)


def test_each_update_is_one_step_of_back_propagation_without_unrolling() -> None:
    inputs, targets = streams()
    model = StackedSRN(I, H, O, range(R), 0.5, torch.float64)
    expected = [by_autograd(model, replica, inputs[replica], targets[replica], 0.3) for replica in range(R)]
    model.learn(inputs, targets, 0.3)
    for replica, (inner, outer, states, _) in enumerate(expected):
        torch.testing.assert_close(model.inner[replica], inner, rtol=0, atol=1e-13)
        torch.testing.assert_close(model.outer[replica], outer, rtol=0, atol=1e-13)
        np.testing.assert_allclose(model.context[replica], states[-1], atol=1e-13)


def test_running_is_learning_at_rate_zero_and_leaves_the_network_as_it_was() -> None:
    inputs, targets = streams()
    model = StackedSRN(I, H, O, range(R), 0.5, torch.float64)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    hidden, outputs = model.run(inputs)
    for replica in range(R):
        *_, states, found = by_autograd(model, replica, inputs[replica], targets[replica], 0.0)
        np.testing.assert_allclose(hidden[replica], states, atol=1e-13)
        np.testing.assert_allclose(outputs[replica], found, atol=1e-13)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_stream_learned_in_pieces_or_in_other_company_is_learned_alike(dtype: torch.dtype) -> None:
    """The context is carried from piece to piece; no network sees its neighbors."""
    inputs, targets = streams()
    whole, pieces = (StackedSRN(I, H, O, range(R), 0.5, dtype) for _ in range(2))
    alone = StackedSRN(I, H, O, [2], 0.5, dtype)
    whole.learn(inputs, targets, 0.3)
    for first in range(0, T, 5):
        pieces.learn(inputs[:, first : first + 5], targets[:, first : first + 5], 0.3)
    alone.learn(inputs[2:], targets[2:], 0.3)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, pieces.state_dict()[name])
        torch.testing.assert_close(value[2:], alone.state_dict()[name], rtol=0, atol=1e-6)
