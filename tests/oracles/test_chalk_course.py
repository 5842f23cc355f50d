"""Code written for the lecture's engine runs on chalk as it is: the models of the course's homework 3, 4 and 5."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rote import chalk


@pytest.fixture(scope="module")
def course() -> Iterator[ModuleType]:
    """The student's file, imported with chalk in the place of the engine; afterwards as if it had not been."""
    before = dict(sys.modules)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("edugrad", "course_models")]:
        del sys.modules[name]
    chalk.install_as("edugrad")
    chalk.install_as("edugrad")  # a second time, as in a notebook
    try:
        yield importlib.import_module("course_models")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] in ("edugrad", "course_models")]:
            del sys.modules[name]
        sys.modules.update({name: module for name, module in before.items() if name.startswith("edugrad")})


@pytest.mark.parametrize(
    ("train", "start"),
    [("train_word2vec", np.log(2)), ("train_deep_averaging", np.log(3)), ("train_language_model", np.log(5))],
)
def test_the_courses_models_learn(course: ModuleType, train: str, start: float) -> None:
    losses, right = getattr(course, train)()
    assert losses[0] == pytest.approx(start, abs=0.2), "untrained: as good as guessing"
    assert losses[-1] < 0.5 * losses[0]
    assert right > 0.8


def test_the_students_operations_have_right_derivatives(course: ModuleType) -> None:
    positive = np.random.default_rng(0).uniform(0.5, 2, size=(3, 2))
    given: dict[str, list[Any]] = {
        "sigmoid": [positive],
        "log": [positive],
        "exp": [positive],
        "tanh": [positive],
        "multiply": [positive, positive[::-1]],
        "divide": [positive, positive[:, 0]],
        "sum_along_columns": [positive],
        "lookup_rows": [positive, np.array([2, 0, 2])],
        "concat": [positive, positive[:, :1], positive],
    }
    for name, inputs in given.items():
        assert chalk.gradcheck(getattr(course, name), *inputs) < 1e-6, name


def test_the_engine_has_the_names_that_it_is_installed_for(course: ModuleType) -> None:
    import edugrad
    import edugrad.ops
    from edugrad import Tensor, data, nn, ops, optim
    from edugrad.tensor import Operation, tensor_op

    assert edugrad is chalk
    assert ops.Operation is Operation
    assert ops.tensor_op is tensor_op
    assert ops.Tensor is Tensor is chalk.Tensor
    names = "add minus matmul power relu reduce_sum reduce_mean copy_rows mse_loss"
    assert [name for name in names.split() if not callable(getattr(ops, name))] == []
    layer = nn.Linear(2, 3)
    assert (layer.weight.shape, layer.bias.shape, layer.has_bias) == ((2, 3), (3,), True)
    assert (list(layer._params), layer._modules) == (["weight", "bias"], {})
    assert np.abs(nn.uniform_initializer((50, 4), 0.1)).max() <= 0.1
    assert (optim.SGD(layer.parameters()).lr, optim.Optimizer(layer.parameters())._cur_step) == (1e-4, 0)
    assert data.Batch._fields == ("inputs", "targets")
    assert issubclass(data.BatchIterator, data.DataIterator)
    tensor = ops.power(Tensor(np.array(3.0)), exponent=2)
    assert (tensor.name, tensor.value, len(tensor.parents)) == ("power", 9.0, 1)
    assert tensor.get_graph_above() == [(tensor.parents[0], tensor)]
