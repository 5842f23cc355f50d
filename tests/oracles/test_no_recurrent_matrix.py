"""Cells without recurrent matrix: every analysis and training, against plain torch and autograd in float64."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from connected_models import INPUT, LENGTHS, OUTPUTS, TIME, assert_right, numbers_of, table_of
from min_gru import MinGRUCell, WideCell
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import rote
from rote.cells import Cell, Initialization, Recurrent, cells, run_stacked, stack, unroll
from rote.errors import UsageError
from rote.models import (
    AutocompleteConfig,
    AutocompleteModel,
    EncoderDecoder,
    EncoderDecoderConfig,
    LanguageModelConfig,
    StackedLanguageModel,
    StackedTranslator,
    TextModel,
    TextModelConfig,
    TranslatorConfig,
)
from rote.models.packed_pairs import arrange
from rote.models.sequence import SequenceModel
from rote.testing import check_analysis, check_cell, check_model

HIDDEN = 4
SHAPES = [(1, False), (2, False), (2, True)]
KINDS: list[type[Cell]] = [MinGRUCell, WideCell]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_registered", dict(cells._registered))
    monkeypatch.setattr(cells, "_loaded", dict(cells._loaded))
    cells.register("min_gru_of_tests")(MinGRUCell)
    cells.register("wide_of_tests")(WideCell)


def model_of(kind: type[Cell], layers: int = 1, both: bool = False) -> SequenceModel:
    """Weights large enough for the nonlinearities to matter."""
    sides = 1 + both
    made = [kind(INPUT if layer == 0 else sides * HIDDEN, HIDDEN) for layer in range(layers) for _ in range(sides)]
    recurrent = Recurrent(made, bidirectional=both)
    model = SequenceModel(recurrent, nn.Embedding(7, INPUT), nn.Linear(recurrent.output_size, OUTPUTS)).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(0.8 * torch.randn(weight.shape, dtype=weight.dtype, generator=generator))
    return model


def plain(model: SequenceModel, vectors: Tensor) -> Tensor:
    """minGRU as its paper writes it, layer by layer, one direction."""
    for cell in model.recurrent.all_cells():
        z, candidate = nn.functional.linear(vectors, cell.weight_ih, cell.bias_ih).chunk(2, -1)
        z, h, states = z.sigmoid(), torch.zeros_like(candidate[:, 0]), []
        for t in range(vectors.shape[1]):
            h = (1 - z[:, t]) * h + z[:, t] * candidate[:, t]
            states.append(h)
        vectors = torch.stack(states, 1)
    assert model.linear_readout is not None
    return model.linear_readout(vectors)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("biases", ["two", "one", "none"])
def test_such_cells_keep_the_contract(kind: Any, biases: str) -> None:
    check_cell(lambda inputs, hidden: kind(inputs, hidden, biases=biases))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "both"), SHAPES)
def test_models_of_such_cells_keep_the_contract(kind: Any, layers: int, both: bool) -> None:
    check_model(model_of(kind, layers, both))
    check_model(rote.adapt(recurrent=model_of(kind, layers, both).recurrent))


def test_the_weights_are_those_that_the_equations_have() -> None:
    cell = MinGRUCell(INPUT, HIDDEN)
    assert {name: tuple(weight.shape) for name, weight in cell.named_parameters()} == {
        "weight_ih": (2 * HIDDEN, INPUT),
        "bias_ih": (2 * HIDDEN,),
    }
    assert cell.weight_hh is None
    assert cell.bias_hh is None
    assert MinGRUCell(INPUT, HIDDEN, biases="none").bias.tolist() == [0.0] * 2 * HIDDEN


class Spelled(MinGRUCell):
    """One whose shapes do not even name the recurrent weights."""

    recurrent_matrix = True

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return {"weight_ih": (self.rows, self.input_size), "bias_ih": (self.rows,)}


def test_a_cell_may_leave_the_recurrent_weights_out_of_its_shapes() -> None:
    cell = Spelled(INPUT, HIDDEN, initialization=Initialization("glorot", gate_bias=1.0))
    assert cell.weight_hh is None
    assert cell.bias_hh is None
    check_cell(Spelled)


@pytest.mark.parametrize("scheme", ["torch", "glorot", "uniform"])
def test_every_initialization_works_without_a_recurrent_matrix(scheme: Any) -> None:
    size, inputs = 40, 30
    cell = MinGRUCell(inputs, size, initialization=Initialization(scheme, limit=0.3, gate_bias=1.5))
    limit = {"torch": size**-0.5, "glorot": (6 / (inputs + size)) ** 0.5, "uniform": 0.3}[scheme]
    assert 0.95 * limit < float(cell.weight_ih.detach().abs().max()) <= limit
    assert cell.bias_ih is not None
    assert cell.bias_ih[:size].tolist() == [1.5] * size
    assert 1.5 not in cell.bias_ih[size:].tolist()


def test_weights_that_such_a_cell_cannot_have_are_refused() -> None:
    own = dict(MinGRUCell(INPUT, HIDDEN).named_parameters())
    for lacking in ("weight_hh", "bias_hh"):
        with pytest.raises(UsageError, match=f"'{lacking}' of 'weights' must be left out: MinGRUCell has no recurrent"):
            MinGRUCell(INPUT, HIDDEN, weights=own | {lacking: torch.zeros(2 * HIDDEN)})
    assert MinGRUCell(INPUT, HIDDEN, weights=own).weight_ih is own["weight_ih"]


@pytest.mark.parametrize("layers", [1, 2])
def test_the_trace_is_what_the_equations_give(layers: int) -> None:
    model, tokens = model_of(MinGRUCell, layers), numbers_of(7)
    found = rote.trace(model, tokens)
    torch.testing.assert_close(found.logits, plain(model, model.embed(tokens)).detach(), rtol=0, atol=1e-14)
    torch.testing.assert_close(model(tokens).detach(), found.logits, rtol=0, atol=1e-14)
    assert sorted(found.gates[0]) == ["candidate", "update"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "both"), SHAPES)
def test_the_parts_of_every_decomposition_sum_to_the_state(kind: Any, layers: int, both: bool) -> None:
    model, tokens = model_of(kind, layers, both), numbers_of(7)
    hidden = rote.trace(SequenceModel(model.recurrent, model.embedding), tokens, lengths=LENGTHS).logits
    options: list[dict[str, Any]] = [{"rules": "shapley"}, {"rules": "murdoch2018"}]
    options += [
        {"bias": "in_span", "interactions": interactions, "linearization": linearization}
        for interactions, linearization in product(("relevant", "source", "shapley"), ("bias_first", "shapley"))
    ]
    for chosen in options:
        parts = rote.decompose(model, tokens, [(0, 0), (0, 1), (2, 4)], lengths=LENGTHS, **chosen)
        total = parts.relevant + parts.irrelevant + (0 if parts.reference is None else parts.reference[:, None])
        torch.testing.assert_close(total, hidden[:, None].expand_as(total), rtol=0, atol=1e-12)
        assert float(parts.error.max()) < 1e-12


def test_without_a_gate_in_the_way_the_decomposition_of_one_word_is_what_it_adds() -> None:
    """Of a linear recurrence (all gates shut alike) a word's part is what the state loses without it."""
    model = SequenceModel(Recurrent([MinGRUCell(INPUT, HIDDEN, biases="none")])).double()
    with torch.no_grad():
        model.recurrent.cell(0).weight_ih[:HIDDEN] = 0  # z = 1/2 always
    vectors = torch.randn(1, TIME, INPUT, dtype=torch.float64)
    found = rote.decompose(model, vectors, [(1, 1)]).relevant[0, 0, -1]
    without = vectors.clone()
    without[0, 1] = 0
    both = [rote.trace(model, given).logits[0, -1] for given in (vectors, without)]
    torch.testing.assert_close(found, both[0] - both[1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "both"), SHAPES)
def test_connectivity_is_that_of_autograd(kind: Any, layers: int, both: bool) -> None:
    model, tokens = model_of(kind, layers, both), numbers_of(7)
    for asked in ({}, {"wrt": "embedding", "norm": "signed", "of": "log_probability"}):
        found = rote.connectivity(model, tokens, lengths=LENGTHS, **asked)  # type: ignore[arg-type]
        assert_right(found, model, tokens, table_of(model), LENGTHS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "both"), SHAPES)
def test_the_gradient_flow_is_that_of_autograd(kind: Any, layers: int, both: bool) -> None:
    model, tokens = model_of(kind, layers, both), numbers_of(7)
    flow = rote.gradient_flow(model, tokens, at=3, terms=True)
    logits = model(tokens)[:, 3]
    loss = cross_entropy(logits, logits.argmax(-1), reduction="sum")
    assert flow.error < 1e-12
    assert flow.terms is not None
    for cell, terms in zip(model.recurrent.all_cells(), flow.terms.values(), strict=True):
        for name, weight in cell.named_parameters():
            (expected,) = torch.autograd.grad(loss, [weight], retain_graph=True)
            torch.testing.assert_close(terms[name].sum(0), expected, rtol=0, atol=1e-12)


def test_the_step_jacobian_is_the_diagonal_of_the_gates() -> None:
    """What distinguishes a unit without recurrent matrix: d h' / d h = diag(1 - z), whatever h is."""
    model, tokens = model_of(MinGRUCell), numbers_of(7)
    flow, gates = rote.gradient_flow(model, tokens, at=TIME - 1), rote.trace(model, tokens).gates[0]["update"]
    kept = 1 - gates
    torch.testing.assert_close(flow.jacobians[0]["spectral"], kept.amax(-1), rtol=0, atol=1e-13)
    torch.testing.assert_close(flow.jacobians[0]["frobenius"], kept.norm(dim=-1), rtol=0, atol=1e-13)
    torch.testing.assert_close(flow.products[0][:, 0], kept[:, 1:].prod(1).amax(-1), rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_gates_neurons_and_what_is_left_of_a_pruned_model(kind: Any) -> None:
    model, tokens = model_of(kind), numbers_of(7)
    found = rote.trace(model, tokens)
    gate = kind.gate_names[0]
    shares = check_analysis(rote.gate_saturation, found, 0.3, 0.7)
    torch.testing.assert_close(shares.left[0][gate], (found.gates[0][gate] < 0.3).double().mean((0, 1)))
    check_analysis(rote.activation_distribution, found)
    if kind is WideCell:
        with pytest.raises(UsageError, match="states of different size"):
            rote.prune(model, 0.5)
        return
    small = rote.prune(model, 0.5)
    assert int(rote.trace(small, tokens).hidden[0].any(0).any(0).sum()) == HIDDEN // 2


def test_what_needs_a_recurrent_matrix_says_so_and_what_to_look_at_instead() -> None:
    cell = MinGRUCell(INPUT, HIDDEN)
    for analysis in (rote.weight_map, rote.neuron_graph):
        with pytest.raises(UsageError, match=r"Got None, .* without recurrent matrix. .* in cell\.weight_ih"):
            analysis(cell.weight_hh)
        analysis(cell.weight_ih)


@pytest.mark.parametrize("kind", KINDS)
def test_stacked_cells_compute_and_learn_what_each_does_alone(kind: Any) -> None:
    alone = [kind(INPUT, HIDDEN).double() for _ in range(2)]
    stacked, vectors = stack(alone), torch.randn(2, 3, TIME, INPUT, dtype=torch.float64)
    hidden, end = run_stacked(stacked, vectors)
    hidden.square().sum().backward()
    for index, cell in enumerate(alone):
        run = unroll(cell, vectors[index], cell.zero_state(3))
        run.states["hidden"].square().sum().backward()
        torch.testing.assert_close(hidden[index], run.states["hidden"], rtol=0, atol=1e-14)
        torch.testing.assert_close(end[-1][index], run.final[-1], rtol=0, atol=1e-14)
        for name, weight in cell.named_parameters():
            torch.testing.assert_close(stacked.get_parameter(name).grad[index], weight.grad, rtol=0, atol=1e-12)


def trained(seeds: list[int], cell: str, steps: int = 5) -> tuple[StackedLanguageModel, list[list[float]]]:
    """A few steps on the same tokens; the loss of each replica before every step."""
    model = StackedLanguageModel(7, LanguageModelConfig(cell, 4, 6, limit=0.5), seeds, torch.float64, batch=3)
    optimizer, history = torch.optim.Adam(model.parameters(), 0.05), []
    tokens = numbers_of(7, time=TIME + 1).expand(len(seeds), -1, -1)
    for _ in range(steps):
        losses, _ = model.losses(tokens[..., :-1], tokens[..., 1:], model.carried)
        history.append(losses.tolist())
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
    return model, history


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("cell", ["min_gru_of_tests", "wide_of_tests"])
def test_language_models_learn_alike_stacked_and_alone(cell: str) -> None:
    together, losses = trained([3, 8], cell)
    assert all(last < first for first, last in zip(losses[0], losses[-1], strict=True))
    for index, seed in enumerate((3, 8)):
        alone, own = trained([seed], cell)
        assert [row[index] for row in losses] == pytest.approx([row[0] for row in own], abs=1e-12)
        for name, weight in alone.named_parameters():
            torch.testing.assert_close(together.get_parameter(name)[index], weight[0], rtol=0, atol=1e-10)
    tokens = numbers_of(7)
    logits, _ = together(tokens.expand(2, -1, -1))
    torch.testing.assert_close(logits[1], rote.trace(together.replica(1), tokens).logits, rtol=0, atol=1e-14)


@pytest.mark.usefixtures("registered")
def test_the_other_models_take_it() -> None:
    text = TextModel(9, 4, TextModelConfig("min_gru_of_tests", 3, 4, layers=2, bidirectional=True), 0, torch.float64)
    torch.testing.assert_close(text(numbers_of(9)), rote.trace(text, numbers_of(9)).logits, rtol=0, atol=1e-14)
    completing = AutocompleteModel(AutocompleteConfig("min_gru_of_tests", 4, 2), ["<eos>", "<unknown>", "a", "be"])
    assert rote.suggest(completing, "a b").words
    seeds = [0, 1]
    pairs = EncoderDecoder(EncoderDecoderConfig("min_gru_of_tests", 4, 3), 5, 6, seeds, torch.float64)
    tokens = numbers_of(5).expand(2, -1, -1)
    decoded = pairs(tokens, torch.ones_like(tokens, dtype=torch.bool), tokens, 0)
    torch.testing.assert_close(
        decoded.encoded[1], rote.trace(pairs.encoder_of(1), tokens[1]).logits, rtol=0, atol=1e-14
    )
    translator = StackedTranslator(TranslatorConfig("min_gru_of_tests", 3, 2), 5, 6, seeds, torch.float64)
    lengths = torch.full((2, 3), TIME).numpy()
    batch = arrange(tokens.numpy(), lengths, tokens.numpy(), lengths, start=0)
    translator(batch).square().mean().backward()
    assert all(weight.grad is not None for weight in translator.parameters())
