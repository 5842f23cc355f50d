"""The convolutional network against one built by hand from plain sums, in float64; and its losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rote.errors import UsageError
from rote.models import CNN, CNNConfig
from rote.studies.resistance.digits_training import hinge

F64 = torch.float64


def by_hand(model: CNN, image: np.ndarray) -> np.ndarray:
    """Loops over pixels, kernels and classes, as the appendix lists the layers."""
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    values = image[None]
    for layer in range(len(model.convolutions)):
        if layer:
            depth, height, width = (size // (1, 2, 2)[axis] for axis, size in enumerate(values.shape))
            cut = values[:, : 2 * height, : 2 * width]
            values = cut.reshape(depth, height, 2, width, 2).max((2, 4))
        weight, bias = state[f"convolutions.{layer}.weight"], state[f"convolutions.{layer}.bias"]
        out = np.zeros((len(weight), values.shape[1] - 2, values.shape[2] - 2))
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                out[:, y, x] = (weight * values[None, :, y : y + 3, x : x + 3]).sum((1, 2, 3)) + bias
        values = out.clip(min=0)
    hidden = (state["hidden.weight"] @ values.ravel() + state["hidden.bias"]).clip(min=0)
    return np.asarray(state["output.weight"] @ hidden + state["output.bias"])


@pytest.mark.parametrize("depths", [(3,), (3, 4), (2, 3, 4)])
def test_forward_is_that_of_the_layers_written_out(depths: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model = CNN((19, 24), 5, CNNConfig(depths, hidden=6), seed=1, dtype=F64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)  # biases too
    images = torch.randn(2, 19, 24, dtype=F64)
    expected = np.stack([by_hand(model, image) for image in images.numpy()])
    np.testing.assert_allclose(model(images).detach().numpy(), expected, rtol=1e-10)


def test_the_published_network_has_its_published_size() -> None:
    """28 x 56 pixels, convolutions without padding: 17,600 features go into the hidden layer."""
    model = CNN((28, 56), 10, CNNConfig(), seed=0)
    shapes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert shapes["convolutions.0.weight"] == (32, 1, 3, 3)
    assert shapes["convolutions.1.weight"] == (64, 32, 3, 3)
    assert shapes["hidden.weight"] == (64, 17_600)
    assert shapes["output.weight"] == (10, 64)


def test_weights_are_glorot_uniform_biases_zero_and_a_seed_is_one_network() -> None:
    model = CNN((28, 56), 10, CNNConfig(), seed=3)
    for name, value in model.named_parameters():
        if name.endswith("bias"):
            assert not value.any()
            continue
        outputs, inputs, *kernel = value.shape
        fans = (inputs + outputs) * int(np.prod(kernel))
        limit = (6 / fans) ** 0.5
        assert value.abs().max() <= limit
        if value.numel() > 500:
            assert float(value.detach().std()) == pytest.approx(limit / 3**0.5, rel=0.1)
    same, double = CNN((28, 56), 10, CNNConfig(), seed=3), CNN((28, 56), 10, CNNConfig(), seed=3, dtype=F64)
    assert torch.equal(model.hidden.weight, same.hidden.weight)
    assert torch.equal(model.hidden.weight, double.hidden.weight.float())
    assert not torch.equal(model.hidden.weight, CNN((28, 56), 10, CNNConfig(), seed=4).hidden.weight)


def test_dropout_acts_in_training_only() -> None:
    model = CNN((8, 16), 10, CNNConfig(dropout=0.5), seed=0)
    plain = CNN((8, 16), 10, CNNConfig(), seed=0)
    images = torch.rand(3, 8, 16)
    assert torch.equal(model.eval()(images), plain(images))
    assert not torch.equal(model.train()(images), plain(images))


@pytest.mark.parametrize("kind", ["one_vs_all", "crammer_singer"])
def test_hinge_losses_are_their_definitions(kind: str) -> None:
    torch.manual_seed(0)
    logits, labels = 2 * torch.randn(7, 4, dtype=F64), torch.tensor([0, 1, 2, 3, 0, 1, 3])
    terms: list[float] = []
    for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
        if kind == "one_vs_all":
            terms += [max(0.0, 1 - (1 if index == label else -1) * value) for index, value in enumerate(row)]
        else:
            rivals = [value for index, value in enumerate(row) if index != label]
            terms.append(max(0.0, 1 + max(rivals) - row[label]))
    assert float(hinge(logits, labels, kind)) == pytest.approx(np.mean(terms))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CNN((7, 14), 10, CNNConfig(), 0), "7 x 14 pixels are too small for 2 convolutions"),
        (lambda: CNN((14, 28), 10, CNNConfig((8, 8, 8)), 0), "too small for 3 convolutions"),
        (lambda: CNNConfig(()), "'depths' must name at least one"),
        (lambda: CNNConfig((3, 0)), "'depths' must be at least 1. Got 0"),
        (lambda: CNNConfig(dropout=1.0), "at least 0 and below 1. Got 1.0"),
    ],
)
def test_impossible_networks_are_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()
