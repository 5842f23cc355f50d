"""What a decomposition gives: readout, interdependence, errors for bad input, the stored result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from decomposed_models import HIDDEN, INPUT, TIME, VOCABULARY, model_of, states_of, tokens_of
from torch import nn

import rote
from rote.cells import LSTMCell, Recurrent, cells
from rote.models.sequence import SequenceModel


def test_logits_of_both_parts_and_the_bias_sum_to_the_models_logits_so_the_bias_counts_once() -> None:
    model, tokens = model_of("lstm", layers=2), tokens_of()
    parts = rote.decompose(model, tokens, [(1, 2), (0, 5)])
    logits = rote.trace(model, tokens).logits[:, None]
    both = parts.logits() + parts.logits(irrelevant=True, bias=True)
    torch.testing.assert_close(both, logits.expand_as(both), rtol=0, atol=1e-12)
    assert model.readout is not None
    assert parts.reference is not None
    start = model.readout(parts.reference).detach()[:, None]  # what the model says without any input
    torch.testing.assert_close(parts.logits(bias=True) - parts.logits(), start.expand_as(both))
    published = rote.decompose(model, tokens, [(1, 2)], rules="murdoch2018")
    bias = model.readout.bias.detach().expand_as(published.logits())
    torch.testing.assert_close(published.logits(bias=True) - published.logits(), bias)
    torch.testing.assert_close(parts.probabilities(), parts.logits().softmax(-1))
    torch.testing.assert_close(parts.probabilities(bias=True), parts.logits(bias=True).softmax(-1))
    torch.testing.assert_close(parts.logits(at=slice(-2, None)), parts.logits()[:, :, -2:], rtol=0, atol=1e-13)
    # The full span predicts what the model predicts.
    torch.testing.assert_close(parts.probabilities(bias=True)[:, 1], logits[:, 0].softmax(-1), rtol=0, atol=1e-12)


def test_a_readout_without_bias_has_none_to_add_and_a_model_without_readout_says_so() -> None:
    model, tokens = model_of("gru"), tokens_of()
    model.readout = nn.Linear(HIDDEN, 5, bias=False).double()
    parts = rote.decompose(model, tokens, [(0, 1)], rules="murdoch2018")
    torch.testing.assert_close(parts.logits(bias=True), parts.logits())
    model.readout = None
    with pytest.raises(rote.errors.UsageError, match=r"has no readout.* Adapt it with readout=nn\.Linear"):
        rote.decompose(model, tokens, [(0, 1)]).logits()


def test_interdependence_is_its_definition() -> None:
    model, tokens = model_of("lstm"), tokens_of()
    first, second = torch.zeros(2, 2, 2, TIME, dtype=torch.bool)
    first[:, 0, 1], second[:, 0, 2:4] = True, True
    first[:, 1, 0], second[:, 1, 5] = True, True
    found = rote.interdependence(model, tokens, first, second, bias="never")
    for pair in range(2):
        b = [
            rote.decompose(model, tokens, mask[:, pair : pair + 1], rules="murdoch2018", bias="never").relevant[:, 0]
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
        (decompose(model=nn.LSTM(3, 4)), r"decompose needs 'arithmetic' .* LSTM has only 'logits'. .*rote.adapt\("),
        (decompose(bias="inside"), "'bias' must be 'reference', 'in_span', 'exclusive_end' or 'never'. Got 'inside'"),
        (decompose(interactions="all"), "'interactions' must be 'shapley', 'source' or 'relevant'. Got 'all'"),
        (decompose(rules="cd"), "'rules' must be 'shapley', 'murdoch2018' or 'gcd2019'. Got 'cd'"),
        (decompose(output_gate=False), "bias='reference' .* needs .* output_gate=True. Got .* output_gate=False"),
        (decompose(linearization="shapley"), "bias='reference' .* Got linearization='shapley'"),
        (decompose(at=6), "'at' must be a step, a slice or several steps of the sequence of 6. Got 6"),
        (decompose(at=[1, 1]), r"'at' must name at least one of the 6 steps, each once. Got \[1, 1\]"),
        (decompose(at=slice(3, 3)), "'at' must name at least one of the 6 steps"),
        (decompose(linearization="lrp"), "'linearization' must be 'bias_first' or 'shapley'. Got 'lrp'"),
        (decompose(initial=3), r"'initial' must hold, for each layer and direction, the states hidden \(2, 4\), cell"),
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
    for name in (
        "relevant",
        "hidden",
        "spans",
        "mask",
        "irrelevant",
        "error",
        "growth",
        "reference",
        "steps",
        "readout_weight",
        "readout_bias",
    ):
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


def test_a_model_loaded_in_inference_mode_whose_weights_have_no_version_has_its_error_measured() -> None:
    with torch.inference_mode():
        model = model_of("lstm")
        parts = rote.decompose(model, tokens_of(), [(1, 2)])
    assert float(parts.error.max()) < 1e-12


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
