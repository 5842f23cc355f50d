"""Every operation and cell of the teaching engine against torch (1e-10) and against finite differences (1e-6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import rote
from rote.chalk import Operation, Tensor, bptt_terms, fused, gradcheck, nn, no_grad, ops, optim, tensor_op

RNG = np.random.default_rng(0)
TARGETS = np.array([[1, 0, 3], [2, 2, 0]])
MASK = np.array([[1, 1, 1], [1, 0, 0]])


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def positive(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 2.0, size=shape)


def masked_loss(logits: torch.Tensor) -> torch.Tensor:
    losses = functional.cross_entropy(logits.mT, torch.tensor(TARGETS), reduction="none")
    return (losses * torch.tensor(MASK)).sum() / MASK.sum()


def loop(x: torch.Tensor, w_x: torch.Tensor, w_h: torch.Tensor, b: torch.Tensor, *h: torch.Tensor) -> torch.Tensor:
    state, states = h[0] if h else torch.zeros(len(x), len(w_h), dtype=x.dtype), []
    for t in range(x.shape[1]):
        state = torch.tanh(x[:, t] @ w_x + state @ w_h + b)
        states.append(state)
    return torch.stack(states, 1)


Case = tuple[Callable[..., Tensor], Callable[..., torch.Tensor], list[np.ndarray]]
CASES: dict[str, Case] = {
    "add": (ops.add, torch.add, [normal(3, 2), normal(3, 2)]),
    "add a row": (lambda a, b: a + b, torch.add, [normal(3, 2), normal(2)]),
    "minus a number": (lambda a, b: a - b, torch.sub, [normal(3, 2), normal()]),
    "multiply by a column": (lambda a, b: a * b, torch.mul, [normal(3, 2), normal(3, 1)]),
    "divide row by row": (lambda a, b: a / b, torch.div, [normal(2), positive(3, 2)]),
    "a number by a tensor": (lambda a: 2.0 / a - 1.0, lambda a: 2 / a - 1, [positive(3)]),
    "negative": (lambda a: -a, torch.neg, [normal(3)]),
    "matmul": (ops.matmul, torch.matmul, [normal(3, 2), normal(2, 4)]),
    "matmul of stacks": (lambda a, b: a @ b, torch.matmul, [normal(5, 3, 2), normal(5, 2, 4)]),
    "matmul of a stack and a matrix": (lambda a, b: a @ b, torch.matmul, [normal(5, 3, 2), normal(2, 4)]),
    "matmul of a matrix and a stack": (lambda a, b: a @ b, torch.matmul, [normal(3, 2), normal(5, 2, 4)]),
    "matmul of vectors": (lambda a, b: a @ b, torch.matmul, [normal(4), normal(4)]),
    "vector by matrix": (lambda a, b: a @ b, torch.matmul, [normal(4), normal(4, 2)]),
    "stack by vector": (lambda a, b: a @ b, torch.matmul, [normal(5, 3, 4), normal(4)]),
    "power 3": (lambda a: a**3, lambda a: a**3, [normal(3, 2)]),
    "power 0": (lambda a: a**0, lambda a: a**0, [normal(3, 2)]),
    "power -0.5": (lambda a: ops.power(a, exponent=-0.5), lambda a: a**-0.5, [positive(3, 2)]),
    "exp": (ops.exp, torch.exp, [normal(3, 2)]),
    "log": (ops.log, torch.log, [positive(3, 2)]),
    "relu": (ops.relu, torch.relu, [normal(3, 2)]),
    "tanh": (ops.tanh, torch.tanh, [normal(3, 2)]),
    "sigmoid": (ops.sigmoid, torch.sigmoid, [normal(3, 2)]),
    "log_sigmoid": (ops.log_sigmoid, functional.logsigmoid, [normal(3, 2)]),
    "log_softmax": (ops.log_softmax, lambda a: functional.log_softmax(a, -1), [normal(2, 3, 4)]),
    "identity": (ops.identity, lambda a: a * 1, [normal(3, 2)]),
    "reduce_sum": (ops.reduce_sum, torch.sum, [normal(3, 2)]),
    "reduce_sum along 1": (lambda a: ops.reduce_sum(a, axis=1), lambda a: a.sum(1), [normal(3, 2)]),
    "reduce_sum of two axes, kept": (
        lambda a: ops.reduce_sum(a, axis=(0, 2), keepdims=True),
        lambda a: a.sum((0, 2), keepdim=True),
        [normal(3, 2, 4)],
    ),
    "reduce_mean": (ops.reduce_mean, torch.mean, [normal(3, 2)]),
    "reduce_mean along -1": (lambda a: ops.reduce_mean(a, axis=-1), lambda a: a.mean(-1), [normal(3, 2)]),
    "copy_rows": (lambda a: ops.copy_rows(a, num=4), lambda a: a.expand(4, 3), [normal(3)]),
    "reshape": (lambda a: ops.reshape(a, shape=(2, -1)), lambda a: a.reshape(2, -1), [normal(4, 3)]),
    "transpose": (lambda a: a.T, lambda a: a.T, [normal(4, 3)]),
    "transpose of three": (
        lambda a: ops.transpose(a, axes=(2, 0, 1)),
        lambda a: a.permute(2, 0, 1),
        [normal(2, 3, 4)],
    ),
    "concat": (
        lambda *parts: ops.concat(*parts, axis=1),
        lambda *parts: torch.cat(parts, 1),
        [normal(2, 1), normal(2, 3), normal(2, 2)],
    ),
    "stack": (
        lambda *parts: ops.stack(*parts, axis=-1),
        lambda *parts: torch.stack(parts, -1),
        [normal(2, 3), normal(2, 3)],
    ),
    "a slice": (lambda a: a[1:, ::2], lambda a: a[1:, ::2], [normal(3, 4)]),
    "an element and a new axis": (lambda a: a[..., 1, None], lambda a: a[..., 1, None], [normal(3, 4)]),
    "the same row twice": (lambda a: a[np.array([2, 0, 2])], lambda a: a[[2, 0, 2]], [normal(3, 4)]),
    "by truth values": (lambda a: a[MASK == 1], lambda a: a[torch.tensor(MASK) == 1], [normal(2, 3)]),
    "lookup_rows": (
        lambda a: ops.lookup_rows(a, TARGETS),
        lambda a: functional.embedding(torch.tensor(TARGETS), a),
        [normal(5, 2)],
    ),
    "mse_loss": (ops.mse_loss, functional.mse_loss, [normal(3, 2), normal(3, 2)]),
    "cross_entropy": (
        lambda a: ops.cross_entropy(a, TARGETS),
        lambda a: functional.cross_entropy(a.mT, torch.tensor(TARGETS)),
        [normal(2, 3, 4)],
    ),
    "masked cross_entropy": (lambda a: ops.cross_entropy(a, TARGETS, MASK), masked_loss, [normal(2, 3, 4)]),
    "linear_cross_entropy": (
        lambda h, w, b: fused.linear_cross_entropy(h, w, b, TARGETS, mask=MASK),
        lambda h, w, b: masked_loss(h @ w + b),
        [normal(2, 3, 5), normal(5, 4), normal(4)],
    ),
    "rnn": (fused.rnn, loop, [normal(2, 5, 3), normal(3, 4), normal(4, 4), normal(4)]),
    "rnn from a state": (fused.rnn, loop, [normal(2, 5, 3), normal(3, 4), normal(4, 4), normal(4), normal(2, 4)]),
}


def assert_as_torch(ours: Callable[..., Tensor], theirs: Callable[..., torch.Tensor], values: list[np.ndarray]) -> None:
    mine, other = (
        [Tensor(value.copy()) for value in values],
        [torch.tensor(value, requires_grad=True) for value in values],
    )
    result, expected = ours(*mine), theirs(*other)
    np.testing.assert_allclose(result.value, expected.detach().numpy(), rtol=0, atol=1e-10)
    weights = RNG.normal(size=result.shape)
    ops.reduce_sum(result * weights).backward()
    (expected * torch.tensor(weights)).sum().backward()
    for one, two in zip(mine, other, strict=True):
        assert two.grad is not None
        np.testing.assert_allclose(one.grad, two.grad.numpy(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_operations_have_torchs_values_and_gradients(name: str) -> None:
    assert_as_torch(*CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_operations_have_the_gradients_of_finite_differences(name: str) -> None:
    ours, _, values = CASES[name]
    assert gradcheck(ours, *values) < 1e-6


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    full = draw(st.lists(st.integers(1, 3), max_size=3))
    shapes = [
        tuple(1 if draw(st.booleans()) else size for size in full)[draw(st.integers(0, len(full))) :] for _ in "ab"
    ]
    return shapes[0], shapes[1]


@given(broadcastable(), st.sampled_from(["add", "sub", "mul", "div"]))
@settings(max_examples=60)
def test_gradients_of_what_was_broadcast_are_summed_as_in_torch(shapes: Any, name: str) -> None:
    function = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
    }
    assert_as_torch(function[name], getattr(torch, name), [positive(*shape) for shape in shapes])


CELLS = {
    "elman": (nn.RNNCell, torch.nn.RNN),
    "lstm": (nn.LSTMCell, torch.nn.LSTM),
    "gru": (nn.GRUCell, torch.nn.GRU),
}


def pair(kind: str, inputs: int = 3, hidden: int = 4) -> tuple[nn.Cell, Any]:
    """The same weights in a cell of chalk and in torch's layer."""
    torch.manual_seed(0)
    ours, theirs = CELLS[kind]
    layer = theirs(inputs, hidden, batch_first=True, dtype=torch.float64)
    cell = ours(inputs, hidden)
    with torch.no_grad():
        cell.weight_x.value, cell.weight_h.value = (
            layer.weight_ih_l0.numpy().T.copy(),
            layer.weight_hh_l0.numpy().T.copy(),
        )
        if kind == "gru":
            cell.bias.value, cell.bias_h.value = layer.bias_ih_l0.numpy().copy(), layer.bias_hh_l0.numpy().copy()
        else:
            cell.bias.value = (layer.bias_ih_l0 + layer.bias_hh_l0).numpy()
    return cell, layer


@pytest.mark.parametrize("kind", CELLS)
def test_cells_have_torchs_states_and_gradients(kind: str) -> None:
    cell, layer = pair(kind)
    inputs, weights = normal(2, 6, 3), normal(2, 6, 4)
    mine, other = Tensor(inputs), torch.tensor(inputs, requires_grad=True)
    states, expected = ops.stack(*nn.unroll(cell, mine), axis=1), layer(other)[0]
    np.testing.assert_allclose(states.value, expected.detach().numpy(), rtol=0, atol=1e-10)
    ops.reduce_sum(states * weights).backward()
    (expected * torch.tensor(weights)).sum().backward()
    pairs = {mine: other.grad, cell.weight_x: layer.weight_ih_l0.grad.T, cell.weight_h: layer.weight_hh_l0.grad.T}
    pairs[cell.bias] = layer.bias_ih_l0.grad
    if kind == "gru":
        pairs[cell.bias_h] = layer.bias_hh_l0.grad
    assert len(pairs) == 1 + len(cell.parameters())
    for tensor, gradient in pairs.items():
        np.testing.assert_allclose(tensor.grad, gradient.numpy(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", CELLS)
def test_cells_have_the_gradients_of_finite_differences(kind: str) -> None:
    cell, _ = pair(kind)

    def states(inputs: Tensor, *weights: Tensor) -> Tensor:
        vars(cell).update(zip(cell._params, weights, strict=True))
        return ops.stack(*nn.unroll(cell, inputs))

    assert gradcheck(states, normal(2, 3, 3), *cell.parameters()) < 1e-6


@tensor_op
class matmul(Operation):
    @staticmethod
    def forward(ctx: list[Any], a: Any, b: Any) -> Any:
        ctx += [a, b]
        return a @ b

    @staticmethod
    def backward(ctx: list[Any], grad: Any) -> list[Any]:
        return [grad @ ctx[1].T, ctx[0].T @ grad]


@tensor_op
class tanh_of_sum(Operation):
    @staticmethod
    def forward(ctx: list[Any], a: Any, b: Any) -> Any:
        ctx.append(np.tanh(a + b))
        return ctx[0]

    @staticmethod
    def backward(ctx: list[Any], grad: Any) -> list[Any]:
        return [grad * (1 - ctx[0] ** 2)] * 2


@tensor_op
class summed(Operation):
    @staticmethod
    def forward(ctx: list[Any], a: Any) -> Any:
        ctx.append(a)
        return a.sum()

    @staticmethod
    def backward(ctx: list[Any], grad: Any) -> list[Any]:
        return [np.broadcast_to(grad, ctx[0].shape)]


def test_operations_of_ones_own_make_a_network_with_torchs_gradients() -> None:
    """A forward and a backward function each, wrapped by tensor_op, none of the engine's own: a recurrent network whose
    weights are used at every step. Catches a gradient that is not added up where a tensor is used again, or that goes
    to the wrong input."""
    inputs, weights = normal(4, 2, 3), [normal(3, 5), normal(5, 5)]
    mine, theirs = (
        [Tensor(weight) for weight in weights],
        [torch.tensor(weight, requires_grad=True) for weight in weights],
    )
    state, expected = Tensor(np.zeros((2, 5))), torch.zeros(2, 5, dtype=torch.float64)
    for vector in inputs:
        state = tanh_of_sum(matmul(Tensor(vector), mine[0]), matmul(state, mine[1]))
        expected = torch.tanh(torch.tensor(vector) @ theirs[0] + expected @ theirs[1])
    summed(state).backward()
    expected.sum().backward()
    np.testing.assert_allclose(state.value, expected.detach().numpy(), rtol=0, atol=1e-14)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one.grad, other.grad.numpy(), rtol=0, atol=1e-13)
        assert np.abs(one.grad).min() > 1e-6


def test_the_fused_operations_equal_the_single_ones() -> None:
    """A whole language model, forward and backward: embedding, recurrence, readout, masked loss."""
    embedding, layer, readout = nn.Embedding(5, 3), nn.RNN(3, 4), nn.Linear(4, 5)
    cell = nn.RNNCell(3, 4)
    cell.weight_x, cell.weight_h, cell.bias = layer.weight_x, layer.weight_h, layer.bias
    tokens = RNG.integers(5, size=(2, 3))
    single = ops.cross_entropy(readout(ops.stack(*nn.unroll(cell, embedding(tokens)), axis=1)), TARGETS, MASK)
    together = fused.linear_cross_entropy(layer(embedding(tokens)), readout.weight, readout.bias, TARGETS, mask=MASK)
    found = []
    for loss in (single, together):
        parameters = [*embedding.parameters(), *layer.parameters(), *readout.parameters()]
        optim.SGD(parameters).zero_grad()
        loss.backward()
        found.append([loss.value, *(parameter.grad for parameter in parameters)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", CELLS)
def test_the_terms_of_bptt_are_those_of_gradient_flow_and_sum_to_the_gradient(kind: str) -> None:
    cell, layer = pair(kind)
    embedding = torch.nn.Embedding(7, 3, dtype=torch.float64)
    readout = torch.nn.Linear(4, 7, dtype=torch.float64)
    tokens, target = torch.tensor([[1, 5, 2, 6, 0, 3, 3, 4]]), 2
    model = rote.adapt(recurrent=layer, embedding=embedding, readout=readout)
    flow = rote.gradient_flow(model, tokens, at=7, targets=torch.tensor([target]), jacobians=False, terms=True)
    assert flow.terms is not None
    weight, bias = readout.weight.detach().numpy().T, readout.bias.detach().numpy()
    inputs = Tensor(embedding(tokens).detach().numpy())
    terms = bptt_terms(cell, inputs, lambda states: ops.cross_entropy(states[-1] @ weight + bias, [target]))
    for mine, theirs in (("weight_h", "weight_hh"), ("weight_x", "weight_ih")):
        expected = flow.terms[0][theirs].mT.numpy()
        np.testing.assert_allclose(terms[mine], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(terms[mine].sum(0), getattr(cell, mine).grad, rtol=0, atol=1e-15)
    assert np.linalg.norm(terms["weight_h"][0]) == 0  # h_0 = 0
    assert np.linalg.norm(terms["weight_h"][1]) > 0


OPTIMIZERS = {
    "sgd": (lambda params: optim.SGD(params, lr=0.01), lambda params: torch.optim.SGD(params, lr=0.01)),
    "adagrad": (lambda params: optim.Adagrad(params, lr=0.01), lambda params: torch.optim.Adagrad(params, lr=0.01)),
    "adam": (lambda params: optim.Adam(params, lr=0.01), lambda params: torch.optim.Adam(params, lr=0.01)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_take_torchs_steps(name: str) -> None:
    start = normal(3, 2)
    mine, other = Tensor(start.copy()), torch.tensor(start, requires_grad=True)
    ours, theirs = OPTIMIZERS[name][0]([mine]), OPTIMIZERS[name][1]([other])
    for _ in range(5):
        ours.zero_grad()
        theirs.zero_grad()
        ops.reduce_sum((mine - 1.0) ** 2 * mine).backward()
        ((other - 1.0) ** 2 * other).sum().backward()
        ours.step()
        theirs.step()
    np.testing.assert_allclose(mine.value, other.detach().numpy(), rtol=0, atol=1e-10)


def test_dropout_keeps_the_mean_in_training_and_everything_in_evaluation() -> None:
    np.random.seed(0)
    layer, ones = nn.Dropout(0.25), Tensor(np.ones((200, 100), np.float32))
    dropped = layer(ones)
    assert dropped.dtype == np.float32
    assert set(np.unique(dropped.value)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(dropped.value.mean() - 1) < 0.02
    ops.reduce_sum(dropped).backward()
    np.testing.assert_array_equal(ones.grad, dropped.value)
    layer.eval()
    np.testing.assert_array_equal(layer(ones).value, ones.value)


def test_gradcheck_finds_a_wrong_derivative_and_leaves_its_inputs() -> None:
    wrong = ops.of_one("wrong", np.sin, lambda a, result: np.sin(a))
    given = normal(3)
    with pytest.raises(ValueError, match=r"input 0 at \(0,\) is .*; the function's own difference is"):
        gradcheck(wrong, given.copy())
    tensor = Tensor(given.copy())
    gradcheck(ops.tanh, tensor)
    np.testing.assert_array_equal(tensor.value, given)
    assert not tensor.grad.any()


def test_without_recording_there_is_no_graph() -> None:
    x = Tensor(2.0)
    with no_grad():
        result = x * x
    assert result.parents == ()
    assert (x * x).parents
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    assert (x * x).parents, "an exception must not switch recording off for good"
