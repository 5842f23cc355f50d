"""Cells as they start: published numbers of parameters, ranges of initial weights, biases of gates, dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from rote.cells import GRUCell, Initialization, LSTMCell, NestedLSTMCell, Plain, Recurrent, as_recurrent
from rote.errors import UsageError

INPUT, HIDDEN, TIME = 3, 4, 5


def count(*modules: nn.Module | None) -> int:
    return sum(p.numel() for module in modules if module is not None for p in module.parameters())


@pytest.mark.parametrize(
    ("cell", "options", "published"),
    [("lstm", {}, 5_764_800), ("gru", {"reset": "before"}, 4_323_600), ("nested_lstm", {"depth": 2}, 5_764_800)],
)
def test_parameters_of_source_003_so_a_second_bias_or_a_lost_matrix_is_found(
    cell: str, options: dict[str, Any], published: int
) -> None:
    made = Recurrent(cell, 600, 600, layers=1 if cell == "nested_lstm" else 2, biases="one", **options)
    assert count(made) == published


def test_other_published_parameter_counts() -> None:
    assert count(nn.Embedding(27, 600)) == 16_200
    assert count(nn.Linear(600, 16_386)) == 9_847_986
    assert count(Recurrent("gru", 600, 600, layers=2)) == count(nn.GRU(600, 600, 2)) == 4_327_200
    # Source 000: embedding and LSTM of 200, two biases, 1002 symbols.
    lstm = Recurrent("lstm", 200, 200)
    assert count(lstm) == count(nn.LSTM(200, 200)) == 4 * 200 * (200 + 200 + 2)
    assert count(nn.Embedding(1002, 200), lstm, nn.Linear(200, 1002)) == 723_402
    # Source 002: encoder and decoder GRU of 512, embeddings 16 and 512 (the attention and the gate on its context add
    # the rest of the 3 451 708).
    encoder, decoder = Recurrent("gru", 16, 512), Recurrent("gru", 512, 512)
    rest = nn.ModuleList([nn.Embedding(19, 16), nn.Embedding(11, 512), nn.Linear(512, 11)])
    attention = nn.ModuleList([nn.Linear(1024, 512), nn.Linear(512, 1), nn.Linear(1024, 512)])
    assert count(encoder, decoder, rest, attention) == 3_451_708


# How weights start.


def drawn(cell: str, size: int = 40, **options: Any) -> Any:
    torch.manual_seed(3)
    return Recurrent(cell, size, size, **options).double().cell(0)


def assert_uniform(values: Tensor, limit: float) -> None:
    """In [-limit, limit], filling it: a variance of limit^2 / 3 and extremes near the ends."""
    assert values.abs().max() <= limit
    count = values.numel()
    assert values.abs().max() > (1 - 8 / count) * limit
    assert values.var().item() == pytest.approx(limit**2 / 3, rel=4 * math.sqrt(0.8 / count))  # four standard errors


def test_torch_and_uniform_initialization_fill_their_range() -> None:
    for parameter in drawn("lstm").parameters():
        assert_uniform(parameter, 1 / math.sqrt(40))
    for parameter in drawn("gru", initialization=Initialization("uniform", limit=0.08)).parameters():
        assert_uniform(parameter, 0.08)


def test_glorot_limits_are_those_of_tensorflows_joint_matrices_not_of_each_gate_or_half() -> None:
    cell = drawn("lstm", initialization=Initialization("glorot"), biases="one")
    joint = math.sqrt(6 / (80 + 160))  # [x; h] -> four gates
    assert_uniform(cell.weight_ih, joint)
    assert_uniform(cell.weight_hh, joint)
    assert not cell.bias_ih.any()
    assert cell.bias_hh is None
    gru = drawn("gru", initialization=Initialization("glorot"), biases="one", reset="before")
    for weight in (gru.weight_ih, gru.weight_hh):
        assert_uniform(weight[:80], math.sqrt(6 / (80 + 80)))  # [x; h] -> r and z
        assert_uniform(weight[80:], math.sqrt(6 / (80 + 40)))  # [x; r * h] -> candidate
    published = Recurrent("lstm", 600, 600, biases="one", initialization=Initialization("glorot")).cell(0)
    assert published.weight_ih.abs().max().item() == pytest.approx(0.0408, abs=1e-4)


def test_glorot_of_the_levels_inside_takes_their_own_sizes_also_beyond_ten_levels() -> None:
    torch.manual_seed(0)
    cell = NestedLSTMCell(100, 20, depth=12, initialization=Initialization("glorot"))
    assert_uniform(cell.weight_ih, math.sqrt(6 / (120 + 80)))
    for level in (1, 11):
        assert_uniform(getattr(cell, f"weight_ih_{level}"), math.sqrt(6 / (40 + 80)))


@pytest.mark.parametrize("biases", ["one", "two"])
@pytest.mark.parametrize(
    ("cell", "options"), [("lstm", {}), ("nested_lstm", {"depth": 1}), ("nested_lstm", {"depth": 3})]
)
def test_forget_bias_lands_on_the_forget_gates_and_counts_once(cell: str, options: Any, biases: Any) -> None:
    start = Initialization("glorot", forget_bias=1.5)
    made = drawn(cell, initialization=start, biases=biases, **options)
    a = Plain()
    zero = torch.zeros(1, 40, dtype=torch.float64)
    made.step(a, made.project(zero), tuple(zero for _ in made.state_names))
    # With no input and no state each gate shows its bias, whatever its rows are; the inner levels' inputs are zero.
    for name, value in a.gates.items():
        bias = 1.5 if name.startswith("forget") else 0.0
        expected = torch.tensor(bias, dtype=torch.float64)
        expected = expected if name.startswith("candidate") else expected.sigmoid()
        torch.testing.assert_close(value, expected.expand_as(value), msg=name)
    # And the forget gate is what its name says: with that bias the memory is kept.
    kept = drawn(cell, initialization=Initialization("glorot", forget_bias=50.0), biases=biases, **options)
    memory = [torch.full_like(zero, 0.3)] * (len(made.state_names) - 1)
    _, *after = kept.step(Plain(), kept.project(zero), (zero, *memory))
    torch.testing.assert_close(after[-1], memory[-1], rtol=0, atol=0.2 if len(memory) > 1 else 1e-9)


@pytest.mark.parametrize("reset", ["before", "after"])
def test_unit_gate_bias_lands_on_update_and_reset_and_keeps_the_state(reset: str) -> None:
    made = drawn("gru", initialization=Initialization("glorot", gate_bias=1.0), reset=reset)
    a, zero = Plain(), torch.zeros(1, 40, dtype=torch.float64)
    made.step(a, made.project(zero), (zero,))
    one = torch.ones_like(zero).sigmoid()
    torch.testing.assert_close(a.gates["update"], one)
    torch.testing.assert_close(a.gates["reset"], one)
    assert not a.gates["candidate"].any()
    kept = drawn("gru", initialization=Initialization("glorot", gate_bias=50.0), reset=reset)
    state = torch.randn(1, 40, dtype=torch.float64)
    torch.testing.assert_close(kept.step(Plain(), kept.project(zero), (state,))[0], state)


# Layers.


@pytest.mark.parametrize("kind", ["lstm", "nested_lstm"])
def test_dropout_acts_between_layers_only_and_only_in_training(kind: str) -> None:
    inputs = torch.randn(2, TIME, INPUT)
    one = Recurrent(kind, INPUT, HIDDEN, dropout=0.5).train()
    torch.testing.assert_close(one(inputs)[0], one(inputs)[0])  # no layer above: nothing is dropped
    two = Recurrent(kind, INPUT, HIDDEN, layers=2, dropout=0.5)
    two.eval()
    torch.testing.assert_close(two(inputs)[0], two(inputs)[0])
    two.train()
    assert not torch.equal(two(inputs)[0], two(inputs)[0])
    # The bottom layer's own recurrence and the output stay whole.
    final = [two(inputs)[1] for _ in range(2)]
    torch.testing.assert_close(final[0][0], final[1][0])
    assert (two(inputs)[0] != 0).all()


def test_dropout_draws_like_torch_and_has_its_scale_also_where_no_kernel_is_used() -> None:
    inputs = torch.randn(2, TIME, INPUT)
    lstm = nn.LSTM(INPUT, 50, 3, dropout=0.25, batch_first=True, bidirectional=True)
    torch.manual_seed(0)
    expected = lstm(inputs)[0]
    torch.manual_seed(0)
    torch.testing.assert_close(as_recurrent(lstm)(inputs)[0], expected)
    two = Recurrent("nested_lstm", INPUT, 50, layers=2, dropout=0.25).train()
    bottom, top = (Recurrent([two.cell(layer)]) for layer in range(2))
    torch.manual_seed(0)
    expected = top(nn.functional.dropout(bottom(inputs)[0], 0.25))[0]
    torch.manual_seed(0)
    torch.testing.assert_close(two(inputs)[0], expected)


@given(st.data())
def test_a_padded_batch_equals_its_sequences_alone(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["elman", "lstm", "gru", "nested_lstm"]))
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    both, layers = data.draw(st.booleans()), data.draw(st.integers(1, 2))
    torch.manual_seed(data.draw(st.integers(0, 100)))
    recurrent = Recurrent(kind, INPUT, HIDDEN, layers=layers, bidirectional=both).double()
    inputs = torch.randn(len(lengths), max(lengths), INPUT, dtype=torch.float64)
    together, states = recurrent(inputs, lengths=torch.tensor(lengths))
    for row, length in enumerate(lengths):
        alone, own = recurrent(inputs[row : row + 1, :length])
        torch.testing.assert_close(together[row, :length], alone[0], rtol=0, atol=1e-13)
        assert not together[row, length:].any()
        for joint, single in zip(states, own, strict=True):
            for ours, theirs in zip(joint, single, strict=True):
                torch.testing.assert_close(ours[row], theirs[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LSTMCell(0, 4), "sizes of at least 1. Got input 0, hidden 4"),
        (lambda: LSTMCell(3, 4, biases="both"), "'biases' must be 'none', 'one' or 'two'. Got 'both'"),
        (lambda: GRUCell(3, 4, reset="inside"), "'reset' must be 'after' or 'before'. Got 'inside'"),
        (lambda: Recurrent("elman", 3, 4, nonlinearity="gelu"), "'nonlinearity' must be 'tanh' or 'relu'. Got 'gelu'"),
        (lambda: NestedLSTMCell(3, 4, depth=0), "'depth' of a Nested LSTM must be at least 1. Got 0"),
        (lambda: LSTMCell(3, 4, initialization=Initialization("xavier")), "'scheme' must be .* Got 'xavier'"),
        (
            lambda: LSTMCell(3, 4, biases="none", initialization=Initialization(forget_bias=1.0)),
            "need a bias to be set on. Got biases='none'",
        ),
        (
            lambda: LSTMCell(3, 4, weights=dict(nn.GRUCell(3, 4).named_parameters())),
            r"'weight_ih' of 'weights' must be \(16, 3\). Got \(12, 3\)",
        ),
        (
            lambda: LSTMCell(3, 4, weights=dict(nn.LSTMCell(3, 4, bias=False).named_parameters())),
            "'weights' has no bias: give biases='none'. Got 'two'",
        ),
        (
            lambda: GRUCell(3, 4, biases="one", weights=dict(nn.GRUCell(3, 4).named_parameters())),
            "'weights' has 'bias_ih' and 'bias_hh': give biases='two'. Got 'one'",
        ),
        (
            lambda: GRUCell(3, 4, weights={**dict(nn.GRUCell(3, 4).named_parameters()), "bias_hh": None}),
            "'weights' has 'bias_ih': give biases='one'. Got 'two'",
        ),
        (
            lambda: GRUCell(3, 4, weights={**dict(nn.GRUCell(3, 4).named_parameters()), "bias_ih": None}),
            "'bias_hh' alone. Give it as 'bias_ih', with biases='one'",
        ),
        (
            lambda: NestedLSTMCell(
                3, 4, weights={**dict(NestedLSTMCell(3, 4).named_parameters()), "bias_ih_1": None, "bias_hh_1": None}
            ),
            "must have the biases of every level or of none. Got weight_ih",
        ),
        (lambda: Recurrent("lstm", 3, 4, layers=0), "'layers' must be at least 1. Got 0"),
        (lambda: Recurrent("lstm", 3, 4, dropout=1.0), "'dropout' must be at least 0 and below 1. Got 1.0"),
        (lambda: Recurrent("lstn", 3, 4), "Unknown cell 'lstn'. Did you mean 'lstm'"),
        (lambda: Recurrent([]), "at least one layer. Got 0"),
        (lambda: Recurrent([nn.LSTMCell(3, 4)]), "must hold rote cells. Got LSTMCell"),
        (
            lambda: Recurrent([LSTMCell(3, 4), LSTMCell(3, 4)]),
            "layer 1, direction 0 must take 4 inputs, have 4 units and give 4. Got 3, 4 and 4",
        ),
    ],
)  # fmt: skip
def test_wrong_settings_name_the_value_and_what_is_known(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()
