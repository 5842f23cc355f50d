"""Contextual decomposition against brute force, and the properties that every cell's decomposition must have."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import equations
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import rote
from rote.cells import Cell, ElmanCell, GRUCell, LSTMCell, NestedLSTMCell, Recurrent, cells
from rote.models.sequence import SequenceModel

INPUT, HIDDEN, TIME, VOCABULARY = 3, 4, 6, 9
KINDS: dict[str, dict[str, Any]] = {
    "lstm": {},
    "gru": {},
    "gru before": {"reset": "before"},
    "elman": {},
    "elman relu": {"nonlinearity": "relu"},
    "nested_lstm": {},
    "nested_lstm deep": {"depth": 3},
}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def model_of(kind: str, *, layers: int = 1, both: bool = False, seed: int = 0, **options: Any) -> SequenceModel:
    """Weights large enough for the nonlinearities to matter."""
    generator = torch.Generator().manual_seed(seed)
    sizes = {"input_size": INPUT, "hidden_size": HIDDEN, "layers": layers, "bidirectional": both}
    recurrent = Recurrent(kind.split()[0], **sizes, **KINDS[kind], **options)
    made = SequenceModel(recurrent, nn.Embedding(VOCABULARY, INPUT), nn.Linear(recurrent.output_size, VOCABULARY))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(0.9 * torch.randn(parameter.shape, generator=generator))
    return made.double()


def tokens_of(batch: int = 2, time: int = TIME, seed: int = 1) -> Tensor:
    return torch.randint(0, VOCABULARY, (batch, time), generator=torch.Generator().manual_seed(seed))


def states_of(model: SequenceModel, batch: int, seed: int = 2) -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(seed)
    zero = model.recurrent.zero_states(batch)
    return [tuple(torch.randn(v.shape, dtype=v.dtype, generator=generator) for v in state) for state in zero]


def equation_of(cell: Cell) -> tuple[equations.Step, Any]:
    """The cell's equations as loops, and its weights as numpy arrays."""

    def array(value: Tensor | None, rows: int) -> np.ndarray:
        return np.zeros(rows) if value is None else value.detach().numpy()

    rows = len(cell.weight_hh)
    pair = (cell.weight_ih.detach().numpy(), cell.weight_hh.detach().numpy())
    one_bias = (*pair, cell.bias.detach().numpy())
    match cell:
        case LSTMCell():
            return equations.lstm_step, one_bias
        case GRUCell():
            step = equations.gru_after_step if cell.reset == "after" else equations.gru_before_step
            return step, (*pair, array(cell.bias_ih, rows), array(cell.bias_hh, rows))
        case ElmanCell():
            phi = np.tanh if cell.nonlinearity == "tanh" else equations.relu
            return partial(equations.elman_step, phi=phi), one_bias
        case NestedLSTMCell():
            levels = [one_bias]
            for level in range(1, cell.depth):
                weights = [getattr(cell, f"{name}_{level}") for name in ("weight_ih", "weight_hh")]
                bias = sum(array(getattr(cell, f"bias_{kind}_{level}"), rows) for kind in ("ih", "hh"))
                levels.append((*(weight.detach().numpy() for weight in weights), bias))
            return equations.nested_step, levels
    raise NotImplementedError(type(cell))


def brute_force(
    model: SequenceModel, row: Tensor, inside: Tensor, options: dict[str, Any], initial: Any, index: int, marked: bool
) -> equations.Pair:
    recurrent = model.recurrent
    layers = [
        [equation_of(recurrent.cell(layer, direction)) for direction in range(recurrent.directions)]
        for layer in range(recurrent.layers)
    ]
    starts = [
        [
            [value[index].numpy() for value in initial[layer * recurrent.directions + direction]]
            for direction in range(recurrent.directions)
        ]
        for layer in range(recurrent.layers)
    ]
    vectors = model.embed(row[None])[0].detach().numpy()
    return equations.decompose(layers, vectors, inside.numpy(), equations.Options(**options), starts, marked)


RULES = [
    dict(zip(("bias", "interactions", "linearization", "output_gate"), chosen, strict=True))
    for chosen in itertools.product(
        ("in_span", "exclusive_end", "never"), ("relevant", "source"), ("bias_first", "shapley"), (False, True)
    )
]


def assert_equals_brute_force(model: SequenceModel, options: dict[str, Any], marked: bool = False) -> None:
    tokens = tokens_of()
    masks = torch.rand(2, 4, TIME, generator=torch.Generator().manual_seed(5)) < 0.5
    masks[:, 0] = False
    masks[0, 0, 2:5] = masks[1, 0, 3] = True  # a contiguous span and a single position
    masks[:, 1] = False  # none at all
    initial = states_of(model, 2)
    parts = rote.decompose(model, tokens, masks, initial=initial, initial_relevant=marked, **options)
    for row, span in itertools.product(range(2), range(4)):
        relevant, irrelevant = brute_force(model, tokens[row], masks[row, span], options, initial, row, marked)
        np.testing.assert_allclose(parts.relevant[row, span].numpy(), relevant, rtol=0, atol=1e-12)
        np.testing.assert_allclose(parts.irrelevant[row, span].numpy(), irrelevant, rtol=0, atol=1e-12)
    assert parts.error.max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_equals_the_loop_over_the_equations_so_no_term_is_credited_wrongly(kind: str) -> None:
    for index, options in enumerate(RULES):
        assert_equals_brute_force(model_of(kind, biases=("two", "one", "none")[index % 3]), options, index % 4 == 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "both"), [(2, False), (3, False), (1, True), (2, True)])
def test_layers_and_directions_equal_the_loops_with_the_bias_rule_in_every_layer(
    kind: str, layers: int, both: bool
) -> None:
    for options in RULES[:: 7 if layers < 3 else 11]:
        assert_equals_brute_force(model_of(kind, layers=layers, both=both), options)
    assert_equals_brute_force(model_of(kind, layers=layers, both=both), RULES[0], marked=True)


def test_the_exclusive_end_gives_a_single_token_no_product_of_biases_which_the_other_rule_does() -> None:
    model, tokens = model_of("lstm"), tokens_of()
    one = {rule: rote.decompose(model, tokens, [(2, 2)], bias=rule).relevant for rule in ("exclusive_end", "never")}
    torch.testing.assert_close(one["exclusive_end"], one["never"], rtol=0, atol=0)
    assert not torch.allclose(one["never"], rote.decompose(model, tokens, [(2, 2)]).relevant)


def test_a_span_that_reaches_beyond_its_row_ends_with_the_row_also_for_the_exclusive_end() -> None:
    model, tokens = model_of("lstm"), tokens_of()
    padded = rote.decompose(model, tokens, [(1, 5)], lengths=[6, 4], bias="exclusive_end")
    alone = rote.decompose(model, tokens[1:, :4], [(1, 3)], bias="exclusive_end")
    torch.testing.assert_close(padded.relevant[1, :, :4], alone.relevant[0], rtol=0, atol=1e-14)
    assert torch.equal(padded.spans[1, :, :4], alone.spans[0])


def test_shapley_keeps_phi_of_zero_with_the_bias_so_an_empty_part_gets_nothing() -> None:
    model, tokens = model_of("gru"), tokens_of()
    parts = rote.decompose(model, tokens, [(3, 4)], linearization="shapley")
    assert not parts.relevant[:, :, :3].any()
    empty = rote.decompose(model, tokens, torch.zeros(2, 1, TIME, dtype=torch.bool), linearization="shapley")
    assert not empty.relevant.any()


# Properties, for every cell that is registered.


@st.composite
def questions(draw: st.DrawFn, *, directions: bool = True) -> tuple[SequenceModel, Tensor, list[int], Tensor]:
    """A model, tokens, lengths and masks of any sets of positions, also of none."""
    name = draw(st.sampled_from(sorted(cells)))
    options: dict[str, Any] = {}
    if name == "gru":
        options["reset"] = draw(st.sampled_from(["after", "before"]))
    if name == "nested_lstm":
        options["depth"] = draw(st.integers(1, 3))
    if name == "elman":
        options["nonlinearity"] = draw(st.sampled_from(["tanh", "relu"]))
    hidden, inputs = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    both, layers = directions and draw(st.booleans()), draw(st.integers(1, 3))
    torch.manual_seed(draw(st.integers(0, 10**6)))
    biases = draw(st.sampled_from(["two", "one", "none"]))
    recurrent = Recurrent(name, inputs, hidden, layers=layers, bidirectional=both, biases=biases, **options)
    model = SequenceModel(recurrent, nn.Embedding(VOCABULARY, inputs), nn.Linear(recurrent.output_size, 3)).double()
    scale = draw(st.sampled_from([0.3, 1.0]))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, scale)
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    tokens = torch.randint(0, VOCABULARY, (len(lengths), max(lengths)))
    spans = draw(st.integers(1, 4))
    masks = torch.rand(len(lengths), spans, max(lengths)) < draw(st.sampled_from([0.0, 0.3, 0.7]))
    return model, tokens, lengths, masks


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    return draw(st.sampled_from(RULES))


@given(questions(), rules())
@settings(max_examples=60)
def test_the_parts_sum_to_the_true_state_exactly(question: Any, options: dict[str, Any]) -> None:
    model, tokens, lengths, masks = question
    parts = rote.decompose(model, tokens, masks, lengths=lengths, **options)
    assert parts.error.shape == masks.shape[:2]
    assert parts.error.max() < 1e-12
    torch.testing.assert_close(parts.relevant + parts.irrelevant, parts.hidden[:, None].expand_as(parts.relevant))
    trace = rote.trace(model, tokens, lengths)
    last = model.recurrent.layers - 1
    hidden = [trace.hidden[key] for key in trace.hidden if (key if isinstance(key, int) else key[0]) == last]
    torch.testing.assert_close(parts.hidden, torch.cat(hidden, -1), rtol=0, atol=1e-13)


@given(questions(directions=False), rules())
@settings(max_examples=50)
def test_nothing_is_relevant_before_the_first_position_or_for_an_empty_span(question: Any, options: Any) -> None:
    model, tokens, lengths, masks = question
    parts = rote.decompose(model, tokens, masks, lengths=lengths, **options)
    begun = masks.cumsum(-1) > 0
    assert parts.relevant[~begun].abs().max() < 1e-14 if (~begun).any() else True
    # Spans that have begun in no sequence are not even computed.
    never = ~begun.any(0)
    assert not parts.relevant[:, never].any()


@given(questions(), rules())
@settings(max_examples=50)
def test_nothing_is_irrelevant_for_the_full_span_with_the_in_span_rule(question: Any, options: Any) -> None:
    model, tokens, lengths, _ = question
    full = torch.ones(len(lengths), 1, tokens.shape[1], dtype=torch.bool)
    parts = rote.decompose(model, tokens, full, lengths=lengths, **{**options, "bias": "in_span"})
    assert parts.irrelevant.abs().max() < 1e-12 * (1 + parts.hidden.abs().max())
    initial = states_of(model, len(lengths))
    options = {**options, "bias": "in_span", "initial": initial}
    marked = rote.decompose(model, tokens, full, lengths=lengths, initial_relevant=True, **options)
    assert marked.irrelevant.abs().max() < 1e-12 * (1 + marked.hidden.abs().max())
    assert rote.decompose(model, tokens, full, lengths=lengths, **options).irrelevant.abs().max() > 0


@given(questions(), rules())
@settings(max_examples=40)
def test_a_padded_batch_equals_its_sequences_alone(question: Any, options: dict[str, Any]) -> None:
    model, tokens, lengths, masks = question
    together = rote.decompose(model, tokens, masks, lengths=lengths, **options)
    for row, length in enumerate(lengths):
        alone = rote.decompose(model, tokens[row : row + 1, :length], masks[row : row + 1, :, :length], **options)
        torch.testing.assert_close(together.relevant[row, :, :length], alone.relevant[0], rtol=0, atol=1e-13)
        torch.testing.assert_close(together.hidden[row, :length], alone.hidden[0], rtol=0, atol=1e-13)
        assert not together.relevant[row, :, length:].any()
        assert not together.hidden[row, length:].any()
        assert not together.spans[row, :, length:].any()


@given(questions(), rules())
@settings(max_examples=20)
def test_all_spans_in_one_pass_equal_each_span_alone_and_pairs_equal_masks(question: Any, options: Any) -> None:
    model, tokens, lengths, _ = question
    time = tokens.shape[1]
    pairs = [(start, end) for start in range(time) for end in range(start, time)]
    all_spans = rote.decompose_all(model, tokens, lengths=lengths, **options)
    assert all_spans.relevant.shape[1] == len(pairs)
    for index, (start, end) in enumerate(pairs):
        mask = torch.zeros(len(lengths), 1, time, dtype=torch.bool)
        mask[:, :, start : end + 1] = True
        by_mask = rote.decompose(model, tokens, mask, lengths=lengths, **options)
        torch.testing.assert_close(all_spans.relevant[:, index], by_mask.relevant[:, 0], rtol=0, atol=1e-13)
        assert torch.equal(all_spans.spans[:, index], by_mask.spans[:, 0])
    shuffled = [pairs[i] for i in torch.randperm(len(pairs)).tolist()]
    found = rote.decompose(model, tokens, shuffled, lengths=lengths, **options).relevant
    order = [pairs.index(pair) for pair in shuffled]
    torch.testing.assert_close(found, all_spans.relevant[:, order], rtol=0, atol=1e-13)


@given(questions(), rules())
@settings(max_examples=30)
def test_float32_stays_within_the_published_bound(question: Any, options: dict[str, Any]) -> None:
    model, tokens, lengths, masks = question
    exact = rote.decompose(model, tokens, masks, lengths=lengths, **options)
    single = rote.decompose(model.float(), tokens, masks, lengths=lengths, **options)
    assert single.relevant.dtype == torch.float32
    assert single.error.max() < 1e-5
    scale = max(1.0, float(exact.hidden.abs().max()))
    assert (single.relevant - exact.relevant).abs().max() < 1e-4 * scale


@given(st.integers(1, 9), st.integers(1, 20))
@settings(max_examples=10)
def test_many_sequences_and_spans_are_computed_in_blocks_without_a_seam(batch: int, spans: int) -> None:
    model = model_of("lstm")
    tokens, masks = tokens_of(batch, 3), torch.rand(batch, spans, 3) < 0.5
    whole = rote.decompose(model, tokens, masks)
    from rote.analyses import propagation

    before, propagation.ROWS = propagation.ROWS, 7
    try:
        small = rote.decompose(model, tokens, masks)
        torch.testing.assert_close(small.relevant, whole.relevant, rtol=0, atol=1e-14)
        torch.testing.assert_close(small.hidden, whole.hidden, rtol=0, atol=1e-14)
        assert small.error.max() < 1e-12
        assert small.error.shape == (batch, spans)
    finally:
        propagation.ROWS = before


def test_the_error_of_a_state_that_is_zero_is_absolute_so_nothing_is_divided_by_zero() -> None:
    model = SequenceModel(Recurrent("elman", INPUT, HIDDEN, nonlinearity="relu")).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(-0.1)
        model.recurrent.cell(0).weight_ih.copy_(torch.rand(HIDDEN, INPUT) - 5)
    inputs = torch.rand(1, 3, INPUT, dtype=torch.float64)
    inputs[:, 1] *= -0.9
    parts = rote.decompose(model, inputs, [(0, 0), (1, 1), (0, 2)], linearization="shapley", bias="never")
    assert not parts.hidden[:, 0].any()
    assert parts.error.max() < 1e-12


def test_a_cell_that_forgets_to_settle_or_multiplies_an_unsettled_value_is_still_exact() -> None:
    class Careless(Cell):
        row_groups = (1,)
        gate_names = ("candidate",)

        def step(self, a: Any, projected: Any, state: Any) -> Any:
            candidate = a.gate(
                "candidate", a.tanh(projected + a.linear(state[0], self.weight_hh) + a.constant(self.bias))
            )
            return (a.linear(candidate, self.weight_hh) + a.constant(self.bias),)

    model = SequenceModel(Recurrent([Careless(INPUT, HIDDEN)])).double()
    inputs = torch.randn(2, 4, INPUT, dtype=torch.float64)
    parts = rote.decompose(model, inputs, [(0, 3), (1, 2)])
    assert parts.error.max() < 1e-12
    assert parts.irrelevant[:, 0].abs().max() < 1e-12


# Readout and interdependence.


def test_logits_of_both_parts_and_the_bias_sum_to_the_models_logits_so_the_bias_counts_once() -> None:
    model, tokens = model_of("lstm", layers=2), tokens_of()
    parts = rote.decompose(model, tokens, [(1, 2), (0, 5)])
    logits = rote.trace(model, tokens).logits[:, None]
    both = parts.logits() + parts.logits(irrelevant=True, bias=True)
    torch.testing.assert_close(both, logits.expand_as(both), rtol=0, atol=1e-12)
    assert model.readout is not None
    torch.testing.assert_close(parts.logits(bias=True) - parts.logits(), model.readout.bias.detach().expand_as(both))
    torch.testing.assert_close(parts.probabilities(), parts.logits().softmax(-1))
    torch.testing.assert_close(parts.probabilities(bias=True), parts.logits(bias=True).softmax(-1))
    torch.testing.assert_close(parts.logits(at=slice(-2, None)), parts.logits()[:, :, -2:], rtol=0, atol=1e-13)
    # The full span predicts what the model predicts.
    torch.testing.assert_close(parts.probabilities(bias=True)[:, 1], logits[:, 0].softmax(-1), rtol=0, atol=1e-12)


def test_a_readout_without_bias_has_none_to_add_and_a_model_without_readout_says_so() -> None:
    model, tokens = model_of("gru"), tokens_of()
    model.readout = nn.Linear(HIDDEN, 5, bias=False).double()
    parts = rote.decompose(model, tokens, [(0, 1)])
    torch.testing.assert_close(parts.logits(bias=True), parts.logits())
    model.readout = None
    with pytest.raises(rote.errors.UsageError, match=r"has no readout\. Adapt it with readout=nn\.Linear"):
        rote.decompose(model, tokens, [(0, 1)]).logits()


def test_interdependence_is_its_definition() -> None:
    model, tokens = model_of("lstm"), tokens_of()
    first, second = torch.zeros(2, 2, 2, TIME, dtype=torch.bool)
    first[:, 0, 1], second[:, 0, 2:4] = True, True
    first[:, 1, 0], second[:, 1, 5] = True, True
    found = rote.interdependence(model, tokens, first, second, bias="never")
    for pair in range(2):
        b = [
            rote.decompose(model, tokens, mask[:, pair : pair + 1], bias="never").relevant[:, 0]
            for mask in (first | second, first, second)
        ]
        expected = (b[0] - b[1] - b[2]).norm(dim=-1) / b[0].norm(dim=-1)
        torch.testing.assert_close(found.values[:, pair], expected, equal_nan=True, rtol=1e-9, atol=1e-12)
    assert found.values[:, 0, 0].isnan().all()  # before both
    assert (found.values[:, 1, :5].abs() < 1e-12).all()  # the second set has not come yet
    assert torch.equal(found.first, first)
    assert torch.equal(found.second, second)


def test_interdependence_of_a_linear_model_is_zero_so_it_measures_interaction_and_nothing_else() -> None:
    """A ReLU unit with positive weights and inputs never leaves its linear half: the parts add up."""
    model = SequenceModel(Recurrent("elman", INPUT, HIDDEN, layers=2, nonlinearity="relu", biases="none")).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(0, 0.5)
    inputs = torch.rand(1, TIME, INPUT, dtype=torch.float64)
    first, second = torch.zeros(2, 1, 1, TIME, dtype=torch.bool)
    first[..., 1], second[..., 3:5] = True, True
    values = rote.interdependence(model, inputs, first, second).values
    assert values[..., 3:].abs().max() < 1e-14
    tanh = SequenceModel(Recurrent("elman", INPUT, HIDDEN, biases="none")).double()
    assert rote.interdependence(tanh, inputs, first, second).values[..., 3:].min() > 1e-6


# Bad input: named before anything is computed.


MODEL = model_of("lstm")
TOKENS = tokens_of()
MASK = torch.zeros(2, 1, TIME, dtype=torch.bool)


def decompose(tokens: Any = TOKENS, spans: Any = ((0, 1),), model: Any = MODEL, **options: Any) -> Any:
    return lambda: rote.decompose(model, tokens, spans, **options)


def spoiled(value: float) -> SequenceModel:
    model = model_of("lstm")
    with torch.no_grad():
        model.recurrent.cell(0).weight_hh[1, 2] = value
    return model


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (decompose(spans=[(0, 1), (3, 6)]), r"must lie inside the sequence of 6 steps. Got \(3, 6\)"),
        (decompose(spans=[(-1, 2)]), r"must lie inside the sequence of 6 steps. Got \(-1, 2\)"),
        (decompose(spans=[(4, 2)]), r"start must not lie behind its end. Got \(4, 2\)"),
        (decompose(spans=(2, 4)), r"a pair \(start, end\), both inclusive. Got 2"),
        (decompose(spans=[(1, 2, 3)]), r"a pair \(start, end\), both inclusive. Got \(1, 2, 3\)"),
        (decompose(spans=[(0.5, 2)]), r"a pair \(start, end\), both inclusive. Got \(0.5, 2\)"),
        (decompose(spans=["12"]), r"a pair \(start, end\), both inclusive. Got '12'"),
        (decompose(spans=None), "must be a list of pairs .* Got None"),
        (decompose(spans=MASK[:, 0]), r"must be bool \[batch=2, span, time=6\]. Got torch.bool \(2, 6\)"),
        (decompose(spans=MASK[:1]), r"must be bool \[batch=2, span, time=6\]. Got torch.bool \(1, 1, 6\)"),
        (decompose(spans=MASK[..., :5]), r"must be bool \[batch=2, span, time=6\]. Got torch.bool \(2, 1, 5\)"),
        (decompose(spans=MASK.long()), r"must be bool \[batch=2, span, time=6\]. Got torch.int64 \(2, 1, 6\)"),
        (decompose(torch.tensor([[0, 9, 1]])), "'tokens' must lie in 0 to 8, the embedding's rows. Got 9"),
        (decompose(torch.tensor([[0, -1, 1]])), "'tokens' must lie in 0 to 8, the embedding's rows. Got -1"),
        (decompose(TOKENS.float()), r"must be whole numbers \(torch.long\). Got torch.float32"),
        (decompose(TOKENS > 3), r"must be whole numbers \(torch.long\). Got torch.bool"),
        (decompose(TOKENS[None]), r"must be \[batch, time\] or \[time\]. Got the shape \(1, 2, 6\)"),
        (decompose([[1, 2]]), "'tokens' must be a tensor or a PackedSequence. Got list"),
        (decompose(TOKENS[:0]), r"'tokens' is empty: \(0, 6\). Give at least one sequence"),
        (decompose(TOKENS[:, :0]), r"'tokens' is empty: \(2, 0\)"),
        (decompose(lengths=[6, 7]), "'lengths' must lie in 1 to 6, the steps of the tensor. Got 7"),
        (decompose(lengths=[0, 6]), "'lengths' must lie in 1 to 6, the steps of the tensor. Got 0"),
        (decompose(lengths=[6]), r"must be 2 whole numbers, one per sequence. Got \(1,\) of torch.int64"),
        (decompose(lengths=[1.5, 2.0]), r"must be 2 whole numbers, one per sequence. Got \(2,\) of torch.float32"),
        (decompose(lengths="ab"), "must be 2 whole numbers, one per sequence. Got 'ab'"),
        (decompose(model=spoiled(float("nan"))), "weight 'recurrent.cells.0.weight_hh' .* NaN or infinite"),
        (decompose(model=spoiled(float("inf"))), "weight 'recurrent.cells.0.weight_hh' .* NaN or infinite"),
        (decompose(model=nn.LSTM(3, 4)), r"'model' must be a Rote model. Got LSTM. .*rote.adapt\(recurrent"),
        (decompose(bias="inside"), "'bias' must be 'in_span', 'exclusive_end' or 'never'. Got 'inside'"),
        (decompose(interactions="all"), "'interactions' must be 'relevant' or 'source'. Got 'all'"),
        (decompose(linearization="lrp"), "'linearization' must be 'bias_first' or 'shapley'. Got 'lrp'"),
        (decompose(initial=3), "'initial' must hold, for each layer and direction, the states hidden, cell of"),
        (decompose(initial=[(torch.zeros(2, 4),)]), r"'initial' must hold.* Got \[\[\(2, 4\)\]\]"),
        (decompose(initial=[(torch.zeros(2, 4),) * 2]), "'initial' must have the model's dtype torch.float64"),
        (
            decompose(initial=[(torch.full((2, 4), float("nan"), dtype=torch.float64),) * 2]),
            "'initial' has NaN or infinite values",
        ),
        (
            decompose(model=SequenceModel(MODEL.recurrent, nn.Embedding(VOCABULARY, INPUT), None)),
            "must agree in dtype and device. 'recurrent' has torch.float64 on cpu, 'embedding.weight' torch.float32",
        ),
        (lambda: rote.interdependence(MODEL, TOKENS, MASK, [1]), r"'second' must be a bool tensor .* Got list"),
        (lambda: rote.interdependence(MODEL, TOKENS, MASK, MASK[:1]), r"one shape. Got \(2, 1, 6\) and \(1, 1, 6\)"),
        (lambda: rote.interdependence(MODEL, TOKENS, ~MASK, ~MASK), "Both have step 0 in pair 0 of sequence 0"),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_its_value_before_anything_is_computed(
    call: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: Any, **__: Any) -> None:
        raise RuntimeError("computed something")

    monkeypatch.setattr(LSTMCell, "step", computed)
    with pytest.raises(rote.errors.UsageError, match=message):
        call()


# The result.


def test_save_and_load_keep_the_parts_and_their_error(tmp_path: Path) -> None:
    parts = rote.decompose(model_of("lstm"), tokens_of(), [(1, 2)], lengths=[6, 4])
    parts.save(tmp_path / "parts")
    loaded = type(parts).load(tmp_path / "parts")
    for name in ("relevant", "hidden", "spans", "mask", "irrelevant", "error", "readout_weight", "readout_bias"):
        assert torch.equal(getattr(loaded, name), getattr(parts, name)), name
    torch.testing.assert_close(loaded.logits(bias=True), parts.logits(bias=True), rtol=0, atol=0)
    assert loaded.to_table() == parts.to_table()


def test_the_table_leaves_out_padding() -> None:
    table = rote.decompose(model_of("lstm"), tokens_of(), [(1, 2), (0, 0)], lengths=[6, 4]).to_table()
    assert len(table.rows) == 2 * (6 + 4)
    assert max(table.where(batch=1).column("time")) == 3


def test_the_error_is_not_measured_on_other_weights_but_the_parts_stay() -> None:
    model, tokens = model_of("lstm"), tokens_of()
    parts = rote.decompose(model, tokens, [(1, 2)])
    logits = parts.logits(bias=True)
    kept = rote.decompose(model, tokens, [(1, 2)])
    assert kept.error.max() < 1e-12
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(tokens).sum().backward()
    optimizer.step()
    with pytest.raises(rote.errors.UsageError, match="weights have changed since decompose"):
        parts.error  # noqa: B018
    assert kept.error.max() < 1e-12  # it had been read
    torch.testing.assert_close(parts.logits(bias=True), logits, rtol=0, atol=0)


def test_the_result_does_not_change_with_the_callers_mask() -> None:
    model, tokens = model_of("lstm"), tokens_of()
    mask = torch.zeros(2, 1, TIME, dtype=torch.bool)
    mask[:, :, 1] = True
    parts = rote.decompose(model, tokens, mask)
    mask[:] = True
    assert parts.spans.sum() == 2
    assert parts.error.max() < 1e-12


def test_no_spans_give_an_empty_result() -> None:
    parts = rote.decompose(model_of("gru"), tokens_of(), [])
    assert parts.relevant.shape == (2, 0, TIME, HIDDEN)
    assert parts.error.shape == (2, 0)
    assert parts.logits().shape == (2, 0, TIME, VOCABULARY)


@pytest.mark.parametrize(("kind", "names"), [("lstm", 2), ("gru", 1)])
def test_initial_states_in_torchs_form_are_the_same_as_ours_so_layers_and_states_are_not_swapped(
    kind: str, names: int
) -> None:
    model, tokens = model_of(kind, layers=2), tokens_of()
    ours = states_of(model, 2)
    theirs: Any = tuple(torch.stack(states) for states in zip(*ours, strict=True))
    assert len(theirs) == names
    theirs = theirs if names == 2 else theirs[0]
    for given_states in (ours, theirs):
        parts = rote.decompose(model, tokens, [(1, 2)], initial=given_states)
        torch.testing.assert_close(parts.hidden, rote.trace(model, tokens, initial=ours).hidden[1], rtol=0, atol=1e-13)
        torch.testing.assert_close(rote.trace(model, tokens, initial=given_states).hidden[1], parts.hidden)


def test_the_examples_of_the_document_run() -> None:
    text = (Path(__file__).parents[2] / "docs" / "decomposition.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "decomposition_document"}
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    assert len(blocks) == 2
    try:
        for block in blocks:
            exec(block, names)
    finally:
        cells._registered.pop("minimal_gated_unit", None)
        cells._loaded.pop("minimal_gated_unit", None)
    assert names["parts"].relevant.shape == (4, 1, 12, 16)
