"""Connectivity against one backward pass for each output, finite differences, and the model's own forward pass.

All in float64, through torch's fused modules where there are any.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from connected_models import (
    ASKED,
    HIDDEN,
    INPUT,
    KINDS,
    LENGTHS,
    OUTPUTS,
    TIME,
    assert_right,
    model_of,
    numbers_of,
    table_of,
)
from torch import Tensor, nn

from rote.analyses import adjoint, all_outputs, connectivity, gradient_batches, target_rows
from rote.cells import cells
from rote.models import SequenceModel, adapt

MODULES: dict[str, Callable[..., Any]] = {
    "tanh": lambda **options: nn.RNN(INPUT, HIDDEN, nonlinearity="tanh", **options),
    "relu": lambda **options: nn.RNN(INPUT, HIDDEN, nonlinearity="relu", **options),
    "lstm": lambda **options: nn.LSTM(INPUT, HIDDEN, **options),
    "gru": lambda **options: nn.GRU(INPUT, HIDDEN, **options),
}


@pytest.mark.parametrize("both", [False, True], ids=["forward", "both ways"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", MODULES)
def test_torchs_modules_get_the_numbers_of_their_own_backward_so_no_gate_layer_or_direction_is_mistaken(
    kind: str, layers: int, both: bool
) -> None:
    tokens, targets, lengths = numbers_of(7), numbers_of(OUTPUTS, seed=2), torch.full((3,), TIME)
    for bias, batch_first in ((True, True), (False, False)):
        module = MODULES[kind](num_layers=layers, bidirectional=both, bias=bias, batch_first=batch_first)
        module, table = module.double(), nn.Embedding(7, INPUT).double()
        readout = nn.Linear(HIDDEN * (2 if both else 1), OUTPUTS).double()
        model = adapt(recurrent=module, embedding=table, readout=readout)

        def outputs_of(vectors: Tensor, module: Any = module, readout: nn.Linear = readout) -> Tensor:
            turned = vectors if module.batch_first else vectors.transpose(0, 1)
            hidden = module(turned)[0]
            outputs: Tensor = readout(hidden if module.batch_first else hidden.transpose(0, 1))
            return outputs

        for asked in ASKED:
            wrt, norm, of = asked
            found = connectivity(model, tokens, targets, wrt=wrt, norm=norm, of=of)
            assert torch.equal(found.targets, targets)
            assert_right(found, outputs_of, tokens, table.weight, lengths)


def test_every_registered_cell_is_in_these_tests() -> None:
    own = {name for name in cells if cells[name].__module__.startswith("rote.")}
    assert own == {kind.split()[0] for kind in KINDS}


@pytest.mark.parametrize("both", [False, True], ids=["forward", "both ways"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_cell_in_padded_batches_so_padding_neither_leaks_in_nor_gets_a_number(kind: str, both: bool) -> None:
    for layers, options in ((1, {"biases": "one"}), (2, {"biases": "none"}), (3, {})):
        model = model_of(kind, layers=layers, both=both, **options)
        tokens = numbers_of(7)
        found = connectivity(model, tokens, lengths=LENGTHS)
        assert_right(found, model, tokens, table_of(model), LENGTHS)
        assert found.causal is not both
        other = tokens.clone()
        other[0, 2:], other[2, 1:] = 6, 3
        assert torch.equal(connectivity(model, other, found.targets, lengths=LENGTHS).values, found.values)


@pytest.mark.parametrize("kind", KINDS)
def test_long_single_sequences_where_diagonals_go_into_the_matrices(kind: str) -> None:
    """With one sequence and many rows another program runs: it must not double or drop a gate."""
    for layers, both in ((2, False), (2, True)):
        model, tokens = model_of(kind, layers=layers, both=both), numbers_of(7, 1, adjoint.MANY + 6)
        assert_right(connectivity(model, tokens), model, tokens, table_of(model), torch.tensor([tokens.shape[1]]))


@pytest.mark.parametrize("many", [1, 10**9])
@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_of_multiplying_diagonals_agree_with_autograd_at_every_length(
    kind: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adjoint, "MANY", many)
    model = model_of(kind, layers=2)
    for time in (1, 2, 11):
        tokens = numbers_of(7, 1, time)
        assert_right(connectivity(model, tokens), model, tokens, table_of(model), torch.tensor([time]))


@pytest.mark.parametrize("kind", KINDS)
def test_finite_differences_of_the_forward_pass_give_the_same_numbers(kind: str) -> None:
    model, tokens = model_of(kind, layers=2), numbers_of(7, 1)
    found = connectivity(model, tokens, wrt="embedding", norm="squared")
    vectors, step = model.embed(tokens).detach(), 1e-6
    squares = torch.zeros(TIME, TIME, dtype=torch.float64)
    for s, i in itertools.product(range(TIME), range(INPUT)):
        moved = torch.zeros_like(vectors)
        moved[0, s, i] = step
        with torch.no_grad():
            up, down = (model.readout(model.recurrent(vectors + sign * moved)[0])[0] for sign in (1, -1))
        slope = (up - down).gather(1, found.targets[0][:, None])[:, 0] / (2 * step)
        squares[:, s] += slope**2
    assert float((found.values[0] - squares).abs().max()) < 1e-6 * float(squares.max())


def test_an_output_never_depends_on_a_later_input_and_both_directions_do() -> None:
    tokens = numbers_of(7)
    above = torch.ones(TIME, TIME).triu(1).bool()
    for kind in KINDS:
        one, two = (connectivity(model_of(kind, both=both), tokens, norm="signed").values for both in (False, True))
        assert (one[:, above] == 0).all()
        # Of ReLU units some do not move; attention sees the last three steps, in either direction.
        assert (two[:, above] != 0).all() or kind in ("elman relu", "attention")


def test_the_order_of_axes_is_output_then_input_and_time_is_not_shifted_by_one() -> None:
    """Only the token at step 1 counts: its column is filled from row 1 on, the other columns are zero."""
    model = model_of("gru")
    table = table_of(model)
    with torch.no_grad():
        table[:] = 0
        table[4] = 1.0
        for name in ("bias_ih", "bias_hh"):
            getattr(model.recurrent.cell(0), name).zero_()
    found = connectivity(model, torch.tensor([[0, 4, 0, 0]]), wrt="embedding", norm="signed")
    assert (found.values[0, 1:, 1] != 0).all()
    assert found.values[0, 0, 1] == 0
    assert (found.values[0][:, [0, 2, 3]] == 0).all()


def test_squared_is_the_square_and_signed_is_the_same_for_one_hot_and_embedding() -> None:
    model, tokens = model_of("lstm", layers=2), numbers_of(7)
    length, squared = (connectivity(model, tokens, norm=norm).values for norm in ("l2", "squared"))
    assert torch.allclose(length**2, squared, rtol=1e-13)
    one_hot, embedded = (connectivity(model, tokens, norm="signed", wrt=wrt).values for wrt in ("one_hot", "embedding"))
    assert torch.allclose(one_hot, embedded, rtol=1e-13)
    vectors = table_of(model).detach()[tokens]
    gradient = torch.zeros(3, TIME, TIME, INPUT, dtype=torch.float64)
    for row, t in itertools.product(range(3), range(TIME)):
        leaf = vectors[row : row + 1].clone().requires_grad_()
        chosen = model.readout(model.recurrent(leaf)[0])[0, t].max()
        gradient[row, t] = torch.autograd.grad(chosen, leaf)[0][0]
    assert torch.allclose(embedded, (gradient * vectors[:, None]).sum(-1), atol=1e-13)


@pytest.mark.parametrize("vocabulary", [1, INPUT, 7, 31])
@pytest.mark.parametrize("both", [False, True], ids=["forward", "both ways"])
def test_any_size_of_vocabulary_gives_the_one_hot_norm_so_the_triangle_replaces_the_embedding_rightly(
    vocabulary: int, both: bool
) -> None:
    for time in (1, 2, TIME):  # few pairs: the embedding itself; many: R of its QR decomposition, piece by piece
        model, tokens = model_of("gru", both=both, vocabulary=vocabulary), numbers_of(vocabulary, 2, time)
        assert_right(connectivity(model, tokens), model, tokens, table_of(model), torch.full((2,), time))


def test_renormalized_and_padding_rows_of_an_embedding_count_as_the_model_uses_them() -> None:
    model, tokens = model_of("lstm"), numbers_of(7)
    table = nn.Embedding(7, INPUT, padding_idx=2, max_norm=0.5).double()
    model = SequenceModel(model.recurrent, table, model.readout)
    before = table.weight.detach().clone()
    found = connectivity(model, tokens)
    assert_right(found, model, tokens, model.embedding_matrix(), torch.full((3,), TIME))
    assert torch.equal(table.weight, before)


@pytest.mark.parametrize("both", [False, True], ids=["forward", "both ways"])
def test_small_pieces_give_the_same_numbers_so_no_sequence_output_or_logit_is_lost_at_a_seam(
    both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of("lstm", layers=2, both=both)
    tokens, lengths = numbers_of(7, 7, 6), torch.tensor([3, 6, 1, 6, 2, 5, 6])
    options: dict[str, Any] = {"lengths": lengths, "of": "log_probability"}
    whole = connectivity(model, tokens, **options)
    for module, name, value in (
        (gradient_batches, "TOGETHER", 2 * 6 * HIDDEN),
        (gradient_batches, "ALONE", 5 * HIDDEN),
        (gradient_batches, "ERROR_SEQUENCES", 2),
        (all_outputs, "BLOCK", 2),
        (target_rows, "LOGITS", OUTPUTS + 1),
    ):
        monkeypatch.setattr(module, name, value)
        pieces = connectivity(model, tokens, **options)
        assert torch.allclose(pieces.values, whole.values, rtol=1e-12, atol=1e-15)
        assert torch.equal(pieces.targets, whole.targets)
        assert float(pieces.error.max()) < 1e-12
