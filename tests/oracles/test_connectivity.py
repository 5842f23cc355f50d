"""Connectivity against one backward pass for each output, finite differences, and the model's own forward pass.

All in float64, through torch's fused modules where there are any.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from result_checks import assert_draws
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

import rote
from rote.analyses import Connectivity, adjoint, all_outputs, all_pairs, connectivity, target_rows
from rote.cells import Cell, Recurrent, cells
from rote.cells.arithmetic import Arithmetic, V
from rote.errors import UsageError
from rote.models.sequence import SequenceModel, adapt
from rote.testing import check_analysis
from rote.testing.untouched import untouched

INPUT, HIDDEN, TIME, OUTPUTS = 3, 4, 5, 6
LENGTHS = torch.tensor([2, 5, 1])
KINDS: dict[str, dict[str, Any]] = {
    "elman": {},
    "elman relu": {"nonlinearity": "relu"},
    "lstm": {},
    "gru": {},
    "gru before": {"reset": "before"},
    "nested_lstm": {},
    "nested_lstm deep": {"depth": 3},
}
MODULES: dict[str, Callable[..., Any]] = {
    "tanh": lambda **options: nn.RNN(INPUT, HIDDEN, nonlinearity="tanh", **options),
    "relu": lambda **options: nn.RNN(INPUT, HIDDEN, nonlinearity="relu", **options),
    "lstm": lambda **options: nn.LSTM(INPUT, HIDDEN, **options),
    "gru": lambda **options: nn.GRU(INPUT, HIDDEN, **options),
}
ASKED = list(
    itertools.product(("one_hot", "embedding"), ("l2", "squared", "signed"), ("logit", "log_probability"))
)  # wrt, norm, of


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def model_of(kind: str, *, layers: int = 1, both: bool = False, vocabulary: int = 7, **options: Any) -> SequenceModel:
    """Weights large enough for the nonlinearities to matter."""
    generator = torch.Generator().manual_seed(3)
    recurrent = Recurrent(
        kind.split()[0], INPUT, HIDDEN, layers=layers, bidirectional=both, **KINDS[kind], **options
    )  # fmt: skip
    made = SequenceModel(recurrent, nn.Embedding(vocabulary, INPUT), nn.Linear(recurrent.output_size, OUTPUTS))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(0.7 * torch.randn(parameter.shape, generator=generator))
    return made.double()


def numbers_of(count: int, batch: int = 3, time: int = TIME, seed: int = 1) -> Tensor:
    return torch.randint(0, count, (batch, time), generator=torch.Generator().manual_seed(seed))


def one_at_a_time(
    outputs_of: Callable[[Tensor], Tensor], tokens: Tensor, table: Tensor, targets: Tensor, asked: tuple[str, str, str]
) -> Tensor:
    """One sequence: the definition of connectivity, one backward pass for each output."""
    wrt, norm, of = asked
    one_hot = nn.functional.one_hot(tokens, len(table)).to(table.dtype).requires_grad_()
    vectors = (one_hot @ table.detach())[None]
    outputs = outputs_of(vectors)[0]
    outputs = outputs.log_softmax(-1) if of == "log_probability" else outputs
    leaf = one_hot if wrt == "one_hot" else vectors
    rows = []
    for t, target in enumerate(targets.tolist()):
        (gradient,) = torch.autograd.grad(outputs[t, target], leaf, retain_graph=True)
        gradient, value = (part.detach().view(len(tokens), -1) for part in (gradient, leaf))
        squares = (gradient**2).sum(-1)
        rows.append({"l2": squares.sqrt(), "squared": squares, "signed": (gradient * value).sum(-1)}[norm])
    return torch.stack(rows)


def assert_right(
    found: Connectivity, outputs_of: Callable[[Tensor], Tensor], tokens: Tensor, table: Tensor, lengths: Tensor
) -> None:
    """Every number, and zeros everywhere else."""
    if isinstance(outputs_of, SequenceModel):
        outputs_of = SequenceModel(outputs_of.recurrent, None, outputs_of.readout)
    expected = torch.zeros_like(found.values)
    for row, length in enumerate(lengths.tolist()):
        asked = (found.wrt, found.norm, found.of)
        targets = found.targets[row, :length]
        expected[row, :length, :length] = one_at_a_time(outputs_of, tokens[row, :length], table, targets, asked)
    difference = float((found.values - expected).abs().max() / expected.abs().max())
    assert difference < 1e-12, (difference, found)
    assert (found.values[expected == 0] == 0).all()
    assert found.error.shape == (len(tokens),)
    assert float(found.error.max()) < 1e-11


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
            found = connectivity(model, tokens, targets, wrt=wrt, norm=norm, of=of)  # type: ignore[arg-type]
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


def table_of(model: SequenceModel) -> Tensor:
    assert model.embedding is not None
    return model.embedding_matrix()


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
            up, down = (model.readout(model.recurrent(vectors + sign * moved)[0])[0] for sign in (1, -1))  # type: ignore[misc]
        slope = (up - down).gather(1, found.targets[0][:, None])[:, 0] / (2 * step)
        squares[:, s] += slope**2
    assert float((found.values[0] - squares).abs().max()) < 1e-6 * float(squares.max())


def test_an_output_never_depends_on_a_later_input_and_both_directions_do() -> None:
    tokens = numbers_of(7)
    above = torch.ones(TIME, TIME).triu(1).bool()
    for kind in KINDS:
        one, two = (connectivity(model_of(kind, both=both), tokens, norm="signed").values for both in (False, True))
        assert (one[:, above] == 0).all()
        assert (two[:, above] != 0).all() or kind == "elman relu"  # which has units that do not move


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
    length, squared = (connectivity(model, tokens, norm=norm).values for norm in ("l2", "squared"))  # type: ignore[arg-type]
    assert torch.allclose(length**2, squared, rtol=1e-13)
    one_hot, embedded = (connectivity(model, tokens, norm="signed", wrt=wrt).values for wrt in ("one_hot", "embedding"))  # type: ignore[arg-type]
    assert torch.allclose(one_hot, embedded, rtol=1e-13)
    vectors = table_of(model).detach()[tokens]
    gradient = torch.zeros(3, TIME, TIME, INPUT, dtype=torch.float64)
    for row, t in itertools.product(range(3), range(TIME)):
        leaf = vectors[row : row + 1].clone().requires_grad_()
        chosen = model.readout(model.recurrent(leaf)[0])[0, t].max()  # type: ignore[misc]
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
        (all_pairs, "TOGETHER", 2 * 6 * HIDDEN),
        (all_pairs, "ALONE", 5 * HIDDEN),
        (all_pairs, "ERROR_SEQUENCES", 2),
        (all_outputs, "BLOCK", 2),
        (target_rows, "LOGITS", OUTPUTS + 1),
    ):
        monkeypatch.setattr(module, name, value)
        pieces = connectivity(model, tokens, **options)
        assert torch.allclose(pieces.values, whole.values, rtol=1e-12, atol=1e-15)
        assert torch.equal(pieces.targets, whole.targets)
        assert float(pieces.error.max()) < 1e-12


def test_targets_default_to_the_models_own_choice_at_every_step_and_zero_at_padding() -> None:
    model, tokens = model_of("gru", layers=2), numbers_of(7)
    chosen = model(tokens, LENGTHS).argmax(-1) * (torch.arange(TIME) < LENGTHS[:, None])
    found = connectivity(model, tokens, lengths=LENGTHS)
    assert torch.equal(found.targets, chosen)
    ignored = chosen.masked_fill(~found.mask, -100)  # as cross entropy marks what it leaves out
    again = connectivity(model, tokens, ignored, lengths=LENGTHS)
    assert torch.equal(again.values, found.values)
    assert torch.equal(again.targets, chosen)


def test_log_probability_is_not_the_logit_and_stays_when_a_constant_is_added_to_all_logits() -> None:
    model, tokens = model_of("lstm"), numbers_of(7)
    logit, first = (connectivity(model, tokens, of=of).values for of in ("logit", "log_probability"))  # type: ignore[arg-type]
    assert float((logit - first).abs().max()) > 1e-3
    with torch.no_grad():
        model.readout.weight += torch.arange(HIDDEN)  # type: ignore[union-attr,operator]
    again = connectivity(model, tokens, connectivity(model_of("lstm"), tokens).targets, of="log_probability").values
    assert torch.allclose(again, first, atol=1e-13)


def test_models_of_vectors_and_models_without_readout_ask_about_inputs_and_units_as_they_are() -> None:
    recurrent = model_of("gru", layers=2, both=True).recurrent
    vectors = torch.randn(2, TIME, INPUT, dtype=torch.float64)
    model = SequenceModel(recurrent)
    one_hot, embedded = (connectivity(model, vectors, wrt=wrt) for wrt in ("one_hot", "embedding"))  # type: ignore[arg-type]
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
            outputs: Tensor = model.readout(model.recurrent(vectors, None, start)[0])  # type: ignore[misc]
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
    found = connectivity(model, tokens, lengths=lengths, wrt=wrt, norm=norm, of=of)  # type: ignore[arg-type]
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


@pytest.mark.parametrize("kind", ["lstm", "gru before"])
def test_the_contract_of_analyses_nothing_is_left_on_the_model_even_after_an_exception(kind: str) -> None:
    for both in (False, True):
        model = model_of(kind, layers=2, both=both, dropout=0.5).train()
        check_analysis(connectivity, model, numbers_of(7), lengths=LENGTHS)


def test_frozen_weights_gradients_that_are_there_no_grad_and_inference_mode_change_nothing() -> None:
    model, tokens = model_of("lstm", layers=2), numbers_of(7)
    expected = connectivity(model, tokens)
    model(tokens).sum().backward()  # gradients of the user's own
    for parameter in list(model.parameters())[::2]:
        parameter.requires_grad_(False)
    with untouched(model):
        for context in (torch.enable_grad(), torch.no_grad(), torch.inference_mode()):
            with context:
                found = connectivity(model, tokens)
                assert torch.equal(found.values, expected.values)
                assert not found.values.requires_grad
                assert float(found.error.max()) < 1e-12


def test_single_precision_stays_at_single_precision() -> None:
    model, tokens = model_of("lstm", layers=2), numbers_of(7, 1, 30)
    exact = connectivity(model, tokens)
    single = connectivity(model.float(), tokens, exact.targets)
    assert single.values.dtype == torch.float32
    largest = exact.values.amax(-1, keepdim=True)
    assert float(((single.values - exact.values).abs() / largest).max()) < 1e-5
    assert float(single.error.max()) < 1e-5


def test_the_error_is_measured_on_the_numbers_that_were_given_out_and_not_after_training_went_on() -> None:
    model, tokens = model_of("gru"), numbers_of(7)
    found = connectivity(model, tokens)
    found.values[1, 2, 1] *= 1.5
    assert float(found.error[1]) > 1e-2
    assert float(found.error[0]) < 1e-12
    late = connectivity(model, tokens)
    with torch.no_grad():
        model.readout.weight.add_(1.0)  # type: ignore[union-attr,operator]
    with pytest.raises(UsageError, match=r"weights have changed since connectivity\(\); read \.error before"):
        _ = late.error


def test_the_table_has_one_row_for_each_pair_that_can_be_and_names_tokens_if_told_how() -> None:
    model, tokens = model_of("gru"), numbers_of(7)
    found = connectivity(model, tokens, lengths=LENGTHS)
    table = found.to_table()
    pairs = [(row["batch"], row["output"], row["input"]) for row in table.records()]
    assert pairs == [
        (b, t, s) for b, length in enumerate(LENGTHS.tolist()) for t in range(length) for s in range(t + 1)
    ]
    for row in table.records():
        place = row["batch"], row["output"], row["input"]
        assert row["value"] == float(found.values[place])
        assert row["token"] == int(tokens[row["batch"], row["input"]])
        assert row["target"] == int(found.targets[row["batch"], row["output"]])
    named = found.to_table("abcdefg", "uvwxyz").records()
    assert named[0]["token"] == "abcdefg"[int(tokens[0, 0])]
    assert named[0]["target"] == "uvwxyz"[int(found.targets[0, 0])]
    two_ways = connectivity(model_of("gru", both=True), tokens, lengths=LENGTHS).to_table()
    assert len(two_ways.rows) == int((LENGTHS**2).sum())


def test_the_figure_is_drawn_for_few_and_many_steps_signed_and_not_and_survives_saving(tmp_path: Path) -> None:
    model = model_of("lstm")
    for time, norm in ((1, "l2"), (6, "signed"), (70, "l2")):
        found = connectivity(model, numbers_of(7, 2, time), norm=norm)  # type: ignore[arg-type]
        assert_draws(found)
        found.save(tmp_path / "found")
        loaded = Connectivity.load(tmp_path / "found")
        assert torch.equal(loaded.values, found.values)
        assert torch.equal(loaded.error, found.error)
        assert loaded.to_table() == found.to_table()
    assert "Connectivity(values[batch=2, output=70, input=70]" in repr(found)
    few = connectivity(model, numbers_of(7, 2, 6))
    assert few.figure("abcdefg").spec() != few.figure().spec()


def wrong(message: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(UsageError) as raised:
        connectivity(*arguments, **options)
    assert message in str(raised.value)


def test_wrong_input_is_refused_with_the_argument_the_value_and_the_remedy() -> None:
    model, tokens = model_of("gru"), numbers_of(7)
    targets = numbers_of(OUTPUTS)
    wrong("'targets' must lie in 0 to 5, the outputs of the model. Got 6.", model, tokens, targets + 1)
    wrong("'targets' must lie in 0 to 5, the outputs of the model. Got -1.", model, tokens, targets - 1)
    wrong(
        "'targets' must be [batch=3, time=5], one for each step. Got the shape (3, 4).", model, tokens, targets[:, 1:]
    )
    wrong(
        "'targets' must be a tensor of whole numbers (torch.long). Got torch.float64.", model, tokens, targets.double()
    )
    wrong("'targets' must be a tensor of whole numbers (torch.long). Got list.", model, tokens, targets.tolist())
    wrong("'wrt' must be one of one_hot, embedding. Got 'onehot'.", model, tokens, wrt="onehot")
    wrong("'norm' must be one of l2, squared, signed. Got 'l1'.", model, tokens, norm="l1")
    wrong("'of' must be one of logit, log_probability. Got 'probability'.", model, tokens, of="probability")
    wrong("'tokens' must lie in 0 to 6, the embedding's rows. Got 7.", model, tokens + 7 - tokens)
    wrong("'lengths' must lie in 1 to 5, the steps of the tensor. Got 6.", model, tokens, lengths=[6, 1, 1])
    wrong("'tokens' is empty", model, tokens[:0])
    wrong("Wrap your modules: rote.adapt(", nn.GRU(3, 4), tokens)
    units = SequenceModel(model.recurrent, model.embedding)
    wrong("needs outputs to choose from, but the model has no readout.", units, tokens, of="log_probability")
    wrong("'targets' must lie in 0 to 3, the outputs of the model. Got 4.", units, tokens, torch.full_like(tokens, 4))
    with torch.no_grad():
        model.recurrent.cell(0).weight_hh[1, 1] = float("nan")
    wrong("The weight 'recurrent.cells.0.weight_hh' of the model has NaN or infinite values", model, tokens)


def test_the_name_is_public_and_registered() -> None:
    assert rote.connectivity is connectivity
    assert rote.analyses.analyses["connectivity"] is connectivity
