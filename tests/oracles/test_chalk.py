"""The teaching engine where the lecture's own goes wrong, and its errors: each test is one measured defect."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from rote import chalk
from rote.chalk import Operation, Tensor, data, fused, nn, ops, optim, tensor_op, to_dot, to_svg


def test_backward_again_adds_as_much_again() -> None:
    x = Tensor(3.0)
    y = x**2
    loss = y**2
    loss.backward()
    assert x.grad == 108
    loss.backward()
    assert x.grad == 216, "torch with retain_graph; the gradients in between must start anew"
    assert y.grad == 18


def test_a_chain_of_any_length() -> None:
    x = Tensor(1.0)
    y = x
    for _ in range(20_000):
        y = y + x
    y.backward()
    assert x.grad == 20_001
    assert len(y.get_graph_above()) == 40_000
    del y  # deleting it must not recurse either


def test_a_graph_that_meets_again_is_walked_once() -> None:
    """Without remembering what was seen this takes 2 ** 60 steps."""
    x = Tensor(1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad == 2.0**60
    assert [tensor.name for tensor in y._topo_sort()] == [None, *["add"] * 60]


def test_scalars_sums_and_arrays_on_either_side() -> None:
    t = Tensor(np.array([1.0, 2.0]))
    assert sum([t, t]).value.tolist() == [2.0, 4.0]
    assert (1 - t).value.tolist() == [0.0, -1.0]
    assert (np.array([3.0, 4.0]) * t).value.tolist() == [3.0, 8.0]
    assert (np.eye(2) @ t).parents[1] is t
    assert [float(part.value) for part in t] == [1.0, 2.0]
    assert Tensor(np.array([1, 2])).__mul__(0.5).value.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept_forward_and_backward(dtype: Any) -> None:
    x = Tensor(np.array([0.5, 1.5], dtype))
    loss = ops.reduce_mean(ops.sigmoid(2.0 * x + 1) / 3 - ops.log_sigmoid(x) ** 2 + ops.relu(-x))
    loss.backward()
    assert loss.dtype == x.grad.dtype == dtype
    model = optim.Adam([x])
    model.step()
    assert x.value.dtype == dtype
    tokens = np.array([[0, 1]])
    loss = ops.cross_entropy(ops.lookup_rows(Tensor(np.eye(2, dtype=dtype)), tokens), tokens, mask=[[1, 1]])
    assert loss.dtype == dtype


def test_gradients_are_zeros_before_anything_arrives_and_can_be_changed_in_place() -> None:
    a, b = Tensor(np.ones(2)), Tensor(np.ones(2))
    assert a.grad.tolist() == [0.0, 0.0]
    ops.reduce_sum(a + b).backward()
    a.grad += 5
    assert b.grad.tolist() == [1.0, 1.0], "two tensors must not share one array"
    a.grad = np.zeros(2)
    assert a.grad.tolist() == [0.0, 0.0]


def test_a_backward_that_writes_into_what_it_is_given_harms_no_other() -> None:
    @tensor_op
    class careless(Operation):
        @staticmethod
        def forward(ctx: list[Any], a: Any) -> Any:
            return 3 * a

        @staticmethod
        def backward(ctx: list[Any], grad_output: Any) -> Any:
            grad_output *= 3
            return [grad_output]

    x, y = Tensor(np.ones(2)), Tensor(np.ones(2))
    ops.reduce_sum(careless(x) + careless(y)).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([3, 3], [3, 3])


def test_large_numbers_do_not_overflow() -> None:
    logits = Tensor(np.array([[1000.0, -1000.0]]))
    with np.errstate(all="raise", under="ignore"):
        for target, expected in ((0, 0.0), (1, 2000.0)):
            loss = ops.cross_entropy(logits, [target])
            assert loss.value == expected
            loss.backward()
        assert ops.sigmoid(logits).value.tolist() == [[1.0, 0.0]]
        assert ops.log_sigmoid(logits).value.tolist() == [[0.0, -1000.0]]
    assert np.isfinite(logits.grad).all()


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.again = self.first
        self.layers: list[Any] = []
        self.named = {"out": (nn.Linear(2, 1, bias=False), Tensor(np.zeros(1)))}
        self.layers.append(nn.Linear(2, 2))
        self.parent = self
        self.last = Tensor(1.0) + 1.0


def test_tied_and_listed_modules_are_counted_once() -> None:
    model = Tied()
    shapes = [parameter.shape for parameter in model.parameters()]
    assert sorted(shapes) == [(1,), (2,), (2,), (2, 1), (2, 2), (2, 2)]
    assert model.last not in model.parameters(), "a result is no parameter"
    assert list(model._modules) == ["first", "again", "parent"]
    model.eval()
    assert not model.layers[0].training
    weight = model.first.weight
    before = weight.value.copy()
    weight.grad = np.ones((2, 2))
    optim.SGD(parameter for parameter in [weight, weight]).step()
    np.testing.assert_allclose(weight.value, before - 1e-4)
    model.zero_grad()
    assert not weight.grad.any()


def test_an_attribute_that_is_replaced_is_no_longer_a_parameter() -> None:
    layer = nn.Linear(2, 3)
    layer.weight = Tensor(np.zeros((2, 3)))
    assert [parameter.shape for parameter in layer.parameters()] == [(2, 3), (3,)]
    assert layer.parameters()[0] is layer.weight
    layer.bias = None
    assert len(layer.parameters()) == 1


def test_batches_hold_every_example_once_in_a_new_order() -> None:
    np.random.seed(0)
    inputs, targets = np.arange(10.0)[:, None], np.arange(10)
    batches = data.BatchIterator(4)
    drawn = list(batches(inputs, targets))
    assert [batch.targets.shape for batch in drawn] == [(4,), (4,), (2,)]
    assert batches.num_batches == 3
    order = np.concatenate([batch.targets.value for batch in drawn])
    assert sorted(order) == list(range(10))
    assert not any(set(np.diff(batch.targets.value)) == {1} for batch in drawn), "examples, not only batches"
    for batch in drawn:
        np.testing.assert_array_equal(batch.inputs.value[:, 0], batch.targets.value)
    (plain, *_) = data.BatchIterator(4, shuffle=False)(inputs, targets)
    assert plain.targets.value.tolist() == [0, 1, 2, 3]


def operation(backward: Any) -> Any:
    """An operation of two inputs whose backward is the user's mistake."""

    @tensor_op
    class mine(Operation):
        @staticmethod
        def forward(ctx: list[Any], a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        def backward(ctx: list[Any], grad_output: Any) -> Any:
            return backward(grad_output)

    return mine


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (lambda grad: [grad], r"mine.backward returned 1 gradients for 2 inputs"),
        (lambda grad: (grad, grad, grad), r"mine.backward returned 3 gradients for 2 inputs"),
        (lambda grad: None, r"mine.backward returned 1 gradients for 2 inputs"),
        (lambda grad: (grad, grad), r"gradient of shape \(3, 2\) for input 1, which has shape \(2,\)"),
        (lambda grad: (grad.sum(), grad.sum(0)), r"gradient of shape \(\) for input 0, which has shape \(3, 2\)"),
    ],
)
def test_a_backward_that_returns_the_wrong_gradients_is_told(backward: Any, message: str) -> None:
    result = operation(backward)(Tensor(np.ones((3, 2))), Tensor(np.ones(2)))
    with pytest.raises(ValueError, match=message):
        ops.reduce_sum(result).backward()


def test_an_operation_may_leave_out_a_gradient_or_the_list_around_a_single_one() -> None:
    a, b = Tensor(np.ones(2)), Tensor(np.ones(2))
    ops.reduce_sum(operation(lambda grad: (None, grad))(a, b)).backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([0, 0], [1, 1])

    @tensor_op
    class double(Operation):
        @staticmethod
        def forward(ctx: list[Any], a: Any) -> Any:
            return 2 * a

        @staticmethod
        def backward(ctx: list[Any], grad_output: Any) -> Any:
            return 2 * grad_output

    ops.reduce_sum(double(a)).backward()
    assert a.grad.tolist() == [2, 2]


def lm_loss(targets: Any, mask: Any) -> Tensor:
    """Hidden states as ``rnn`` leaves them, time first in memory: labels in another order must not pass."""
    states = nn.RNN(3, 4)(Tensor(np.ones((2, 3, 3))))
    return fused.linear_cross_entropy(states, Tensor(np.ones((4, 5))), Tensor(np.ones(5)), targets, mask=mask)


MISTAKES = [
    (lambda: Tensor(np.ones((3, 2))) + np.ones(4), ValueError, r"^add of shapes \(3, 2\), \(4,\): "),
    (lambda: Tensor(np.ones((3, 2))) @ np.ones((3, 2)), ValueError, r"^matmul of shapes \(3, 2\), \(3, 2\): "),
    (lambda: Tensor(np.ones(2)).backward(), ValueError, r"one number, a loss. This has shape \(2,\)"),
    (lambda: Tensor(np.ones(2)) ** Tensor(2.0), TypeError, "a number as its exponent. Got Tensor"),
    (lambda: Tensor(object()), TypeError, "A Tensor holds numbers. Got object of object"),
    (lambda: Tensor(["a", "b"]), TypeError, "A Tensor holds numbers. Got list of <U1"),
    (lambda: list(Tensor(1.0)), TypeError, "A single number cannot be iterated over"),
    (lambda: Tensor(np.ones(2))[5], IndexError, r"^pick of shapes \(2,\): "),
    (lambda: nn.Embedding(3, 2)(np.array([0, 3])), IndexError, "lookup_rows of .*labels must be 0 to 2. Got 0 to 3"),
    (lambda: nn.Embedding(3, 2)(np.array([-1])), IndexError, "labels must be 0 to 2. Got -1 to -1"),
    (lambda: nn.Embedding(3, 2)(np.array([0.0])), ValueError, "labels are whole numbers. Got float64"),
    (lambda: ops.cross_entropy(Tensor(np.ones((1, 3))), [3]), IndexError, "labels must be 0 to 2. Got 3 to 3"),
    (lambda: ops.cross_entropy(Tensor(np.ones((1, 3))), [0], mask=[0]), ValueError, "No position is left"),
    (lambda: ops.cross_entropy(Tensor(np.ones((0, 3))), np.zeros(0, int)), ValueError, "No position is left"),
    (lambda: ops.cross_entropy(Tensor(np.ones((4, 3))), [0, 1]), ValueError, r"targets must have .* \(4,\) .* \(2,\)"),
    (lambda: lm_loss(np.zeros(6, int), None), ValueError, r"targets must have the shape \(2, 3\) .* Got \(6,\)"),
    (lambda: lm_loss(np.zeros((2, 3), int), [1, 1]), ValueError, r"mask must have the shape \(2, 3\) .* Got \(2,\)"),
    (lambda: lm_loss(np.full((2, 3), 9), None), IndexError, "linear_cross_entropy of .* labels must be 0 to 4. Got 9"),
    (lambda: nn.RNN(3, 4)(Tensor(np.ones((2, 3)))), ValueError, r"rnn of shapes .*: expected \[batch, time, input\]"),
    (lambda: nn.RNN(3, 4)(Tensor(np.ones((2, 5, 3))), Tensor(np.ones(4))), ValueError, r"a state \[batch, hidden\]"),
    (lambda: nn.RNN(3, 4)(Tensor(np.ones((2, 5, 2)))), ValueError, "rnn of shapes .*mismatch"),
    (lambda: ops.stack(*nn.unroll(nn.RNNCell(3, 4), Tensor(np.ones((2, 0, 3))))), ValueError, "of no steps"),
    (lambda: optim.SGD([]), ValueError, "An optimizer needs parameters. Got none"),
    (lambda: optim.SGD([Tensor([1, 2])]), TypeError, "must hold floating point numbers. .* holds int64"),
    (lambda: nn.Dropout(1.0), ValueError, "at least 0 and below 1. Got 1.0"),
    (lambda: data.BatchIterator(0), ValueError, "'batch_size' must be at least 1. Got 0"),
    (lambda: data.BatchIterator()(np.ones(3), np.ones(2)), ValueError, "must be as many. Got 3 and 2"),
    (lambda: chalk.install_as("edu.grad"), ValueError, "takes the name of a module, such as 'edugrad'"),
    (lambda: chalk.install_as("numpy"), RuntimeError, "'numpy' is already imported"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "kind", "message"), MISTAKES)
def test_a_mistake_is_named_in_one_line(mistake: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        mistake()
    assert "\n" not in str(caught.value)


def test_the_graph_is_drawn_with_values_and_gradients() -> None:
    x = Tensor(3.0, name='a "quoted" <name>')
    w = Tensor(np.ones((2, 2)), name="W")
    loss = ops.reduce_sum(ops.tanh(w * x) @ w) * x
    before = to_svg(loss)
    assert "grad none" in before
    loss.backward()
    picture = ElementTree.fromstring(to_svg(loss))
    tags = [element.tag.rpartition("}")[2] for element in picture.iter()]
    texts = [element.text for element in picture.iter() if element.tag.endswith("text")]
    tensors = loss._topo_sort()
    assert tags.count("rect") == len(tensors) == 7
    assert len(texts) == 3 * len(tensors)
    assert 'a "quoted" <name>' in texts
    assert f"grad {x.grad:.4g}" in texts
    assert "value 2x2, norm 2" in texts
    places = [(box.get("x"), box.get("y")) for box in picture.iter() if box.tag.endswith("rect")]
    assert len(set(places)) == len(places), "no box lies on another"
    dot = to_dot(loss)
    assert dot.count(" -> ") == len(loss.get_graph_above())
    assert '\\"quoted\\"' in dot
    assert to_svg(Tensor(1.0)).count("<rect") == 1
    assert "value [1, 0]" in to_svg(Tensor([True, False]) * Tensor(True))


def test_a_tensor_says_what_it_is() -> None:
    assert repr(Tensor([1.0, 2.0], name="w")) == "Tensor([1. 2.], name='w')"
    assert len(repr(Tensor(np.zeros((1000, 1000))))) < 200
    result = Tensor(2.0) * 3
    assert (result.name, result.shape, result.item()) == ("multiply", (), 6.0)
    assert result.detach().parents == ()


def test_the_engine_needs_numpy_alone() -> None:
    program = (
        "import sys, rote; rote.chalk.Tensor; assert not {'torch', 'scipy', 'sklearn', 'altair'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
