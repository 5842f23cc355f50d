"""adapt(like=...): what the parts do not contain is found; readouts of every kind give what the user's model gives."""

from __future__ import annotations

import functools
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from connected_models import assert_right
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import prune

import rote
from rote.cells import Recurrent
from rote.errors import UsageError
from rote.models.comparison import example_for
from rote.models.sequence import SequenceModel
from rote.testing import check_model, untouched

VOCABULARY, INPUT, HIDDEN, OUTPUTS = 9, 3, 4, 5
TOKENS = torch.tensor([[1, 2, 3, 4, 5], [6, 0, 2, 2, 1]])


class Whole(nn.Module):
    """A user's model: three parts, and what may stand between them."""

    def __init__(self, *, batch_first: bool = True, kind: type[nn.RNNBase] = nn.LSTM, **between: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(VOCABULARY, INPUT)
        self.rnn: Any = kind(INPUT, HIDDEN, num_layers=2, dropout=0.4, batch_first=batch_first)
        self.head = nn.Linear(HIDDEN, OUTPUTS)
        self.norm = nn.LayerNorm(HIDDEN)
        self.start = nn.Parameter(0.1 * torch.randn(2, 1, HIDDEN))
        self.between, self.calls = between, 0
        self.double()

    def forward(self, tokens: Tensor) -> Any:
        self.calls += 1
        vectors = self.table(tokens) * self.between.get("scale", 1)
        if self.between.get("positions"):
            vectors = vectors + 0.01 * torch.arange(tokens.shape[1])[:, None]
        batch = vectors.shape[0 if self.rnn.batch_first else 1]
        start = self.start.expand(-1, batch, -1).contiguous() * bool(self.between.get("start"))
        hidden, end = self.rnn(vectors, (start, torch.zeros_like(start)) if isinstance(self.rnn, nn.LSTM) else start)
        hidden = self.norm(hidden) if self.between.get("norm") else hidden
        if "noise" in self.between:
            hidden = hidden + self.between["noise"]() * torch.randn(hidden.shape)
        return self.between.get("as", lambda logits, end: (logits, end))(self.head(hidden), end)


def adapted(model: Whole, **more: Any) -> SequenceModel:
    parts = {"recurrent": model.rnn, "embedding": model.table, "readout": model.head, "like": model} | more
    return rote.adapt(**parts)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_model_that_is_its_parts_agrees_whichever_axis_comes_first(kind: Any, batch_first: bool) -> None:
    model = Whole(kind=kind, batch_first=batch_first)
    with untouched(model):  # in training mode, with dropout
        made = adapted(model)
    assert "compared with Whole: largest difference 0" in repr(made) or "e-1" in repr(made)
    assert model.calls == 0
    check_model(made, like=model)


@pytest.mark.parametrize("between", [{"norm": True}, {"scale": 1.01}, {"start": True}, {"positions": True}])
def test_what_no_part_contains_is_refused_with_where_and_why(between: dict[str, Any]) -> None:
    model = Whole(**between)
    with untouched(model), pytest.raises(UsageError) as caught:
        adapted(model)
    bare = adapted(model, like=None).eval()
    tokens = example_for(bare)
    difference = (bare(tokens) - model.eval()(tokens)[0]).detach().abs()
    (row, step, output), largest = (difference == difference.max()).nonzero()[0].tolist(), float(difference.max())
    first = 1 if "positions" in between else 0  # the first position is number 0
    for part in (
        f"differ by up to {largest:.2g} ", f"most at step {step}, output {output} of sequence {row}, from step {first}",
        "Usual causes: a norm",
    ):  # fmt: skip
        assert part in str(caught.value)
    with pytest.raises(AssertionError, match="does not compute what 'like'"):
        check_model(bare, like=model)


def test_the_step_from_which_they_differ_is_told() -> None:
    model = Whole()

    def late(tokens: Tensor) -> Tensor:
        logits: Tensor = model(tokens)[0]
        logits[1:, 7:] += 0.01
        return logits

    with pytest.raises(UsageError, match=r"like' \(late\) does: they differ by up to 0.01 .* from step 7 on"):
        adapted(model, like=late)


@pytest.mark.parametrize(
    "form",
    [
        lambda logits, end: logits,
        lambda logits, end: [logits, end],
        lambda logits, end: {"loss": None, "logits": logits},
        lambda logits, end: SimpleNamespace(logits=logits, hidden_states=end),
        lambda logits, end: logits[:, -1],
    ],
)
def test_outputs_are_found_in_what_modules_give(form: Any) -> None:
    assert "compared with" in repr(adapted(Whole(**{"as": form})))


@pytest.mark.parametrize(
    ("form", "told"),
    [
        (lambda logits, end: logits.mean(-1), r"every step, \(3, 12, 5\), or of the last, .* Got the shape \(3, 12\)"),
        (lambda logits, end: logits.mean(1), r"what 'like' \(Whole at the last step\) does: .* most at step 11,"),
        (lambda logits, end: {"scores": logits}, "must give the outputs of every step.* Got dict"),
        (lambda logits, end: (), "must give the outputs of every step.* Got tuple"),
        (lambda logits, end: logits / 0, r"'like' \(Whole\) gives NaN or infinite outputs"),
        (lambda logits, end: {}["gone"], r"'like' \(Whole\) failed on inputs \(3, 12\), .*KeyError"),
        (lambda logits, end: logits.log_softmax(-1), "a softmax at the end"),
    ],
)  # fmt: skip
def test_outputs_that_are_none_are_refused(form: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        adapted(Whole(**{"as": form}))


def test_a_function_is_compared_too_with_its_modules_in_eval_mode_and_as_they_were_afterward() -> None:
    def through(tokens: Tensor) -> Any:
        return model(tokens)

    model = Whole()
    model.head.eval()
    with untouched(model.rnn, model.table, model.head):
        for like in (lambda tokens: model(tokens)[0], lambda tokens: through(tokens)[0]):
            assert "compared with <lambda>" in repr(adapted(model, like=like))
    assert "compared with forward" in repr(adapted(model, like=model.forward))
    assert "compared with Whole" in repr(adapted(model, like=functools.partial(model)))
    assert model.training
    assert not model.head.training


def test_what_is_random_is_told_and_random_states_stay_as_they_were() -> None:
    def noise(tokens: Tensor) -> Tensor:
        random.random(), np.random.rand()
        return model(tokens)[0] + torch.randn(())

    model = Whole()
    with untouched(), pytest.raises(UsageError, match=r"other outputs when it is called again .* Call .eval()"):
        adapted(model, like=noise)


def test_the_users_example_is_what_they_are_compared_on() -> None:
    model, seen = Whole(), []

    def watched(tokens: Tensor) -> Tensor:
        seen.append(tokens)
        return model(tokens)[0]

    adapted(model, like=watched, example=TOKENS)
    assert torch.equal(seen[0], TOKENS)
    adapted(model, like=watched)
    assert seen[1].shape == (3, 12)
    for example, told in (
        (TOKENS + 4, r"'example' must lie in 0 to 8"),
        (TOKENS[:, :1], "'example' must have at least 2 steps"),
        (TOKENS.double(), "'example' must be whole numbers"),
        ([1, 2], "'example' must be a tensor of inputs. Got list"),
    ):
        with pytest.raises(UsageError, match=told):
            adapted(model, example=example)
    with pytest.raises(UsageError, match=r"give like=... too"):
        adapted(model, like=None, example=TOKENS)
    with pytest.raises(UsageError, match=r"'like' must be your module, or a function.* Got str"):
        adapted(model, like="model")


def test_an_example_has_no_padding_and_vectors_where_there_is_no_embedding() -> None:
    def padded(tokens: Tensor) -> Tensor:
        assert bool((tokens != 3).all())
        return model(tokens)[0]

    model = Whole()
    model.table.padding_idx = 3
    assert "compared with padded" in repr(adapted(model, like=padded))
    vectors = rote.adapt(recurrent=model.rnn, like=model.rnn)  # torch's own module: (output, state)
    assert "compared with LSTM" in repr(vectors)
    last = nn.LSTM(INPUT, HIDDEN)  # time first
    assert "compared with LSTM" in repr(rote.adapt(recurrent=last, like=last))


def test_an_embedding_that_torch_renorms_when_it_is_read_keeps_its_weights() -> None:
    model = Whole()
    model.table.max_norm = 0.5
    with untouched(model):
        assert "compared with Whole" in repr(adapted(model))


def test_where_nothing_was_compared_the_repr_says_so() -> None:
    model = Whole()
    made = adapted(model, like=None)
    assert repr(made) == (
        "SequenceModel(\n  embedding: 9 symbols as vectors of 3\n  recurrent: 2 layers of LSTMCell, 3 -> 4\n"
        "  readout: Linear, 4 -> 5\n  not compared with your model: give like=...\n)"
    )
    both = SequenceModel(Recurrent("gru", INPUT, HIDDEN, bidirectional=True))
    assert repr(both) == "SequenceModel(\n  recurrent: 1 layer of GRUCell in both directions, 3 -> 8\n)"
    with torch.no_grad():
        model.head.weight.zero_()
    assert "outputs are the same for all inputs, which tells nothing" in repr(adapted(model))
    agreeing = adapted(Whole())
    for changed in (rote.prune(agreeing, 0.5), rote.substitute(agreeing, "embedding", made)):
        assert "compared" not in repr(changed)


class Compiled(nn.Module):
    """Wraps as torch.compile does, whose own takes seconds to import."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._orig_mod = module


class Fabric(nn.Module):
    """Wraps as Lightning's Fabric does."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._forward_module = self._original_module = module

    def forward(self, *given: Any) -> Any:
        return self._forward_module(*given)


Fabric.forward.__module__ = "lightning.fabric.wrappers"


class Doubled(nn.Module):
    """A user's own wrapper, which computes something else."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *given: Any) -> Any:
        return 2 * self.module(*given)


@pytest.mark.parametrize("wrap", [Compiled, nn.DataParallel, Fabric, lambda part: Fabric(Compiled(part))])
def test_wrappers_are_unwrapped_around_each_part_and_around_the_whole(wrap: Any) -> None:
    model = Whole()
    parts = {"recurrent": wrap(model.rnn), "embedding": wrap(model.table), "readout": wrap(model.head)}
    made = rote.adapt(**parts, like=wrap(model))
    assert "compared with Whole" in repr(made)
    assert made.readout is model.head
    model.head = wrap(model.head)
    assert "compared with Whole" in repr(rote.adapt(**parts, like=model))


def test_a_wrapper_of_ones_own_is_not_looked_through() -> None:
    model = Whole()
    with pytest.raises(UsageError, match=r"'recurrent' must be .* Got test_adapt_like.Doubled"):
        adapted(model, recurrent=Doubled(model.rnn))
    with pytest.raises(UsageError, match=r"'embedding' must be an nn.Embedding"):
        adapted(model, embedding=Doubled(model.table))
    with pytest.raises(UsageError, match=r"does not compute what 'like' \(Doubled\)"):
        adapted(model, like=Doubled(nn.Sequential(Whole(**{"as": lambda logits, end: logits}))))


def test_a_forward_that_was_put_on_a_module_is_refused() -> None:
    model = Whole()
    model.rnn.forward = lambda *given: given
    with pytest.raises(UsageError, match=r"'recurrent' is a .*LSTM with a forward\(\) of its own"):
        adapted(model)


@pytest.mark.parametrize("between", [{"norm": True}, {"scale": 1.01}, {"start": True}])
def test_as_a_whole_the_model_needs_no_parts(between: dict[str, Any]) -> None:
    model = Whole(**between)
    check_model(rote.adapt(model, example=TOKENS), like=model)


def test_nothing_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'recurrent' must be an nn.RNN"):
        rote.adapt()


# Readouts that are no Linear.


class Adjusted(nn.Linear):
    def forward(self, states: Tensor) -> Tensor:
        return super().forward(states).tanh()


class Gain(nn.Module):
    """A float and a tensor that are no parameters, a buffer, and a forward that sets an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.shift = 3.0, torch.ones(OUTPUTS)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, states: Tensor) -> Tensor:
        self.last = states
        self.seen += 1
        return self.weight * states + self.shift


class ReadInRows(nn.Module):
    """A user's model that reads all steps as rows."""

    def __init__(self, parts: Whole, readout: nn.Module) -> None:
        super().__init__()
        self.parts, self.readout = parts, readout

    def of_vectors(self, vectors: Tensor) -> Tensor:
        hidden = self.parts.rnn(vectors)[0]
        logits: Tensor = self.readout(hidden.flatten(0, 1)).view(*hidden.shape[:2], -1)
        return logits

    def forward(self, tokens: Tensor) -> Tensor:
        return self.of_vectors(self.parts.table(tokens))


def readouts() -> dict[str, nn.Module]:
    torch.manual_seed(1)
    made = {
        "norm": nn.Sequential(nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, OUTPUTS)),
        "mlp": nn.Sequential(nn.Linear(HIDDEN, 6), nn.Dropout(0.5), nn.Tanh(), nn.Linear(6, OUTPUTS)),
        "batch norm": nn.Sequential(nn.BatchNorm1d(HIDDEN), nn.Linear(HIDDEN, OUTPUTS)),
        "own forward": Adjusted(HIDDEN, OUTPUTS),
        "computed weight": nn.utils.parametrizations.spectral_norm(nn.Linear(HIDDEN, OUTPUTS)),
        "own module": nn.Sequential(nn.Linear(HIDDEN, OUTPUTS), Gain()),
    }
    with torch.no_grad():
        made["batch norm"][0].running_mean.uniform_(-1, 1)  # type: ignore[index, union-attr]
    return {name: module.double() for name, module in made.items()}


@pytest.mark.parametrize("name", readouts())
def test_any_readout_of_single_steps_gives_logits_and_gradients_of_the_whole(name: str) -> None:
    readout, model = readouts()[name], Whole()
    users = ReadInRows(model, readout)
    with untouched(users):  # in training mode, with dropout and running averages
        made = adapted(model, readout=readout, like=users)
        found = rote.trace(made, TOKENS)
        reach = rote.connectivity(made, TOKENS, of="log_probability")
        assert float(reach.error.max()) < 1e-12
        flow = rote.gradient_flow(made, TOKENS, at=3, terms=True)
        assert made.output_size == OUTPUTS
        check_model(made)
    users.eval()
    assert "compared with ReadInRows" in repr(made)
    torch.testing.assert_close(found.logits, users(TOKENS).detach(), rtol=0, atol=1e-13)
    assert_right(reach, users.of_vectors, TOKENS, model.table.weight, torch.tensor([5, 5]))
    logits = users(TOKENS)[:, 3]
    loss = cross_entropy(logits, logits.argmax(-1), reduction="sum")
    (expected,) = torch.autograd.grad(loss, [model.rnn.weight_hh_l1])
    assert flow.terms is not None
    torch.testing.assert_close(flow.terms[1]["weight_hh"].sum(0), expected, rtol=0, atol=1e-12)


def test_dropout_beside_a_linear_readout_leaves_it_linear() -> None:
    model = Whole()
    made = adapted(model, readout=nn.Sequential(nn.Dropout(0.5), model.head, nn.Identity()))
    assert made.linear_readout is model.head
    assert adapted(model, readout=nn.Sequential(model.head, nn.ReLU()), like=None).linear_readout is None


class OverTime(nn.Module):
    def forward(self, states: Tensor) -> Tensor:
        return states - states.mean(-2, keepdim=True)


class OverTimeOnly(nn.Module):
    """As a function of rows it is harmless; of [batch, time, unit] it is not."""

    def forward(self, states: Tensor) -> Tensor:
        return states.cumsum(1) if states.dim() == 3 else states


@pytest.mark.parametrize(
    ("readout", "told"),
    [
        (OverTime(), r"'readout' \(OverTime\) must act on each step by itself"),
        (OverTimeOnly(), r"'readout' \(OverTimeOnly\) must act on each step by itself"),
        (nn.Softmax(0), r"'readout' \(Softmax\) must act on each step by itself"),
        (nn.GRU(HIDDEN, OUTPUTS).double(), r"'readout' \(GRU\) must give torch.float64 \[row, output\].* Got tuple"),
        (nn.Flatten(0), r"'readout' \(Flatten\) must give .* Got torch.float64 \(24,\)"),
        (nn.Sequential(nn.Linear(7, 2), nn.Tanh()).double(), r"'readout' \(Sequential\) must take .* \[row, 4\]. It "),
        (nn.Sequential(nn.Linear(4, 2), nn.Tanh()), "The weights of the model must agree in dtype"),
        (nn.Sequential(prune.identity(nn.Linear(4, 2).double(), "weight")), "'weight' of 'readout' is computed"),
    ],
)  # fmt: skip
def test_a_readout_of_more_than_one_step_is_refused(readout: nn.Module, told: str) -> None:
    model = Whole()
    with untouched(model, readout), pytest.raises(UsageError, match=told):
        adapted(model, readout=readout, like=None)


def test_a_model_with_a_readout_that_is_not_linear_can_be_cut_and_mixed() -> None:
    model = Whole()
    made = adapted(model, readout=readouts()["mlp"], like=None)
    pruned = rote.prune(made, 0.5)
    hidden = rote.trace(pruned, TOKENS).hidden[1]
    assert int(hidden.flatten(0, 1).any(0).sum()) == HIDDEN // 2
    mixed = rote.substitute(pruned, "readout", made)
    for ours, theirs in zip(mixed.readout.parameters(), made.readout.parameters(), strict=True):  # type: ignore[union-attr]
        assert torch.equal(ours, theirs)
