"""What users bring: modules that compute something else, low precision, inference mode, labels of every kind."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import rote
from rote.cells import LSTMCell, Recurrent
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

TOKENS = torch.tensor([[1, 2, 3, 4, 5], [6, 0, 2, 2, 1]])


def adapted(dtype: torch.dtype = torch.float64, kind: type[nn.RNNBase] = nn.LSTM, **more: object) -> SequenceModel:
    torch.manual_seed(0)
    modules = {"recurrent": kind(4, 6, batch_first=True), "embedding": nn.Embedding(7, 4), "readout": nn.Linear(6, 7)}
    modules.update(more)
    return rote.adapt(**{name: module and module.to(dtype) for name, module in modules.items()})


def test_the_gradient_flow_of_a_model_without_readout_is_that_of_its_own_loss() -> None:
    torch.manual_seed(0)
    lstm, table = nn.LSTM(4, 6, batch_first=True).double(), nn.Embedding(7, 4).double()
    flow = rote.gradient_flow(rote.adapt(recurrent=lstm, embedding=table), TOKENS, at=4, terms=True)
    hidden = lstm(table(TOKENS))[0][:, 4]
    (expected,) = torch.autograd.grad(
        cross_entropy(hidden, hidden.argmax(-1), reduction="sum"), [lstm.get_parameter("weight_hh_l0")]
    )
    assert flow.terms is not None
    torch.testing.assert_close(flow.terms[0]["weight_hh"].sum(0), expected, atol=1e-12, rtol=0)
    assert flow.error < 1e-12


class Scaled(nn.Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return 2 * super().forward(tokens)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"embedding": Scaled(7, 4)}, "'embedding' is a .*Scaled with a forward"),
        ({"embedding": nn.utils.parametrizations.weight_norm(nn.Embedding(7, 4))}, "'weight' of 'embedding' is comp"),
    ],
)
def test_modules_that_compute_something_else_are_refused(part: dict[str, nn.Module], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        adapted(**part)


def test_pruning_refuses_what_it_could_not_cut() -> None:
    lstm = nn.LSTM(4, 6)
    nn.utils.parametrizations.weight_norm(lstm, "weight_hh_l0")
    with pytest.raises(UsageError, match="'weight_hh_l0' of 'model' is computed"):
        rote.prune(lstm, 0.2)
    with pytest.raises(UsageError, match="'model' must be an nn"):
        rote.prune(None, 0.2)


def test_the_packages_are_there_in_a_fresh_session() -> None:
    code = "import rote; rote.analyses.strong_neurons; rote.errors.RoteError; rote.models.SequenceModel"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_half_precision_gives_about_the_numbers_of_float32(dtype: torch.dtype, kind: type[nn.RNNBase]) -> None:
    half, whole = adapted(dtype, kind), adapted(torch.float32, kind)
    close = {"atol": 0.02, "rtol": 0.2}
    values = (rote.connectivity(model, TOKENS).values.float() for model in (half, whole))
    torch.testing.assert_close(*values, **close)
    flows = [rote.gradient_flow(model, TOKENS, at=4) for model in (half, whole)]
    torch.testing.assert_close(*(flow.states[0]["hidden"].float() for flow in flows), **close)
    torch.testing.assert_close(*(flow.products[0].float() for flow in flows), **close)


def test_inference_mode_changes_nothing() -> None:
    model, donor = adapted(torch.float32), adapted(torch.float32)
    gru, vectors = nn.GRU(4, 6, batch_first=True), torch.randn(2, 5, 4)
    net, parts = nn.Linear(2, 3), (torch.randn(3, 1), torch.randn(4, 1))
    outside = rote.connectivity(lambda x: gru(x)[0], vectors).values
    expected = rote.information(parts, lambda *given: net(torch.cat(given, -1))).gradient
    with torch.inference_mode():
        inside = rote.connectivity(lambda x: gru(x)[0], vectors * 1).values
        gradient = rote.information(parts, lambda *given: net(torch.cat(given, -1))).gradient
        copies = rote.prune(model, 0.5), rote.substitute(model, "embedding", donor)
    torch.testing.assert_close(inside, outside)
    torch.testing.assert_close(gradient, expected)
    for copy in copies:
        copy(TOKENS).sum().backward()  # it can be trained
        assert copy.recurrent.cell(0).weight_hh.grad is not None


def test_labels_may_be_an_array_of_names_and_mistakes_are_told() -> None:
    states = torch.randn(40, 3)
    names = ["a", "b"] * 20
    for kind in (object, str):
        assert rote.diagnose(states, np.array(names, dtype=kind)).accuracy == rote.diagnose(states, names).accuracy
    named = dict(enumerate(names)).values()  # neither list nor array
    assert rote.diagnose(states, named).accuracy == rote.diagnose(states, names).accuracy
    trace = rote.trace(adapted(), TOKENS)
    with pytest.raises(UsageError, match=r"Got Trace. Of a trace give trace.hidden\[layer\]"):
        rote.diagnose(trace, TOKENS)
    with pytest.raises(UsageError, match=r"'mask' must be bool of shape \(2, 5\)"):
        rote.cluster(trace, TOKENS, mask=[[True]])
    with pytest.raises(UsageError, match="'labels' must be names or whole numbers, one per position"):
        rote.cluster(trace, None)
    with pytest.raises(UsageError, match=r"'weight' must be a matrix .* Got LSTM"):
        rote.neuron_graph(nn.LSTM(3, 4))


def test_weights_given_as_plain_tensors_are_checked_converted_and_watched() -> None:
    weights = {name: value.detach().clone() for name, value in nn.LSTMCell(3, 4).named_parameters()}
    model = rote.adapt(recurrent=Recurrent([LSTMCell(3, 4, weights=weights)]))
    assert model.recurrent.cell(0).weight_hh is weights["weight_hh"]
    parts = rote.decompose(model, torch.randn(1, 3, 3), spans=[(0, 1)])
    weights["weight_hh"].mul_(5)
    with pytest.raises(UsageError, match="weights have changed"):
        float(parts.error)
    assert rote.trace(model.double(), torch.randn(1, 3, 3).double()).logits.dtype == torch.float64
    model.recurrent.cell(0).weight_hh[0, 0] = float("nan")
    with pytest.raises(UsageError, match="NaN"):
        rote.trace(model, torch.randn(1, 3, 3).double())


def test_lengths_may_have_any_whole_type() -> None:
    model = adapted(torch.float32)
    found = rote.trace(model, torch.zeros(1, 200, dtype=torch.long), lengths=torch.tensor([100], dtype=torch.int8))
    assert int(found.mask.sum()) == 100


def test_hooks_on_the_readout_are_not_run() -> None:
    readout, seen = nn.Linear(6, 7), []
    readout.register_forward_hook(lambda *given: seen.append(given))
    rote.trace(adapted(torch.float32, readout=readout), TOKENS)
    assert seen == []
