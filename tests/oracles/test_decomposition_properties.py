"""The properties that every cell's contextual decomposition must have, whatever the model and the spans."""

from __future__ import annotations

from typing import Any

import torch
from decomposed_models import HIDDEN, INPUT, RULES, VOCABULARY, model_of, states_of, tokens_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import rote
from rote.cells import Cell, Recurrent, cells
from rote.models.sequence import SequenceModel


@st.composite
def questions(draw: st.DrawFn, *, directions: bool = True) -> tuple[SequenceModel, Tensor, list[int], Tensor]:
    """A model, tokens, lengths and masks of any sets of positions, also of none."""
    # The published rule is refused on those that use something whole.
    name = draw(st.sampled_from([name for name in sorted(cells) if not cells[name].taken_whole]))
    options: dict[str, Any] = {"mixer": "min_gru", "mlp": 3} if name == "block" else {}
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
    return draw(st.sampled_from([*RULES, *[{}] * 12]))  # the default as often as a third of the others


@given(questions(), rules())
@settings(max_examples=60)
def test_the_parts_sum_to_the_true_state_exactly(question: Any, options: dict[str, Any]) -> None:
    model, tokens, lengths, masks = question
    parts = rote.decompose(model, tokens, masks, lengths=lengths, **options)
    assert parts.error.shape == masks.shape[:2]
    assert parts.error.max() < 1e-11  # a state may be small against the bias that is taken off it: of minGRU by 1e-5
    states = parts.hidden if parts.reference is None else parts.hidden - parts.reference
    torch.testing.assert_close(parts.relevant + parts.irrelevant, states[:, None].expand_as(parts.relevant))
    trace = rote.trace(model, tokens, lengths=lengths)
    last = model.recurrent.layers - 1
    hidden = [trace.hidden[key] for key in trace.hidden if (key if isinstance(key, int) else key[0]) == last]
    torch.testing.assert_close(parts.hidden, torch.cat(hidden, -1), rtol=1e-12, atol=1e-13)


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
def test_nothing_at_all_is_irrelevant_for_the_full_span_with_the_in_span_rule(question: Any, options: Any) -> None:
    model, tokens, lengths, _ = question
    full = torch.ones(len(lengths), 1, tokens.shape[1], dtype=torch.bool)
    options = {**options, "bias": "in_span"} if options else {}  # or with a reference
    parts = rote.decompose(model, tokens, full, lengths=lengths, **options)
    assert not parts.irrelevant.any()
    initial = states_of(model, len(lengths))
    options = {**options, "initial": initial}
    marked = rote.decompose(model, tokens, full, lengths=lengths, initial_relevant=True, **options)
    assert not marked.irrelevant.any()
    apart = rote.decompose(model, tokens, full, lengths=lengths, **options)
    # Units of a relu that are shut throughout take nothing from an initial state.
    assert apart.irrelevant.any() or torch.equal(apart.hidden, parts.hidden)


@given(questions(), rules())
@settings(max_examples=40)
def test_a_padded_batch_equals_its_sequences_alone(question: Any, options: dict[str, Any]) -> None:
    model, tokens, lengths, masks = question
    together = rote.decompose(model, tokens, masks, lengths=lengths, **options)
    for row, length in enumerate(lengths):
        alone = rote.decompose(model, tokens[row : row + 1, :length], masks[row : row + 1, :, :length], **options)
        torch.testing.assert_close(together.relevant[row, :, :length], alone.relevant[0], rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(together.hidden[row, :length], alone.hidden[0], rtol=1e-12, atol=1e-13)
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
        torch.testing.assert_close(all_spans.relevant[:, index], by_mask.relevant[:, 0], rtol=1e-12, atol=1e-13)
        assert torch.equal(all_spans.spans[:, index], by_mask.spans[:, 0])
    shuffled = [pairs[i] for i in torch.randperm(len(pairs)).tolist()]
    found = rote.decompose(model, tokens, shuffled, lengths=lengths, **options).relevant
    order = [pairs.index(pair) for pair in shuffled]
    torch.testing.assert_close(found, all_spans.relevant[:, order], rtol=1e-12, atol=1e-13)


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
    parts = rote.decompose(model, inputs, [(0, 0), (1, 1), (0, 2)], rules="gcd2019", bias="never")
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
