"""Connectivity through a model's own forward pass: equal to ``connectivity`` where both are possible, and beyond."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from result_checks import assert_draws
from torch import Tensor, nn

from rote.analyses import connectivity
from rote.errors import UsageError
from rote.models import adapt
from rote.testing.untouched import untouched

INPUT, HIDDEN, TIME, OUTPUTS = 3, 4, 6, 5


class Own(nn.Module):
    """Modules that ``adapt`` can also take, behind a forward pass that Rote sees nothing of."""

    def __init__(self, kind: str, both: bool, vocabulary: int = 7) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, INPUT)
        module: Any = getattr(nn, kind)
        self.recurrent = module(INPUT, HIDDEN, num_layers=2, bidirectional=both, batch_first=True)
        self.readout = nn.Linear(HIDDEN * (2 if both else 1), OUTPUTS)
        self.double()

    def forward(self, vectors: Tensor) -> Tensor:
        outputs: Tensor = self.readout(self.recurrent(vectors)[0])
        return outputs

    def adapted(self) -> Any:
        return adapt(recurrent=self.recurrent, embedding=self.embedding, readout=self.readout)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("both", [False, True], ids=["forward", "both ways"])
def test_it_equals_connectivity_for_every_question_so_no_copy_is_asked_about_another_ones_output(
    kind: str, both: bool
) -> None:
    model = Own(kind, both)
    tokens, lengths = torch.randint(7, (4, TIME)), torch.tensor([6, 2, 6, 1])
    vectors = model.embedding(tokens).detach()
    chunks = iter((1, 2, 3, 5, 8, 32) * 2)
    for norm in ("l2", "squared", "signed"):
        for of in ("logit", "log_probability"):
            for table in (None, model.embedding):
                question: Any = {
                    "lengths": lengths, "norm": norm, "of": of, "wrt": "embedding" if table is None else "one_hot"
                }  # fmt: skip
                expected = connectivity(model.adapted(), tokens, **question)
                with untouched(model):
                    found = connectivity(
                        model, vectors, embedding=table, causal=not both, chunk=next(chunks), **question
                    )
                    assert torch.allclose(found.values, expected.values, rtol=1e-11, atol=1e-14)
                    assert float(found.error.max()) < 1e-11
                assert torch.equal(found.targets, expected.targets)
                assert torch.equal(found.mask, expected.mask)
                assert (found.wrt, found.causal) == (expected.wrt, expected.causal)
                assert (found.values[expected.values == 0] == 0).all()


@pytest.mark.parametrize("vocabulary", [2, 7, 50])
def test_given_targets_and_any_vocabulary(vocabulary: int) -> None:
    model = Own("GRU", False, vocabulary)
    tokens, targets = torch.randint(vocabulary, (2, TIME)), torch.randint(OUTPUTS, (2, TIME))
    expected = connectivity(model.adapted(), tokens, targets)
    vectors = model.embedding(tokens)
    for table in (model.embedding, model.embedding.weight):
        found = connectivity(model, vectors, targets, embedding=table)
        assert torch.allclose(found.values, expected.values, rtol=1e-11, atol=1e-14)
        assert torch.equal(found.targets, targets)
    assert len(assert_draws(found)) > 1000


def test_a_model_that_is_not_recurrent_at_all_against_its_own_jacobian() -> None:
    convolution = nn.Conv1d(INPUT, OUTPUTS, 3, padding=1).double()

    def forward(vectors: Tensor) -> Tensor:
        outputs: Tensor = convolution(vectors.transpose(1, 2)).transpose(1, 2).tanh()
        return outputs

    vectors = torch.randn(1, TIME, INPUT, dtype=torch.float64)
    targets = torch.randint(OUTPUTS, (1, TIME))
    with torch.no_grad():
        found = connectivity(forward, vectors, targets)
    jacobian: Tensor = torch.autograd.functional.jacobian(forward, vectors)[0, :, :, 0]
    expected = jacobian[torch.arange(TIME), targets[0]].norm(dim=-1)
    assert torch.allclose(found.values[0], expected, atol=1e-14)
    assert (found.values[0, 0, 2:] == 0).all()


def test_the_error_shows_a_model_that_looks_ahead_though_it_was_called_causal_and_one_that_mixes_its_batch() -> None:
    vectors = torch.randn(2, TIME, INPUT, dtype=torch.float64)
    ahead = connectivity(Own("GRU", True), vectors, causal=True)
    assert float(ahead.error.max()) > 1e-3
    mixing = connectivity(lambda x: x + x.mean(0, keepdim=True), vectors)
    assert float(mixing.error.max()) > 1e-3


def wrong(message: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(UsageError) as raised:
        connectivity(*arguments, **options)
    assert message in str(raised.value)


class OfTokens(nn.Module):
    """The same from tokens on; its recurrent layer may take time first."""

    def __init__(self, time_first: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, INPUT)
        self.gru = nn.GRU(INPUT, HIDDEN, 2, dropout=dropout, batch_first=not time_first)
        self.readout = nn.Linear(HIDDEN, OUTPUTS)
        self.time_first = time_first
        self.double()

    def forward(self, tokens: Tensor) -> Tensor:
        if self.time_first:
            turned: Tensor = self.readout(self.gru(self.embed(tokens.T))[0]).transpose(0, 1)
            return turned
        outputs: Tensor = self.readout(self.gru(self.embed(tokens))[0])
        return outputs

    def adapted(self) -> Any:
        gru = nn.GRU(INPUT, HIDDEN, 2, batch_first=True).double()
        gru.load_state_dict(self.gru.state_dict())
        return adapt(recurrent=gru, embedding=self.embed, readout=self.readout)


@pytest.mark.parametrize("time_first", [False, True], ids=["batch first", "time first"])
def test_a_model_of_tokens_is_asked_at_its_embedding_whichever_axis_comes_first(time_first: bool) -> None:
    model = OfTokens(time_first)
    # As many equal tokens as copies: only the layout tells a copy from a step.
    for tokens, lengths in (
        (torch.randint(7, (3, TIME)), [6, 2, 1]), (torch.full((1, TIME), 3), None), (torch.full((2, 1), 3), None)
    ):  # fmt: skip
        for norm in ("l2", "signed"):
            expected = connectivity(model.adapted(), tokens, lengths=lengths, norm=norm)
            with untouched(model):
                found = connectivity(model, tokens, lengths=lengths, norm=norm, causal=True, chunk=TIME)
                by_function = connectivity(
                    lambda x: 1.0 * model(x), tokens, lengths=lengths, norm=norm, embedding=model.embed
                )
                assert float(found.error.max()) < 1e-11
            for other in (found, by_function):
                assert torch.allclose(other.values, expected.values, rtol=1e-11, atol=1e-14)
                assert torch.equal(other.tokens, tokens)


def test_dropout_does_not_act_in_modules_and_functions_and_what_is_random_even_so_is_refused() -> None:
    model = OfTokens(dropout=0.5).train()
    model.readout.eval()  # a mode of its own, to be left as it is
    tokens = torch.randint(7, (2, TIME))
    expected = connectivity(model.adapted(), tokens)
    alike = (model, model.forward, nn.DataParallel(model), lambda x: 1.0 * model(x), partial(lambda x: 1.0 * model(x)))
    for asked in alike:
        with untouched(model):
            found = connectivity(asked, tokens, embedding=model.embed)
            assert float(found.error.max()) < 1e-11
        assert torch.allclose(found.values, expected.values, rtol=1e-11, atol=1e-14)
    with untouched(model):
        told = "other outputs when it is asked again, so that its gradients mean nothing. Is there dropout that acts in"
        wrong(told, lambda x: nn.functional.dropout(model(x)), tokens, embedding=model.embed)


class InTheStyleOfHuggingFace(nn.Module):
    """Two embeddings, an object with logits, and a cache that must not be asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens, self.embed_places = nn.Embedding(7, INPUT), nn.Embedding(9, INPUT)
        self.mix = nn.Linear(INPUT, INPUT)
        self.double()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embed_tokens

    def forward(self, input_ids: Tensor, use_cache: bool = True) -> Any:
        assert not use_cache
        vectors = 2.0 * self.embed_tokens(input=input_ids.view(-1, input_ids.shape[-1]))
        mixed = self.mix(vectors + self.embed_places(torch.arange(input_ids.shape[1]))).cumsum(1).tanh()
        self.last = mixed  # is not left behind
        return SimpleNamespace(logits=mixed @ self.embed_tokens.weight.T)  # tied


def test_a_module_in_the_style_of_hugging_face_as_it_is_against_the_jacobian_of_its_one_hot_inputs() -> None:
    model = InTheStyleOfHuggingFace()
    tokens = torch.randint(7, (1, TIME))

    def of_one_hot(one_hot: Tensor) -> Tensor:
        vectors = 2.0 * one_hot @ model.embed_tokens.weight.detach()
        mixed = model.mix(vectors + model.embed_places.weight[:TIME]).cumsum(1).tanh()
        logits: Tensor = mixed @ model.embed_tokens.weight.detach().T
        return logits

    one_hot = nn.functional.one_hot(tokens, 7).double()
    jacobian: Tensor = torch.autograd.functional.jacobian(of_one_hot, one_hot)[0, :, :, 0]
    with untouched(model):
        found = connectivity(model, tokens, causal=True)
    assert torch.equal(found.targets, of_one_hot(one_hot).argmax(-1))
    expected = jacobian[torch.arange(TIME), found.targets[0]].norm(dim=-1)
    assert torch.allclose(found.values[0], expected, atol=1e-13)
    assert found.choices == 7
    assert "target" in found.to_table("abcdefg").records()[0]
    assert found.to_table("abcdefg").records()[0]["target"] == "abcdefg"[int(found.targets[0, 0])]


def test_outputs_of_another_length_and_one_for_the_whole_sequence_against_the_jacobian() -> None:
    model = Own("GRU", True)
    tokens, lengths = torch.randint(7, (3, TIME)), torch.tensor([6, 3, 6])

    def longer(vectors: Tensor) -> Tensor:  # two more outputs than inputs
        return torch.cat([model(vectors), model(vectors.flip(1))[:, :2]], dim=1)

    def pooled(vectors: Tensor) -> Tensor:
        return model(vectors).max(1).values

    for forward, steps in ((longer, [8, 5, 8]), (pooled, [1, 1, 1])):
        found = connectivity(lambda x, f=forward: f(model.embedding(x)), tokens, lengths=lengths, chunk=3,
                             embedding=model.embedding, wrt="embedding")  # fmt: skip
        assert found.values.shape == (3, max(steps), TIME)
        assert found.output_mask.sum(1).tolist() == steps
        assert float(found.error.max()) < 1e-11
        for row, length in enumerate(lengths.tolist()):
            vectors = model.embedding(tokens[row : row + 1, :length]).detach()
            jacobian: Tensor = torch.autograd.functional.jacobian(forward, vectors)[0]
            jacobian = jacobian.reshape(steps[row], OUTPUTS, length, INPUT)
            expected = jacobian[torch.arange(steps[row]), found.targets[row, : steps[row]]].norm(dim=-1)
            assert torch.allclose(found.values[row, : steps[row], :length], expected, atol=1e-14)
            assert not found.values[row, steps[row] :].any()
        assert len(found.to_table().rows) == sum(a * b for a, b in zip(steps, lengths.tolist(), strict=True))
        assert len(assert_draws(found)) > 1000
    targets = torch.tensor([0, 4, 2])
    given = connectivity(lambda x: pooled(model.embedding(x)), tokens, targets, embedding=model.embedding)
    assert given.targets.tolist() == [[0], [4], [2]]
    single = connectivity(lambda x: pooled(model.embedding(x)).float(), tokens, targets, embedding=model.embedding)
    torch.testing.assert_close(single.values, given.values)  # as Mamba's logits: of another dtype than its weights


def test_wrong_input_is_refused_with_the_argument_the_value_and_the_remedy() -> None:
    model = Own("LSTM", False)
    vectors = torch.randn(2, TIME, INPUT, dtype=torch.float64)
    targets = torch.zeros(2, TIME, dtype=torch.long)
    tokens = torch.randint(7, (2, TIME))
    wrong("'tokens' is empty: (0, 6, 3).", model, vectors[:0])
    wrong("'tokens' has NaN or infinite values, the first at (0, 0, 0);", model, vectors / 0)
    wrong("'tokens' must be a tensor or a PackedSequence. Got list.", model, tokens.tolist())
    wrong("'tokens' must lie in 0 to 6, the embedding's rows. Got 7.", OfTokens(), tokens * 0 + 7)
    narrow = torch.ones(7, 4)
    wrong("[vocabulary, input=3] for wrt='one_hot'. Got torch.float32 (7, 4).", model, vectors, embedding=narrow)
    wrong("as embedding=model.embed. Got none, and there are 0 in 'model'.", lambda x: x, tokens)
    two = nn.ModuleList([nn.Embedding(3, 2), nn.Embedding(3, 2)])
    wrong("Got none, and there are 2 in 'model'.", two, tokens)
    wrong("as embedding=model.embed. Got torch.float32 (7, 4).", OfTokens(), tokens, embedding=narrow)
    wrong("does not look its tokens up by calling 'embedding'.", OfTokens(), tokens, embedding=nn.Embedding(7, 3))
    wrong("'chunk' must be a whole number of at least 1. Got 0.", model, vectors, chunk=0)
    wrong("'initial' is for models that rote.adapt gives.", model, vectors, initial=vectors)
    wrong("'targets' must lie in 0 to 4, the outputs of the model. Got 5.", model, vectors, targets + 5)
    wrong("'lengths' must lie in 1 to 6, the steps of the tensor. Got 7.", model, vectors, lengths=[7, 2])
    wrong("the first of several, or 'logits'. For inputs (1, 6, 3) it gives tuple.", lambda x: (None, x), vectors)
    wrong("For inputs (1, 6, 3) it gives torch.float64 (6, 3).", lambda x: x[0], vectors)
    wrong("one number for each step, or 6 for each sequence? Say lambda", lambda x: x.sum(-1), vectors)
    wrong(
        "'causal' is for models with an output for each input. For 6 inputs", lambda x: x[:, :2], vectors, causal=True
    )
    wrong("'model' gives NaN for the first of the longest", lambda x: x * float("nan"), vectors)
    wrong("do not depend on its inputs by anything that torch could", lambda x: model(x.detach()), vectors)
    wrong("do not depend on its inputs by anything that torch could", torch.no_grad()(model.forward), vectors)
    wrong("'norm' must be 'l2', 'squared' or 'signed'. Got 'l1'.", model, vectors, norm="l1")
