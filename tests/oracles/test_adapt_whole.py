"""rote.adapt(model): modules as users write them are found whole, and compute what they computed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from users_models import TOKENS, WHOLE, WORDS, LanguageModel, LinearAttention, Packed, Residual, Sampled, Translator
from users_models import Transformer as OwnTransformer

import rote
from rote.errors import UsageError
from rote.models.capabilities import capabilities_of
from rote.models.traced.build import TracedModel
from rote.models.traced.own_forward import OwnForward
from rote.testing import untouched


def made(kind: Any) -> nn.Module:
    torch.manual_seed(0)
    return kind().double()  # in training mode, with dropout


def own_logits(name: str, model: nn.Module, tokens: Tensor) -> Tensor:
    """What the module itself gives, as logits [batch, step, output], by its own forward."""
    found = model.eval()(tokens)
    found = found[0] if isinstance(found, tuple) else found["logits"] if isinstance(found, dict) else found
    if name == "LanguageModel":
        found = found.view(tokens.shape[1], tokens.shape[0], WORDS).transpose(0, 1)
    if name == "LastState":
        found = found.logit()
    return found[:, None] if found.dim() == 2 else found


@pytest.mark.parametrize("name", WHOLE)
def test_every_kind_is_found_whole_and_computes_what_the_module_does(name: str) -> None:
    model = made(WHOLE[name])
    with untouched(model):
        adapted = rote.adapt(model, example=TOKENS)
    assert isinstance(adapted, TracedModel), adapted
    tokens = TOKENS.roll(2, 1)[:, :5]  # neither the example nor its length
    ours, theirs = adapted.eval()(tokens), own_logits(name, model, tokens)
    ours = ours.log_softmax(-1) if adapted.ending == "log_softmax" else ours
    torch.testing.assert_close(ours[:, -theirs.shape[1] :], theirs, atol=1e-12, rtol=1e-12)
    owned = {weight.data_ptr() for weight in model.parameters()}
    large = [weight for weight in adapted.parameters() if weight.numel() > WORDS and name != "Normed"]
    assert all(weight.data_ptr() in owned for weight in large if weight.dim() == 2 and weight.requires_grad)


@pytest.mark.parametrize("name", sorted(set(WHOLE) - {"OneHot", "LookedUpInLoop"}))  # no table that is read at once
def test_connectivity_is_that_of_the_modules_own_forward(name: str) -> None:
    model = made(WHOLE[name])
    adapted = rote.adapt(model, example=TOKENS)
    of: Any = "log_probability" if adapted.ending == "log_softmax" else "logit"
    reach = rote.connectivity(adapted, TOKENS, of=of)
    table = next(part for part in model.modules() if isinstance(part, nn.Embedding))
    steps = slice(-1, None) if adapted.last_only else slice(None)
    expected = rote.connectivity(
        lambda tokens: own_logits(name, model, tokens), TOKENS, reach.targets[:, steps], embedding=table
    )
    torch.testing.assert_close(reach.values[:, steps], expected.values, atol=1e-10, rtol=1e-9)


@pytest.mark.parametrize("name", WHOLE)
def test_parts_add_up_to_the_logits_and_trace_has_every_layer(name: str) -> None:
    model = made(WHOLE[name])
    adapted = rote.adapt(model, example=TOKENS)
    parts = rote.decompose(adapted, TOKENS, spans=[(1, 2), (0, TOKENS.shape[1] - 1)])
    both = parts.logits(bias=True) + parts.logits(irrelevant=True)
    logits = adapted.eval()(TOKENS)
    torch.testing.assert_close(both, logits[:, None].expand_as(both), atol=1e-10, rtol=1e-9)
    assert not parts.irrelevant[:, 1].any() or name in ("LearnedStart", "WrittenLoop")  # what comes from the start
    assert not parts.relevant[:, 0, 0].any() or adapted.recurrent.directions == 2
    assert float(parts.error.max()) < 1e-9
    found = rote.trace(adapted, TOKENS)
    torch.testing.assert_close(found.logits, logits)
    layers = [part for part in model.modules() if isinstance(part, nn.RNNBase)]
    if layers:
        with torch.no_grad():
            sizes = {part.proj_size or part.hidden_size for part in layers}
        assert sizes <= {values.shape[-1] for values in found.hidden.values()}


def test_the_layers_of_a_residual_model_have_the_states_of_its_lstms() -> None:
    model = made(Residual)
    seen: list[Tensor] = []
    for block in model.blocks:
        block["rnn"].register_forward_hook(lambda module, given, found: seen.append(found[0]))
    model.eval()(TOKENS)
    found = rote.trace(rote.adapt(model, example=TOKENS), TOKENS)
    assert list(found.hidden) == [0, 1]
    for layer, expected in enumerate(seen[:2]):
        torch.testing.assert_close(found.hidden[layer], expected.detach())
    assert set(found.gates[1]) == {"input", "forget", "candidate", "output"}
    assert "cell" in found.states[0]


@pytest.mark.parametrize("name", WHOLE)
def test_training_that_goes_on_is_seen_in_what_is_computed_from_weights_too(name: str) -> None:
    model = made(WHOLE[name])
    adapted = rote.adapt(model, example=TOKENS)
    before = rote.trace(adapted, TOKENS).logits
    copied = copy.deepcopy(adapted)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    found = rote.trace(adapted, TOKENS).logits
    assert float((found - before).abs().max()) > 1e-3
    ours, theirs = adapted.eval()(TOKENS), own_logits(name, model, TOKENS)
    torch.testing.assert_close(found, ours)
    ours = ours.log_softmax(-1) if adapted.ending == "log_softmax" else ours
    torch.testing.assert_close(ours[:, -theirs.shape[1] :], theirs, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(rote.trace(copied, TOKENS).logits, before)  # a copy stays as it was


def test_a_copy_that_is_retrained_leaves_the_module_alone() -> None:
    model, donor = made(Residual), made(Residual)
    adapted = rote.adapt(model, example=TOKENS)

    def shrink(whole: nn.Module, frozen: list[str]) -> None:
        with torch.no_grad():
            for name, weight in whole.named_parameters():
                if name not in frozen:
                    weight.mul_(0.5)

    with untouched(model):
        mixed = rote.substitute(adapted, "embedding", rote.adapt(donor, example=TOKENS), shrink)
        found = rote.trace(mixed, TOKENS).logits
    assert float((found - rote.trace(adapted, TOKENS).logits).abs().max()) > 1e-3


def test_what_was_found_is_printed_in_order() -> None:
    lines = [line.strip() for line in repr(rote.adapt(made(Residual), example=TOKENS)).splitlines()]
    assert lines[1:9] == [
        "embedding: 11 symbols as vectors of 6",
        "blocks.0.norm: root mean square norm",
        "blocks.0.rnn: LSTMCell, 6 -> 6",
        "sum",
        "blocks.0.norm2: layer norm",
        "blocks.0.mlp.0: linear map, 6 -> 8",
        "blocks.0.mlp.1: silu",
        "blocks.0.mlp.2: linear map, 8 -> 6",
    ]
    assert "head: linear map, 6 -> 11" in lines
    assert lines[-2].startswith("compared with Residual: largest difference")


def test_lengths_and_vectors_and_a_function_that_calls() -> None:
    packed, lengths = made(Packed), torch.tensor([6, 4, 2])
    adapted = rote.adapt(packed, example=(TOKENS, lengths))
    assert isinstance(adapted, TracedModel)
    ours, theirs = rote.trace(adapted, TOKENS, lengths=lengths).logits, packed(TOKENS, lengths)
    for row, count in enumerate(lengths.tolist()):
        torch.testing.assert_close(ours[row, :count], theirs[row, :count].detach())
    by_call = rote.adapt(packed, example=TOKENS, call=lambda module, tokens: module(tokens, torch.tensor([6, 6, 6])))
    torch.testing.assert_close(rote.trace(by_call, TOKENS).logits, packed(TOKENS, torch.tensor([6, 6, 6])).detach())
    sampled, frames = made(Sampled), torch.randn(3, 7, 3).double()
    torch.testing.assert_close(
        rote.trace(rote.adapt(sampled, example=frames), frames).logits.mT, sampled(frames).detach()
    )


KNOW_PADDING = ("MaskedMean", "PackedInside", "LastCounted", "LastGathered")
PADDED, COUNTED = TOKENS.clone(), torch.tensor([6, 4, 3])
PADDED[1, 4:], PADDED[2, 3:] = 0, 0


@pytest.mark.parametrize("name", KNOW_PADDING)
@pytest.mark.parametrize("example", [TOKENS, PADDED])
def test_padding_that_a_module_leaves_out_is_left_out_by_lengths(name: str, example: Tensor) -> None:
    model = made(WHOLE[name]).eval()
    adapted = rote.adapt(model, example=example)
    assert adapted.padding == {0}
    assert "padding: 0, left out by lengths=..." in repr(adapted)
    ours = rote.trace(adapted, PADDED, lengths=COUNTED).logits[torch.arange(3), COUNTED - 1]
    torch.testing.assert_close(ours, model(PADDED).detach())
    for analysis in (
        adapted,
        lambda tokens: rote.trace(adapted, tokens),
        lambda tokens: rote.connectivity(adapted, tokens),
    ):
        with pytest.raises(UsageError, match=r"Give lengths=\[6, 4, 3\]"):
            analysis(PADDED)
    with pytest.raises(UsageError, match=r"takes 0 for padding, and row 1 has it at step 2. .* at the end"):
        rote.trace(adapted, torch.tensor([[1, 2, 3, 4], [1, 2, 0, 4]]))


def test_a_last_step_by_lengths_that_are_given() -> None:
    class ByLengths(WHOLE["LastCounted"]):  # type: ignore[misc]
        def forward(self, x: Tensor, lengths: Tensor) -> Any:
            return self.fc(self.gru(self.emb(x))[0][torch.arange(len(x)), lengths - 1])

    model = made(ByLengths)
    adapted = rote.adapt(model, example=(TOKENS, COUNTED))
    ours = rote.trace(adapted, TOKENS, lengths=COUNTED).logits[torch.arange(3), COUNTED - 1]
    torch.testing.assert_close(ours, model(TOKENS, COUNTED).detach())


class MaskedBefore(nn.Module):
    """Its backward direction starts in the padding, with vectors of zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.out = nn.Embedding(WORDS, 4), nn.Linear(10, 3)
        self.rnn = nn.GRU(4, 5, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.out(self.rnn(self.emb(x) * (x != 0).unsqueeze(-1))[0])
        return found


def test_padding_that_acts_is_not_taken_for_steps_that_do_not_count() -> None:
    model = made(MaskedBefore)
    adapted = rote.adapt(model, example=TOKENS)
    torch.testing.assert_close(rote.trace(adapted, TOKENS).logits, model(TOKENS).detach())
    assert "padding: 0, which is not taken" in repr(adapted)
    with pytest.raises(UsageError, match=r"takes 0 for padding, and row 1 has it at step 4. Give rows without padding"):
        rote.trace(adapted, PADDED, lengths=COUNTED)


def test_a_way_that_depends_on_the_number_of_steps_is_found_out() -> None:
    class Turning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.emb, self.rnn, self.out = nn.Embedding(WORDS, 4), nn.GRU(4, 4, batch_first=True), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> Any:
            states = self.rnn(self.emb(x))[0]
            return self.out(-states if x.shape[1] > 9 else states)

    with pytest.raises(UsageError, match=r"does not compute what it does: .* on inputs \(3, 12\)"):
        rote.adapt(made(Turning), example=TOKENS)


def test_weights_without_values_are_named() -> None:
    model = made(Residual)
    with torch.no_grad():
        model.final.weight[2] = torch.nan
    with pytest.raises(UsageError, match=r"'final.weight' of 'model' \(Residual\) has NaN or infinite values"):
        rote.adapt(model, example=TOKENS)


def test_wrappers_are_unwrapped_and_an_example_is_made_from_the_embedding() -> None:
    model = made(LanguageModel)
    assert isinstance(rote.adapt(nn.DataParallel(nn.DataParallel(model))), TracedModel)


@pytest.mark.parametrize("kind", [OwnTransformer, LinearAttention])
def test_what_cannot_be_taken_apart_is_looked_at_through_its_own_forward(kind: Any) -> None:
    model = made(kind)
    adapted = rote.adapt(model, example=TOKENS)
    assert isinstance(adapted, OwnForward)
    assert capabilities_of(adapted) == ("logits", "states")
    reach = rote.connectivity(adapted, TOKENS)
    torch.testing.assert_close(reach.values, rote.connectivity(model, TOKENS).values)
    states = rote.trace(adapted, TOKENS).hidden[0]
    assert rote.diagnose(states, TOKENS % 2).accuracy >= 0
    with pytest.raises(UsageError, match=f"rote.decompose needs 'arithmetic' .* because of {adapted.reason[:20]}"):
        rote.decompose(adapted, TOKENS, spans=[(0, 1)])
    assert f"not taken apart: {adapted.reason}" in repr(adapted)


def test_a_translator_is_seen_from_both_sides() -> None:
    model, target = made(Translator), TOKENS.flip(1)[:, :4]
    adapted = rote.adapt(model, example=(TOKENS, target))
    assert isinstance(adapted, OwnForward)
    source, output = rote.connectivity(adapted, TOKENS), rote.connectivity(adapted.side(1), target)
    assert source.values.shape == (3, 4, 6)
    assert output.values.shape == (3, 4, 4)
    vectors = model.source(TOKENS).detach().requires_grad_()
    keys, last = model.encoder(vectors)
    states, _ = model.decoder(model.target(target), last)
    logits = model.out(torch.cat([states, (states @ keys.mT).softmax(-1) @ keys], -1))
    chosen = logits[0, 2].max()
    (gradient,) = torch.autograd.grad(chosen, vectors)
    expected = (gradient[0] @ model.source.weight.detach().T).norm(dim=-1)
    torch.testing.assert_close(source.values[0, 2], expected)
    assert not output.values.triu(1).any()  # its decoder does not look ahead
    with pytest.raises(UsageError, match=r"model.side\(0, inputs"):
        rote.connectivity(adapted, TOKENS.roll(1, 1))
    other = adapted.side(0, TOKENS.roll(1, 1), target)
    assert rote.connectivity(other, TOKENS.roll(1, 1)).values.shape == (3, 4, 6)


class Wrong(nn.Module):
    """Computes something else than its operations say: a tensor is changed behind torch's back."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.rnn, self.norm = nn.Embedding(WORDS, 4), nn.GRU(4, 4, batch_first=True), nn.LayerNorm(4)
        self.out = nn.Linear(4, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(self.rnn(self.emb(x))[0])
        return self.out(h)


class Spoiled(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        found = super().forward(x)
        found.data.mul_(1.5)
        return found


def test_a_module_that_does_something_unseen_is_refused_with_its_name() -> None:
    model = made(Wrong)
    model.norm = Spoiled(4).double()
    with pytest.raises(UsageError, match=r"\(Wrong\) does not compute what it does: they differ by .* first in 'norm'"):
        rote.adapt(model, example=TOKENS)


class Own(nn.Module):
    """What users get wrong, in one module."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.emb, self.rnn, self.out = nn.Embedding(WORDS, 4), nn.GRU(4, 4, batch_first=True), nn.Linear(4, WORDS)

    def forward(self, x: Tensor, *more: Any) -> Any:
        h, _ = self.rnn(self.emb(x))
        if self.way == "dropout":
            h = functional.dropout(h, 0.5)
        if self.way == "noise":
            h = h + torch.randn(4)
        if self.way == "branch" and h.mean() > 0:
            h = -h
        if self.way == "arguments":
            h = h * more[0]
        return {"tags": h} if self.way == "form" else self.out(h)


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("dropout", "Dropout acts in eval mode in 'the forward'.*training=self.training"),
        ("noise", "gives other outputs when it is called again"),
        ("arguments", r"\(Own\) failed on inputs .*Its forward takes x, more.*call=lambda model, tokens"),
        ("form", r"must give a tensor, \(tensor, ...\) or an object with 'logits'. Got dict. .*call="),
    ],
)
def test_what_cannot_be_run_or_repeated_is_refused_in_one_line(way: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        rote.adapt(Own(way), example=TOKENS)
    assert "\n" not in str(caught.value)


def test_a_way_that_depends_on_values_is_not_taken_for_all_inputs() -> None:
    adapted = rote.adapt(Own("branch"), example=TOKENS)
    with pytest.raises(UsageError, match=r"because of a way through the forward that depends on values \(__bool__"):
        rote.decompose(adapted, TOKENS, spans=[(0, 1)])
    assert rote.connectivity(adapted, TOKENS).values.shape == (3, 6, 6)


def test_bad_arguments_are_told() -> None:
    model = made(LanguageModel)
    for options, told in (
        ({"example": "text"}, "'example' must be a tensor of inputs"),
        ({"example": TOKENS[:, :2]}, "'example' must have at least 3 steps"),
        ({"example": torch.zeros(3, 2, 4, 4)}, r"'example' must be tokens \[batch, time\]"),
        ({"like": model}, "a whole model, or its parts by keyword"),
    ):
        with pytest.raises(UsageError, match=told):
            rote.adapt(model, **options)
    with pytest.raises(UsageError, match="'example' must be given"):
        rote.adapt(made(Sampled))
    with pytest.raises(UsageError, match=r"'model' must be an nn.Module. Got function"):
        rote.adapt(lambda x: x, example=TOKENS)
    with pytest.raises(UsageError, match="on the meta device"):
        rote.adapt(LanguageModel().to("meta"), example=TOKENS)
    with pytest.raises(UsageError, match="has no weights"):
        rote.adapt(nn.ReLU(), example=torch.randn(2, 4, 3))
    with pytest.raises(UsageError, match="'call' says how a whole model is called"):
        rote.adapt(recurrent=nn.GRU(3, 4), call=lambda m, x: m(x))


class Rounded(nn.Identity):
    """Changed by a little behind torch's back, as another way of computing would."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        found = x * 1.0
        found.data.mul_(1 + self.share)
        return found


class Deep(nn.Module):
    """Layers that make much of every difference if their weights are large."""

    def __init__(self, gain: float, share: float) -> None:
        super().__init__()
        self.words, self.rounded = nn.Embedding(20, 24), Rounded(share)
        self.layers = nn.ModuleList(nn.RNN(24, 24, batch_first=True) for _ in range(4))
        with torch.no_grad():
            for layer in self.layers:
                layer.weight_hh_l0.mul_(gain)

    def forward(self, tokens: Tensor) -> Tensor:
        vectors = self.rounded(self.words(tokens))
        for layer in self.layers:
            vectors = layer(vectors)[0]
        return vectors


def test_rounding_of_a_model_that_makes_much_of_it_is_told_from_a_fault() -> None:
    tokens = torch.randint(0, 20, (3, 14), generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    adapted = rote.adapt(Deep(7.0, 2e-7), example=tokens)
    assert float(adapted.origin.split()[-1]) > 2e-5  # more than a calm model is allowed
    for gain, share in ((7.0, 1e-3), (1.0, 3e-4)):
        torch.manual_seed(0)
        with pytest.raises(UsageError, match="does not compute what it does"):
            rote.adapt(Deep(gain, share), example=tokens)


@pytest.mark.filterwarnings("ignore")  # torch deprecates its quantization
def test_a_quantized_model_is_refused() -> None:
    model = nn.Sequential(nn.Embedding(WORDS, 4), nn.Linear(4, 3))
    with pytest.raises(UsageError, match=r"'1' is quantized \(Linear\).* Load the model without quantization"):
        rote.adapt(torch.ao.quantization.quantize_dynamic(model, {nn.Linear}), example=TOKENS)


class HalfCompiled(nn.Module):
    """Has a part that torch.jit made."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.rnn = nn.Embedding(WORDS, 4), nn.GRU(4, 4, batch_first=True)
        self.out = torch.jit.script(nn.Linear(4, 3))

    def forward(self, x: Tensor) -> Any:
        return self.out(self.rnn(self.emb(x))[0])


@pytest.mark.filterwarnings("ignore")  # torch deprecates its jit
def test_what_torch_jit_has_made_is_not_followed() -> None:
    with pytest.raises(UsageError, match=r"was made by torch.jit, and cannot be followed. Give the module"):
        rote.adapt(torch.jit.script(nn.Sequential(nn.Embedding(WORDS, 4), nn.Linear(4, 3))), example=TOKENS)
    model = HalfCompiled()
    adapted = rote.adapt(model, example=TOKENS)
    assert isinstance(adapted, OwnForward)
    torch.testing.assert_close(adapted(TOKENS), model(TOKENS))


def test_tokens_that_there_is_no_row_for_are_told() -> None:
    with pytest.raises(UsageError, match=r"failed on tokens up to 60 in 6 steps, since its tables have 11 rows"):
        rote.adapt(made(Residual), example=TOKENS + 50)
    adapted = rote.adapt(made(WHOLE["Positional"]), example=TOKENS)
    with pytest.raises(UsageError, match=r"in 41 steps, since its tables have 11 and 40 rows"):
        rote.trace(adapted, torch.ones(1, 41, dtype=torch.int64))


def test_a_quantized_model_of_another_package_is_refused() -> None:
    weight = type("Packed", (nn.Parameter,), {"__module__": "torchao.dtypes"})(torch.ones(3, 4))
    model = nn.Sequential(nn.Embedding(WORDS, 4), nn.Linear(4, 3))
    model[1].weight = weight
    with pytest.raises(UsageError, match=r"'1.weight' is quantized \(Packed\)"):
        rote.adapt(model, example=TOKENS)
    model = nn.Sequential(nn.Embedding(WORDS, 4), nn.Linear(4, 3))
    model.is_quantized = True
    with pytest.raises(UsageError, match=r"^The model is quantized \(Sequential\)"):
        rote.adapt(model, example=TOKENS)


def test_a_sharded_model_is_refused() -> None:
    """A weight of torch's own sharding, over one process."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = nn.Sequential(nn.Embedding(WORDS, 4), nn.Linear(4, 3))
        mesh = init_device_mesh("cpu", (1,))
        model[1].weight = nn.Parameter(distribute_tensor(model[1].weight.detach(), mesh, [Shard(0)]))
        with pytest.raises(UsageError, match=r"'1.weight' of 'model' is sharded over machines. Gather it first"):
            rote.adapt(model, example=TOKENS)
    finally:
        dist.destroy_process_group()


class Hiding(nn.Module):
    """What its forward does is not all seen, or not on every input."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.emb, self.rnn, self.out = nn.Embedding(WORDS, 4), nn.GRU(4, 4, batch_first=True), nn.Linear(4, 3)
        if way == "weights of zero":
            nn.init.zeros_(self.out.weight)

    def forward(self, x: Tensor) -> Any:
        e = self.emb(x)
        if self.way == "one token":
            e = e + _unseen(e)
        h = self.rnn(e)[0]
        if (self.way == "membership" and 7 in x) or (self.way == "one sequence" and len(x) == 1):
            h = -h
        if (self.way == "array" and np.asarray(x).max() > 8) or (self.way == "many steps" and x.shape[1] > 20):
            h = -h
        if self.way == "weights of zero":
            h.data.mul_(2)
        if self.way == "noise":
            h = (h @ h.mT).softmax(-1) @ h + torch.randn_like(h)
        return self.out(h[:, :20] if self.way == "truncates" else h)


def _unseen(e: Tensor) -> Tensor:
    """A function of what it is given in which torch's functions are not followed."""
    with torch._C.DisableTorchFunction():
        return e.sigmoid()


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("one token", r"on inputs \(2, 12\); its example has 6 steps"),
        ("one sequence", r"on inputs \(1, 5\)"),
        ("weights of zero", "gives the same outputs, but not the same in 'rnn'"),
        ("noise", "gives other outputs when it is called again"),
    ],
)
def test_what_the_example_does_not_show_is_refused_at_once(way: str, told: str) -> None:
    torch.manual_seed(0)
    example = torch.zeros(1, 6, dtype=torch.int64) if way == "one token" else TOKENS
    with pytest.raises(UsageError, match=told):
        rote.adapt(Hiding(way), example=example)


@pytest.mark.parametrize("way", ["membership", "array"])
def test_numbers_that_leave_torch_are_ways_that_depend_on_values(way: str) -> None:
    adapted = rote.adapt(Hiding(way), example=TOKENS)
    assert isinstance(adapted, OwnForward)
    assert "a way through the forward that depends on values" in adapted.reason


@pytest.mark.parametrize(("way", "told"), [("many steps", "differ by up to"), ("truncates", r"it gives \(3, 20, 3\)")])
def test_every_new_number_of_steps_is_compared(way: str, told: str) -> None:
    torch.manual_seed(0)
    model = Hiding(way)
    adapted = rote.adapt(model, example=TOKENS)
    longer = TOKENS[:, torch.arange(21) % 6]
    torch.testing.assert_close(rote.trace(adapted, longer[:, :20]).logits, model(longer[:, :20]).detach())
    for _ in range(2):
        with pytest.raises(UsageError, match=told + r".* on inputs \(3, 21\); its example has 6 steps"):
            rote.decompose(adapted, longer, spans=[(0, 1)])


def test_neither_of_two_tables_is_taken_for_all_that_tokens_do() -> None:
    class Two(Hiding):
        def forward(self, x: Tensor) -> Any:
            return self.out(self.rnn(self.emb(x) + self.more(x))[0])

    model = Two("")
    model.more = nn.Embedding(WORDS, 4)
    adapted = rote.adapt(model, example=TOKENS)
    for analysis in (rote.connectivity, rote.erase):
        with pytest.raises(UsageError, match="looks its tokens up in 'emb' and 'more'"):
            analysis(adapted, TOKENS)
    assert rote.connectivity(adapted, TOKENS, embedding=adapted.module.emb).values.shape == (3, 6, 6)


def test_lengths_that_a_module_does_not_leave_out_are_refused() -> None:
    class Unpacked(Packed):
        def forward(self, x: Tensor, lengths: Tensor) -> Any:
            return self.tags(self.rnn(self.emb(x))[0])

    adapted = rote.adapt(made(Unpacked), example=(TOKENS, torch.tensor([6, 6, 6])))
    with pytest.raises(UsageError, match="does not leave out all that is behind 'lengths'"):
        rote.trace(adapted, TOKENS, lengths=COUNTED)


def test_positions_do_not_start_anew_in_the_middle_of_a_text() -> None:
    adapted = rote.adapt(made(WHOLE["Positional"]), example=TOKENS)
    with pytest.raises(UsageError, match="'initial' must be left out: 'model' adds positions"):
        rote.trace(adapted, TOKENS, initial=torch.zeros(1, 3, 5).double())


@pytest.mark.parametrize("name", ["Positional", "Residual"])
def test_a_text_that_goes_on_is_read_by_the_explorer_as_a_whole(name: str) -> None:
    from types import SimpleNamespace

    from rote.explorer.prefix_cache import Trails

    adapted, trails = rote.adapt(made(WHOLE[name]), example=TOKENS), Trails()
    for time in (4, 5, 6):
        tokens = TOKENS[:1, :time]
        trail, _ = trails.follow(SimpleNamespace(model=adapted), SimpleNamespace(tokens=tokens))  # type: ignore[arg-type]
        torch.testing.assert_close(trail.last, adapted(tokens)[0, -1].detach())
