"""What connectivity leaves and gives: the model untouched, its error, table and figure, errors for wrong input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from connected_models import LENGTHS, OUTPUTS, model_of, numbers_of
from result_checks import assert_draws
from torch import nn

import rote
from rote.analyses import Connectivity, connectivity
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.testing import check_analysis
from rote.testing.untouched import untouched


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
        model.readout.weight.add_(1.0)
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
    assert found.to_table("abcdefg").records()[0]["target"] == int(found.targets[0, 0])  # six outputs, seven tokens
    named = found.to_table("abcdefg", "uvwxyz").records()
    assert named[0]["token"] == "abcdefg"[int(tokens[0, 0])]
    assert named[0]["target"] == "uvwxyz"[int(found.targets[0, 0])]
    two_ways = connectivity(model_of("gru", both=True), tokens, lengths=LENGTHS).to_table()
    assert len(two_ways.rows) == int((LENGTHS**2).sum())


def test_the_figure_is_drawn_for_few_and_many_steps_signed_and_not_and_survives_saving(tmp_path: Path) -> None:
    model = model_of("lstm")
    for time, norm in ((1, "l2"), (6, "signed"), (70, "l2")):
        found = connectivity(model, numbers_of(7, 2, time), norm=norm)
        assert_draws(found)
        found.save(tmp_path / "found")
        loaded = Connectivity.load(tmp_path / "found")
        assert torch.equal(loaded.values, found.values)
        assert torch.equal(loaded.error, found.error)
        assert loaded.to_table() == found.to_table()
    assert "Connectivity(values[batch=2, output=70, input=70]" in repr(found)


def wrong(message: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(UsageError) as raised:
        connectivity(*arguments, **options)
    assert message in str(raised.value)


def test_wrong_input_is_refused_with_the_argument_the_value_and_the_remedy() -> None:
    model, tokens = model_of("gru"), numbers_of(7)
    targets = numbers_of(OUTPUTS)
    wrong("'targets' must lie in 0 to 5, the outputs of the model. Got 6.", model, tokens, targets + 1)
    wrong("'targets' must lie in 0 to 5, the outputs of the model. Got -1.", model, tokens, targets - 1)
    told = "'targets' must be [batch=3, output=5], one for each step of the outputs. Got the shape (3, 4)."
    wrong(told, model, tokens, targets[:, 1:])
    wrong(
        "'targets' must be a tensor of whole numbers (torch.long). Got torch.float64.", model, tokens, targets.double()
    )
    wrong("'targets' must be a tensor of whole numbers (torch.long). Got list.", model, tokens, targets.tolist())
    wrong("'wrt' must be 'one_hot' or 'embedding'. Got 'onehot'.", model, tokens, wrt="onehot")
    wrong("'norm' must be 'l2', 'squared' or 'signed'. Got 'l1'.", model, tokens, norm="l1")
    wrong("'of' must be 'logit' or 'log_probability'. Got 'probability'.", model, tokens, of="probability")
    wrong("'tokens' must lie in 0 to 6, the embedding's rows. Got 7.", model, tokens + 7 - tokens)
    wrong("'lengths' must lie in 1 to 5, the steps of the tensor. Got 6.", model, tokens, lengths=[6, 1, 1])
    wrong("'tokens' is empty", model, tokens[:0])
    wrong("Wrap your modules: rote.adapt(", nn.GRU(3, 4), tokens)
    wrong("'model' must be a Rote model. Got str.", "gru", tokens)
    wrong("'embedding', 'causal' and 'chunk' are for models that were not adapted.", model, tokens, causal=True)
    units = SequenceModel(model.recurrent, model.embedding)
    wrong("needs outputs to choose from, but the model has no readout.", units, tokens, of="log_probability")
    wrong("'targets' must lie in 0 to 3, the outputs of the model. Got 4.", units, tokens, torch.full_like(tokens, 4))
    with torch.no_grad():
        model.recurrent.cell(0).weight_hh[1, 1] = float("nan")
    wrong("The weight 'recurrent.cells.0.weight_hh' of the model has NaN or infinite values", model, tokens)


def test_the_name_is_public_and_registered() -> None:
    assert rote.connectivity is connectivity
    assert rote.analyses.analyses["connectivity"] is connectivity
