"""Stacked cells against the same cells one after the other, in float64: values, states and gradients."""

import pytest
import torch

from rote.cells import Initialization, Recurrent, cells, run_stacked, stack, stacked_linear, unstack
from rote.errors import UsageError

KINDS = [
    ("elman", {}),
    ("lstm", {}),
    ("gru", {}),
    ("gru", {"reset": "before"}),
    ("nested_lstm", {"depth": 3}),
]


def make(kind, options, replicas=3, biases="two"):
    torch.manual_seed(0)
    how = Initialization("uniform", limit=0.8)
    return [cells[kind](4, 5, biases=biases, initialization=how, **options).double() for _ in range(replicas)]


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("biases", ["two", "one", "none"])
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_stacked_equals_one_after_the_other(kind, options, biases, batch):
    singles = make(kind, options, biases=biases)
    inputs = torch.randn(3, batch, 6, 4, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([[6, 3][:batch], [2, 6][:batch], [5, 1][:batch]])
    weights = torch.randn(3, batch, 6, 5, dtype=torch.float64)

    stacked = stack(singles)
    mask = torch.arange(6) < lengths[..., None]
    hidden, final = run_stacked(stacked, inputs, mask=mask)
    ((hidden * weights).sum() + sum(state.sum() for state in final)).backward()
    gradient, inputs.grad = inputs.grad.clone(), None

    for replica, cell in enumerate(singles):
        alone, end = Recurrent([cell])(inputs[replica], lengths=lengths[replica])
        ((alone * weights[replica]).sum() + sum(state.sum() for state in end[0])).backward()
        torch.testing.assert_close(hidden[replica], alone, rtol=1e-12, atol=1e-12)
        for ours, theirs in zip(final, end[0], strict=True):
            torch.testing.assert_close(ours[replica], theirs, rtol=1e-12, atol=1e-12)
        for name, parameter in cell.named_parameters():
            torch.testing.assert_close(getattr(stacked, name).grad[replica], parameter.grad, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(gradient, inputs.grad, rtol=1e-10, atol=1e-12)


def test_an_initial_state_is_used_and_gets_its_gradient():
    singles = make("lstm", {})
    state = tuple(torch.randn(3, 2, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    inputs = torch.randn(3, 2, 4, 4, dtype=torch.float64)
    hidden, _ = run_stacked(stack(singles), inputs, state)
    hidden.sum().backward()
    for replica, cell in enumerate(singles):
        start = tuple(value[replica].detach().requires_grad_() for value in state)
        alone, _ = Recurrent([cell])(inputs[replica], initial=[start])
        alone.sum().backward()
        torch.testing.assert_close(hidden[replica], alone, rtol=1e-12, atol=1e-12)
        for ours, theirs in zip(state, start, strict=True):
            torch.testing.assert_close(ours.grad[replica], theirs.grad, rtol=1e-10, atol=1e-12)


def test_a_second_backward_pass_adds_to_the_gradient():
    cell = stack(make("gru", {}))
    inputs = torch.randn(3, 2, 4, 4, dtype=torch.float64)
    run_stacked(cell, inputs)[0].sum().backward()
    once = cell.weight_hh.grad.clone()
    run_stacked(cell, inputs)[0].sum().backward()
    torch.testing.assert_close(cell.weight_hh.grad, 2 * once)


def test_a_frozen_weight_gets_no_gradient_and_the_others_do():
    cell = stack(make("gru", {}))
    cell.weight_hh.requires_grad_(False)
    run_stacked(cell, torch.randn(3, 2, 4, 4, dtype=torch.float64))[0].sum().backward()
    assert cell.weight_hh.grad is None
    assert cell.weight_ih.grad.abs().sum() > 0


def test_unstack_gives_back_each_replica():
    singles = make("nested_lstm", {"depth": 2})
    stacked = stack(singles)
    for replica, cell in enumerate(singles):
        again = unstack(stacked, replica)
        assert type(again) is type(cell)
        for name, parameter in cell.named_parameters():
            assert torch.equal(getattr(again, name), parameter)
            assert getattr(again, name).data_ptr() != getattr(stacked, name).data_ptr()


def test_stacked_linear_is_linear_for_each_replica():
    value, weight, bias = (torch.randn(*shape, dtype=torch.float64) for shape in ((3, 1, 4), (3, 7, 4), (3, 7)))
    for rows in (1, 5):
        many = value.expand(3, rows, 4) + torch.randn(3, rows, 4, dtype=torch.float64)
        expected = torch.stack([torch.nn.functional.linear(many[r], weight[r], bias[r]) for r in range(3)])
        torch.testing.assert_close(stacked_linear(many, weight, bias), expected)
        torch.testing.assert_close(stacked_linear(many, weight), expected - bias[:, None])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("gru", {}), ("lstm", {})),
        (("gru", {"reset": "before"}), ("gru", {"reset": "after"})),  # the first one's equations would serve both
        (("nested_lstm", {"depth": 2}), ("nested_lstm", {"depth": 3})),
    ],
)
def test_cells_of_two_kinds_are_not_stacked(one, other):
    with pytest.raises(UsageError, match="one kind and size"):
        stack([*make(*one, 1), *make(*other, 1)])
