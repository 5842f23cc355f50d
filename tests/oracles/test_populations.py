"""Networks trained as one program: each as it would be alone, clipped, stopped and kept by itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_programs import trained
from torch import Tensor, nn

from rote.models import MLPConfig, StackedMLP
from rote.studies.resistance.plane import PlaneRecipe
from rote.training import Program, TrainingConfig
from rote.training.early_stopping import EarlyStopping
from rote.training.loop import clip_gradients


class Stacked(Program):
    stacked = True

    def __init__(self, model: nn.Module, replicas: int) -> None:
        self.model, self.replicas = model, replicas

    def losses(self, step: int) -> Tensor:
        raise NotImplementedError

    def measure(self) -> dict[str, Any]:
        raise NotImplementedError


def test_clipping_a_stack_clips_each_replica_by_its_own_norm_as_torch_clips_separate_models() -> None:
    own = torch.Generator().manual_seed(3)
    model = StackedMLP(3, 2, MLPConfig(hidden=4, layers=1), range(5), torch.float64)
    scales = torch.tensor([10.0, 1.0, 0.01, 0.0, 3.0], dtype=torch.float64)
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=own, dtype=torch.float64)
        parameter.grad = noise * scales.view(-1, *[1] * (parameter.dim() - 1))
    model.biases[0].grad = None  # a parameter that took no part
    before = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    clip_gradients(Stacked(model, 5), 1.0)
    for replica in range(5):
        alone = [nn.Parameter(p[replica].detach().clone()) for p in model.parameters()]
        for parameter, gradient in zip(alone, before, strict=True):
            parameter.grad = None if gradient is None else gradient[replica].clone()
        norm = torch.nn.utils.clip_grad_norm_([p for p in alone if p.grad is not None], 1.0)
        assert (norm > 1) == (replica in (0, 1, 4))
        for parameter, stack in zip(alone, model.parameters(), strict=True):
            if stack.grad is not None:
                torch.testing.assert_close(stack.grad[replica], parameter.grad, rtol=0, atol=1e-15)


def test_a_replica_with_infinite_gradients_does_not_spoil_the_others() -> None:
    model = StackedMLP(1, 1, MLPConfig(layers=0), range(3), torch.float64)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 0.25)
        parameter.grad[1] = torch.inf
    clip_gradients(Stacked(model, 3), 1.0)
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad[[0, 2]].unique().tolist() == [0.25]


# --- stacked networks --------------------------------------------------------------------------------------------

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "linear": nn.Identity}


def separate(stack: StackedMLP, replica: int, activation: str) -> nn.Sequential:
    """One replica as the plain PyTorch network with the same weights."""
    modules: list[nn.Module] = []
    for weight, bias in zip(stack.weights, stack.biases, strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[2]).double()
        with torch.no_grad():
            layer.weight.copy_(weight[replica].T)
            layer.bias.copy_(bias[replica, 0])
        modules += [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*modules[:-1])


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "linear"])
@pytest.mark.parametrize("layers", [0, 1, 3])
def test_a_stack_computes_what_its_networks_compute_alone_forward_and_backward(activation: Any, layers: int) -> None:
    own = torch.Generator().manual_seed(layers)
    stack = StackedMLP(3, 2, MLPConfig(5, layers, activation), (11, 12, 13, 14), torch.float64)
    with torch.no_grad():
        for bias in stack.biases:
            bias.copy_(torch.randn(bias.shape, generator=own, dtype=torch.float64))
    inputs = torch.randn(4, 7, 3, generator=own, dtype=torch.float64)
    direction = torch.randn(4, 7, 2, generator=own, dtype=torch.float64)
    outputs = stack(inputs)
    (outputs * direction).sum().backward()
    for replica in range(4):
        alone = separate(stack, replica, activation)
        expected = alone(inputs[replica])
        (expected * direction[replica]).sum().backward()
        torch.testing.assert_close(outputs[replica], expected, rtol=0, atol=1e-12)
        linear = [module for module in alone if isinstance(module, nn.Linear)]
        for layer, weight, bias in zip(linear, stack.weights, stack.biases, strict=True):
            torch.testing.assert_close(weight.grad[replica].T, layer.weight.grad, rtol=0, atol=1e-12)
            torch.testing.assert_close(bias.grad[replica, 0], layer.bias.grad, rtol=0, atol=1e-12)


def test_a_replica_starts_from_its_own_seed_whatever_its_neighbours_place_and_precision() -> None:
    config = MLPConfig(hidden=6, layers=2)
    torch.manual_seed(1)
    stack = StackedMLP(2, 2, config, (5, 7, 9), torch.float64)
    torch.manual_seed(2)
    for replica, seed in enumerate((5, 7, 9)):
        alone = StackedMLP(2, 2, config, (seed,), torch.float64)
        single = StackedMLP(2, 2, config, (8, seed), torch.float32)
        for name, value in stack.state_dict().items():
            assert torch.equal(value[replica], alone.state_dict()[name][0])
            assert torch.equal(value[replica].float(), single.state_dict()[name][1])
    many = StackedMLP(2, 2, config, range(256), torch.float64)
    assert len({network.sum().item() for network in many.weights[0]}) == 256  # no two seeds are the same network


def test_weights_start_uniform_within_glorots_limit_and_biases_at_zero() -> None:
    stack = StackedMLP(30, 10, MLPConfig(hidden=50, layers=1), range(20), torch.float64)
    for weight, (inputs, outputs) in zip(stack.weights, ((30, 50), (50, 10)), strict=True):
        limit = math.sqrt(6 / (inputs + outputs))
        assert weight.abs().max() <= limit
        assert weight.abs().max() > 0.99 * limit
        assert weight.var().item() == pytest.approx(limit**2 / 3, rel=0.03)
        assert abs(weight.mean().item()) < 0.02 * limit
    assert all(not bias.any() for bias in stack.biases)


# --- populations: one program or one process for each -------------------------------------------------------------


def population(seeds: tuple[int, ...], dtype: Any, folder: Path) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    training = TrainingConfig(steps=200, batch=10, learning_rate=0.1, momentum=0.5, clip=1.0, dtype=dtype)
    program = PlaneRecipe(training=training).program(seeds, "cpu")
    return program.model.state_dict(), trained(program, training, folder)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_a_stacked_population_is_the_same_population_as_one_seed_at_a_time(
    tmp_path: Path, dtype: str, tolerance: float
) -> None:
    """Batched and single products round differently: after 200 updates by 1e-15 in float64 and 5e-7 in float32."""
    seeds = (0, 3, 8, 21, 34)
    together, rows = population(seeds, dtype, tmp_path)
    for replica, seed in enumerate(seeds):
        alone, own_rows = population((seed,), dtype, tmp_path)
        for name, value in together.items():
            torch.testing.assert_close(value[replica], alone[name][0], rtol=0, atol=tolerance)
        for row, own in zip(rows, own_rows, strict=True):
            assert row["step"] == own["step"]
            assert row["loss"][replica] == pytest.approx(own["loss"][0], abs=tolerance)
    assert len({value.sum().item() for value in together["weights.0"]}) == len(seeds)


# --- early stopping ----------------------------------------------------------------------------------------------


class Scripted(Stacked):
    """Weights that say how many updates were made; a measure that was written down before."""

    def __init__(self, script: list[list[float]], stacked: bool = True) -> None:
        model = nn.Module()
        model.weight = nn.Parameter(torch.zeros(len(script[0]), 1, dtype=torch.float64))
        model.register_buffer("count", torch.zeros(len(script[0]), dtype=torch.int64))
        super().__init__(model, len(script[0]))
        self.script, self.stacked, self.measured = script, stacked, 0

    def losses(self, step: int) -> Tensor:
        self.model.count += 1
        return -self.model.weight.squeeze(1)

    def measure(self) -> dict[str, Any]:
        self.measured += 1
        return {"loss": self.script[self.measured - 1]}


VALUES = st.floats(0, 1) | st.sampled_from([0.5, math.nan, math.inf])


def best_record(values: list[float], patience: int) -> tuple[int | None, int]:
    """By brute force: the record whose weights a replica keeps (None: those before training), and when it stops."""
    best, kept, since = math.inf, None, 0
    for number, value in enumerate(values):
        if value < best:
            best, kept, since = value, number, 0
        else:
            since += 1
        if since >= patience:
            return kept, number
    return kept, len(values)


@settings(deadline=None, max_examples=150)
@given(st.data(), st.integers(1, 4), st.integers(1, 9), st.integers(1, 3))
def test_each_replica_keeps_its_own_best_weights_and_stops_by_itself(
    data: st.DataObject, replicas: int, records: int, patience: int
) -> None:
    row = st.lists(VALUES, min_size=replicas, max_size=replicas)
    script = data.draw(st.lists(row, min_size=records, max_size=records))
    program = Scripted(script)
    early = EarlyStopping(program, patience)
    expected = [best_record([row[replica] for row in script], patience) for replica in range(replicas)]
    for number, row_values in enumerate(script):
        early.update(row_values)
        assert early.finished == all(stop <= number for _, stop in expected)
        with torch.no_grad():
            program.model.weight += 1
            program.model.count += 1
    early.restore_best()
    assert program.model.weight.squeeze(1).tolist() == [kept or 0 for kept, _ in expected]
    assert program.model.count.tolist() == [kept or 0 for kept, _ in expected]


def test_the_loop_ends_when_the_last_replica_stopped_and_leaves_the_best_weights(tmp_path: Path) -> None:
    script = [[3.0, 3.0], [2.0, 1.0], [2.5, 2.0], [1.0, 2.0], [1.5, 0.0], [1.6, 0.0], [0.0, 0.0]]
    program = Scripted(script)
    config = TrainingConfig(steps=100, learning_rate=1.0, record_every=1, patience=2, dtype="float64")
    rows = trained(program, config, tmp_path)
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert program.model.weight.squeeze(1).tolist() == [3.0, 1.0]
    assert program.model.count.tolist() == [3, 1]


def test_early_stopping_of_one_network_keeps_its_best_weights(tmp_path: Path) -> None:
    program = Scripted([[3.0], [1.0], [2.0], [2.0], [0.0]], stacked=False)
    config = TrainingConfig(steps=100, learning_rate=1.0, record_every=1, patience=2, dtype="float64")
    trained(program, config, tmp_path)
    assert program.model.weight.item() == 1.0
