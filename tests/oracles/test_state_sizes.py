"""Cells whose states differ in size: torch's LSTM with a projection, and one that a user writes, against autograd."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from connected_models import LENGTHS, TIME, assert_right, numbers_of, table_of
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import rote
from rote.cells import Arithmetic, Cell, Initialization, LSTMCell, Recurrent, cells, unroll
from rote.cells.arithmetic import V
from rote.cells.stacked import run_stacked, stack
from rote.errors import UsageError
from rote.models import EncoderDecoder, EncoderDecoderConfig, LanguageModelConfig, StackedLanguageModel
from rote.models.packed_pairs import run_ragged
from rote.models.sequence import SequenceModel
from rote.testing import check_cell

INPUT, HIDDEN, PROJECTED, OUTPUTS = 3, 5, 2, 6
SHAPES = [(1, False), (2, False), (2, True)]


def projected_lstm(layers: int = 1, both: bool = False, **options: Any) -> nn.LSTM:
    torch.manual_seed(2)
    lstm = nn.LSTM(INPUT, HIDDEN, layers, bidirectional=both, proj_size=PROJECTED, batch_first=True, **options)
    with torch.no_grad():
        for weight in lstm.parameters():
            weight.normal_(std=0.8)
    return lstm.double()


def model_of(lstm: nn.LSTM) -> SequenceModel:
    torch.manual_seed(3)
    readout = nn.Linear(PROJECTED * (2 if lstm.bidirectional else 1), OUTPUTS).double()
    return rote.adapt(recurrent=lstm, embedding=nn.Embedding(7, INPUT).double(), readout=readout)


class SmallOutput(Cell):
    """A user's own unit: a memory of hidden_size that is read into fewer units. Its weights have names of their own."""

    row_groups = (1,)
    gate_names = ("keep",)
    state_names = ("hidden", "memory")
    weight_read: Tensor

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return PROJECTED, self.hidden_size

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return super().shapes() | {"weight_read": (PROJECTED, self.hidden_size)}

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, m = state
        keep = a.gate("keep", a.sigmoid(projected + a.linear(h, self.weight_hh) + a.constant(self.bias)))
        m = a.settle(a.product(keep, m) + a.product(1 - keep, a.tanh(projected)))
        return a.tanh(a.linear(m, self.weight_read)), m


@pytest.mark.parametrize(("layers", "both"), SHAPES)
@pytest.mark.parametrize("bias", [True, False])
def test_an_lstm_with_projection_is_traced_as_torch_computes_it(layers: int, both: bool, bias: bool) -> None:
    lstm = projected_lstm(layers, both, bias=bias)
    model, tokens = model_of(lstm), numbers_of(7)
    packed = pack_padded_sequence(model.embed(tokens), LENGTHS, batch_first=True, enforce_sorted=False)
    output, (hidden, memory) = lstm(packed)
    expected = pad_packed_sequence(output, batch_first=True)[0]
    found = rote.trace(model, tokens, lengths=LENGTHS)
    top = list(found.hidden.values())[-(1 + both) :]
    torch.testing.assert_close(torch.cat(top, -1), expected.detach(), rtol=0, atol=1e-14)
    torch.testing.assert_close(model(tokens, lengths=LENGTHS), found.logits, rtol=0, atol=1e-14)
    for index, (states, own) in enumerate(zip(found.states.values(), model.recurrent.cells, strict=True)):
        assert (states["hidden"].shape[-1], states["cell"].shape[-1]) == own.state_sizes == (PROJECTED, HIDDEN)
        last = torch.zeros_like(LENGTHS) if both and index % 2 else LENGTHS - 1
        for name, end in (("hidden", hidden), ("cell", memory)):
            torch.testing.assert_close(states[name][range(3), last], end[index].detach(), rtol=0, atol=1e-14)


def test_a_projection_in_float32_runs_without_a_warning_of_torch() -> None:
    made = rote.adapt(recurrent=projected_lstm(2, True).float())
    vectors = torch.randn(3, TIME, INPUT)
    torch.testing.assert_close(made(vectors), rote.trace(made, vectors).logits)


def test_torchs_initial_states_of_a_projection_are_taken() -> None:
    lstm = projected_lstm(2, True)
    vectors = torch.randn(3, TIME, INPUT, dtype=torch.float64)
    start = (torch.randn(4, 3, PROJECTED).double(), torch.randn(4, 3, HIDDEN).double())
    found = rote.trace(rote.adapt(recurrent=lstm), vectors, initial=start)
    torch.testing.assert_close(found.logits, lstm(vectors, start)[0].detach(), rtol=0, atol=1e-14)
    with pytest.raises(UsageError, match=r"the states hidden \(3, 2\), cell \(3, 5\); or"):
        rote.trace(rote.adapt(recurrent=lstm), vectors, initial=(start[1], start[0]))


@pytest.mark.parametrize(("layers", "both"), SHAPES)
def test_connectivity_of_a_projection_is_that_of_autograd(layers: int, both: bool) -> None:
    lstm = projected_lstm(layers, both)
    model, tokens = model_of(lstm), numbers_of(7)
    readout = model.readout
    assert readout is not None
    for asked in ({}, {"wrt": "embedding", "norm": "signed", "of": "log_probability"}):
        found = rote.connectivity(model, tokens, lengths=LENGTHS, **asked)  # type: ignore[arg-type]
        assert_right(found, lambda vectors: readout(lstm(vectors)[0]), tokens, table_of(model), LENGTHS)


@pytest.mark.parametrize(("layers", "both"), SHAPES)
def test_the_gradient_flow_of_a_projection_is_that_of_autograd(layers: int, both: bool) -> None:
    lstm = projected_lstm(layers, both)
    model, tokens = model_of(lstm), numbers_of(7)
    assert model.readout is not None
    flow = rote.gradient_flow(model, tokens, at=3, terms=True)
    logits = model.readout(lstm(model.embed(tokens))[0])[:, 3]
    loss = cross_entropy(logits, logits.argmax(-1), reduction="sum")
    assert flow.error < 1e-13
    assert flow.terms is not None
    for cell, terms in zip(model.recurrent.all_cells(), flow.terms.values(), strict=True):
        for name, weight in cell.named_parameters():
            (expected,) = torch.autograd.grad(loss, [weight], retain_graph=True)
            torch.testing.assert_close(terms[name].sum(0), expected, rtol=0, atol=1e-13)


def step_jacobian(cell: Cell, vector: Tensor, state: tuple[Tensor, ...]) -> Tensor:
    """d new state / d state of one step, all states one behind the other, by autograd."""

    def step(*given: Tensor) -> Tensor:
        return torch.cat([value[0, 0] for value in unroll(cell, vector[None, None], tuple(given)).states.values()])

    parts: Any = torch.autograd.functional.jacobian(step, state)
    return torch.cat([part[:, 0] for part in parts], dim=-1)


@pytest.mark.parametrize("kind", ["lstm", "own"])
def test_step_jacobians_and_their_product_cover_states_of_different_size(kind: str) -> None:
    torch.manual_seed(0)
    cell = (LSTMCell(INPUT, HIDDEN, proj_size=PROJECTED) if kind == "lstm" else SmallOutput(INPUT, HIDDEN)).double()
    model, vectors = rote.adapt(recurrent=Recurrent([cell])), torch.randn(1, TIME, INPUT, dtype=torch.float64)
    flow, states = rote.gradient_flow(model, vectors, at=TIME - 1), rote.trace(model, vectors).states[0]
    product = torch.eye(sum(cell.state_sizes), dtype=torch.float64)
    for t in reversed(range(TIME)):
        norm = torch.linalg.matrix_norm(product, 2)
        assert float(flow.products[0][0, t]) == pytest.approx(float(norm), abs=1e-13)
        before = tuple(value[:, t - 1] for value in states.values()) if t else cell.zero_state(1)
        one = step_jacobian(cell, vectors[0, t], before)
        found = {name: float(values[0, t]) for name, values in flow.jacobians[0].items()}
        own = one[:PROJECTED, :PROJECTED]
        assert found == pytest.approx(
            {
                "spectral": float(torch.linalg.matrix_norm(one, 2)),
                "frobenius": float(one.norm()),
                "hidden spectral": float(torch.linalg.matrix_norm(own, 2)),
                "hidden frobenius": float(own.norm()),
            },
            abs=1e-13,
        )
        product = product @ one


def test_connectivity_of_a_users_cell_with_states_of_different_size_is_that_of_autograd() -> None:
    torch.manual_seed(0)
    for both in (False, True):
        sides = 1 + both
        made = [SmallOutput(size, HIDDEN) for size in [INPUT] * sides + [PROJECTED * sides] * sides]
        recurrent = Recurrent(made, bidirectional=both)
        model = SequenceModel(recurrent, nn.Embedding(7, INPUT), nn.Linear(sides * PROJECTED, OUTPUTS)).double()
        found = rote.connectivity(model, numbers_of(7), lengths=LENGTHS)
        assert_right(found, model, numbers_of(7), table_of(model), LENGTHS)


def test_a_users_cell_with_states_of_different_size_keeps_the_contract() -> None:
    check_cell(SmallOutput)


def test_stacked_cells_with_a_projection_compute_what_each_does_alone() -> None:
    torch.manual_seed(0)
    alone = [LSTMCell(INPUT, HIDDEN, proj_size=PROJECTED).double() for _ in range(2)]
    vectors = torch.randn(2, 3, TIME, INPUT, dtype=torch.float64)
    hidden, end = run_stacked(stack(alone), vectors)
    for index, cell in enumerate(alone):
        run = unroll(cell, vectors[index], cell.zero_state(3))
        torch.testing.assert_close(hidden[index], run.states["hidden"], rtol=0, atol=1e-14)
        torch.testing.assert_close(end[1][index], run.final[1], rtol=0, atol=1e-14)


class Undeclared(LSTMCell):
    """What the message for proj_size used to advise: states of two sizes, and nothing that says so."""

    read: Tensor

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return {
            **super().shapes(),
            "weight_hh": (4 * self.hidden_size, PROJECTED),
            "read": (PROJECTED, self.hidden_size),
        }

    def zero_state(self, *shape: int) -> tuple[Tensor, ...]:
        return self.weight_hh.new_zeros(*shape, PROJECTED), self.weight_hh.new_zeros(*shape, self.hidden_size)

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, c = super().step(a, projected, state)
        return a.linear(h, self.read), c


class Widening(LSTMCell):
    """One whose states have the declared size at first, and another after a step."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        h, c = super().step(a, projected, state)
        return a.pieces(h, [1, self.hidden_size - 1])[0], c


@pytest.mark.parametrize("kind", [Undeclared, Widening])
def test_a_cell_that_does_not_declare_the_sizes_of_its_states_is_refused(kind: type[Cell]) -> None:
    with pytest.raises(UsageError, match=rf"The states of {kind.__name__} must have the units .* state_sizes"):
        Recurrent([kind(INPUT, HIDDEN)])


def test_a_projection_is_smaller_than_the_cell_and_layers_must_fit_on_it() -> None:
    for wrong in (-1, HIDDEN):
        with pytest.raises(UsageError, match=f"'proj_size' must be 0 .* less than the {HIDDEN} units. Got {wrong}"):
            LSTMCell(INPUT, HIDDEN, proj_size=wrong)
    made = Recurrent("lstm", INPUT, HIDDEN, layers=2, bidirectional=True, proj_size=PROJECTED)
    assert made.output_size == made.cell(1).input_size == 2 * PROJECTED
    with pytest.raises(UsageError, match=r"must take 2 inputs, have 5 units and give 2. Got 2, 5 and 3"):
        Recurrent([LSTMCell(INPUT, HIDDEN, proj_size=2), LSTMCell(2, HIDDEN, proj_size=3)])


def test_a_model_with_a_projection_is_not_pruned_by_neurons_that_it_does_not_have() -> None:
    for model in (model_of(projected_lstm()), SequenceModel(Recurrent([SmallOutput(INPUT, HIDDEN)]))):
        with pytest.raises(UsageError, match="states of different size"):
            rote.prune(model, 0.5)


def test_glorots_initialization_knows_the_projection() -> None:
    torch.manual_seed(0)
    cell = LSTMCell(4, 30, proj_size=20, initialization=Initialization("glorot"))
    assert cell.weight_hr is not None
    limit, largest = (6 / 50) ** 0.5, float(cell.weight_hr.detach().abs().max())
    assert 0.95 * limit < largest <= limit


def test_a_language_model_takes_such_a_cell_and_models_of_one_size_of_state_refuse_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cells, "_registered", dict(cells._registered))
    monkeypatch.setattr(cells, "_loaded", dict(cells._loaded))
    cells.register("small_output")(SmallOutput)
    language = StackedLanguageModel(7, LanguageModelConfig("small_output", 4, 5), [0, 1], torch.float64, batch=3)
    tokens = numbers_of(7).expand(2, 3, TIME)
    logits, end = language(tokens, language.carried)
    expected = rote.trace(language.replica(1), tokens[1]).logits
    torch.testing.assert_close(logits[1], expected, rtol=0, atol=1e-14)
    language.carry(end)
    assert [value.shape[-1] for value in language.carried] == [PROJECTED, 5]
    with pytest.raises(UsageError, match=r"SmallOutput has states of 2, 5 units. This model needs a cell"):
        EncoderDecoder(EncoderDecoderConfig(cell="small_output", hidden=5), 4, 4, [0])
    stacked, symbols, tokens = stack([SmallOutput(2, 5)]), torch.zeros(1, 3, 2), torch.zeros(1, 1).long()
    with pytest.raises(UsageError, match=r"SmallOutput has states of 2, 5 units. This model needs a cell"):
        run_ragged(stacked, symbols, tokens, [1], torch.zeros(1, 1, 5))
