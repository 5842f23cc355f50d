"""Connectivity with other targets, inputs, initial states and cells: each against one backward pass per output."""

from __future__ import annotations

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
    one_at_a_time,
    table_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from rote.analyses import connectivity
from rote.cells import Cell, Recurrent
from rote.cells.arithmetic import Arithmetic, V
from rote.models.sequence import SequenceModel


def test_targets_default_to_the_models_own_choice_at_every_step_and_zero_at_padding() -> None:
    model, tokens = model_of("gru", layers=2), numbers_of(7)
    chosen = model(tokens, lengths=LENGTHS).argmax(-1) * (torch.arange(TIME) < LENGTHS[:, None])
    found = connectivity(model, tokens, lengths=LENGTHS)
    assert torch.equal(found.targets, chosen)
    ignored = chosen.masked_fill(~found.mask, -100)  # as cross entropy marks what it leaves out
    again = connectivity(model, tokens, ignored, lengths=LENGTHS)
    assert torch.equal(again.values, found.values)
    assert torch.equal(again.targets, chosen)


def test_log_probability_is_not_the_logit_and_stays_when_a_constant_is_added_to_all_logits() -> None:
    model, tokens = model_of("lstm"), numbers_of(7)
    logit, first = (connectivity(model, tokens, of=of).values for of in ("logit", "log_probability"))
    assert float((logit - first).abs().max()) > 1e-3
    with torch.no_grad():
        model.readout.weight += torch.arange(HIDDEN)
    again = connectivity(model, tokens, connectivity(model_of("lstm"), tokens).targets, of="log_probability").values
    assert torch.allclose(again, first, atol=1e-13)


def test_models_of_vectors_and_models_without_readout_ask_about_inputs_and_units_as_they_are() -> None:
    recurrent = model_of("gru", layers=2, both=True).recurrent
    vectors = torch.randn(2, TIME, INPUT, dtype=torch.float64)
    model = SequenceModel(recurrent)
    one_hot, embedded = (connectivity(model, vectors, wrt=wrt) for wrt in ("one_hot", "embedding"))
    assert torch.equal(one_hot.values, embedded.values)
    assert one_hot.tokens is None
    assert torch.equal(one_hot.targets, recurrent(vectors)[0].argmax(-1))
    leaf = vectors.clone().requires_grad_()
    unit = recurrent(leaf)[0][1, 3, one_hot.targets[1, 3]]
    assert torch.allclose(one_hot.values[1, 3], torch.autograd.grad(unit, leaf)[0][1].norm(dim=-1), atol=1e-14)
    assert one_hot.to_table().column("token") == [None] * (2 * TIME * TIME)


@pytest.mark.parametrize("both", [False, True], ids=["forward", "both ways"])
def test_initial_states_move_the_gradients_also_behind_padding_of_a_backward_layer(both: bool) -> None:
    model, tokens = model_of("lstm", layers=2, both=both), numbers_of(7)
    count = 4 if both else 2
    h, c = torch.randn(2, count, 3, HIDDEN, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    found = connectivity(model, tokens, lengths=LENGTHS, initial=(h, c))
    assert not torch.allclose(found.values, connectivity(model, tokens, found.targets, lengths=LENGTHS).values)
    for row, length in enumerate(LENGTHS.tolist()):
        start = [(h[index, row : row + 1], c[index, row : row + 1]) for index in range(count)]

        def outputs_of(vectors: Tensor, start: Any = start) -> Tensor:
            outputs: Tensor = model.readout(model.recurrent(vectors, initial=start)[0])
            return outputs

        expected = one_at_a_time(
            outputs_of, tokens[row, :length], table_of(model), found.targets[row, :length], ("one_hot", "l2", "logit")
        )
        assert torch.allclose(found.values[row, :length, :length], expected, atol=1e-13)
    assert float(found.error.max()) < 1e-12


@settings(max_examples=25)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    layers=st.integers(1, 2),
    both=st.booleans(),
    lengths=st.lists(st.integers(1, 10), min_size=1, max_size=4),
    asked=st.sampled_from(ASKED),
)
def test_any_shape_and_question(
    kind: str, layers: int, both: bool, lengths: list[int], asked: tuple[str, str, str]
) -> None:
    model, tokens = model_of(kind, layers=layers, both=both), numbers_of(7, len(lengths), max(lengths))
    wrt, norm, of = asked
    found = connectivity(model, tokens, lengths=lengths, wrt=wrt, norm=norm, of=of)
    assert_right(found, model, tokens, table_of(model), torch.tensor(lengths))


def test_packed_sequences_and_single_rows_are_taken_as_everywhere_else() -> None:
    model, tokens = model_of("gru"), numbers_of(7)
    packed = pack_padded_sequence(tokens, LENGTHS, batch_first=True, enforce_sorted=False)
    expected = connectivity(model, tokens, lengths=LENGTHS)
    assert torch.equal(connectivity(model, packed).values, expected.values)
    alone = connectivity(model, tokens[1], expected.targets[1])
    assert torch.allclose(alone.values[0], expected.values[1], rtol=1e-12)


class Odd(Cell):
    """A user's cell that does what ours never do: uses values whole and in pieces, twice, and squares them."""

    row_groups = (2,)
    gate_names = ("half",)
    state_names = ("hidden", "spare")

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, spare = state
        size = self.hidden_size
        total = projected + a.linear(h, self.weight_hh) + a.constant(self.bias)
        first, second = a.pieces(total, [size, size])
        narrow, wide = a.pieces(a.sigmoid(total), [size - 1, size + 1])
        half = a.gate("half", a.sigmoid(a.pieces(a.constant(self.bias), [size, size])[0]))
        mixed = a.product(1 - a.tanh(first), a.relu(second)) + a.product(half, a.product(h, h))
        mixed = mixed + a.linear(wide, self.weight_hh[: size + 1, :size].T[:, : size + 1])
        mixed = mixed + a.linear(narrow, self.weight_hh[: size - 1, :size].T[:, : size - 1]) + spare
        return a.settle(a.tanh(mixed)), h


@pytest.mark.parametrize("batch", [1, 3])
def test_a_users_cell_with_every_odd_use_of_a_value_gets_the_gradients_of_plain_autograd(batch: int) -> None:
    torch.manual_seed(4)
    for layers in (1, 2):
        recurrent = Recurrent([Odd(INPUT if layer == 0 else HIDDEN, HIDDEN) for layer in range(layers)])
        model = SequenceModel(recurrent, nn.Embedding(7, INPUT), nn.Linear(HIDDEN, OUTPUTS)).double()
        tokens = numbers_of(7, batch, 12)
        assert_right(connectivity(model, tokens), model, tokens, table_of(model), torch.full((batch,), 12))


class Deaf(Cell):
    """A cell that does not use its input, and of its second state only the first unit."""

    row_groups = (1,)
    gate_names = ()
    state_names = ("hidden", "spare")

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, spare = state
        first, _ = a.pieces(spare, [1, self.hidden_size - 1])
        new = a.tanh(a.linear(h, self.weight_hh) + a.linear(first, self.weight_hh[:, :1]) + a.constant(self.bias))
        return new, a.constant(self.bias) + h


@pytest.mark.parametrize("both", [False, True], ids=["forward", "both ways"])
def test_where_nothing_depends_on_the_input_there_is_zero_and_not_what_was_in_memory(both: bool) -> None:
    for layers in (1, 2):
        sizes = [INPUT if layer == 0 else HIDDEN * (1 + both) for layer in range(layers) for _ in range(1 + both)]
        made = Recurrent([Deaf(size, HIDDEN) for size in sizes], bidirectional=both)
        model = SequenceModel(made, nn.Embedding(7, INPUT), nn.Linear(made.output_size, OUTPUTS)).double()
        for batch in (1, 3):
            found = connectivity(model, numbers_of(7, batch, 12))
            assert (found.values == 0).all()
