"""A user's own modules: their weights are shared, what is computed equals them, and nothing is left on them."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence

import rote
from rote.cells import Arithmetic, Cell, LSTMCell, Recurrent, cells
from rote.cells.arithmetic import V
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.testing import check_cell, check_model, untouched

VOCABULARY, INPUT, HIDDEN, BATCH, TIME = 7, 3, 4, 3, 5
LENGTHS = torch.tensor([3, 5, 1])
Modules = tuple[Any, nn.Embedding, nn.Linear]


def modules(kind: str = "lstm", dtype: torch.dtype = torch.float64, **options: Any) -> Modules:
    torch.manual_seed(0)
    made: Any = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind](INPUT, HIDDEN, **options)
    sides = 2 if options.get("bidirectional") else 1
    return made.to(dtype), nn.Embedding(VOCABULARY, INPUT).to(dtype), nn.Linear(sides * HIDDEN, VOCABULARY).to(dtype)


def adapted(parts: Modules) -> SequenceModel:
    recurrent, embedding, readout = parts
    return rote.adapt(recurrent=recurrent, embedding=embedding, readout=readout)


def tokens_of(batch: int = BATCH, time: int = TIME) -> Tensor:
    return torch.randint(0, VOCABULARY, (batch, time), generator=torch.Generator().manual_seed(1))


def run(parts: Modules, tokens: Tensor) -> tuple[Tensor, Any]:
    """Logits and final states of the user's modules themselves."""
    recurrent, embedding, readout = parts
    vectors = embedding(tokens)
    output, final = recurrent(vectors if recurrent.batch_first else vectors.transpose(0, 1))
    return readout(output if recurrent.batch_first else output.transpose(0, 1)), final


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize(("layers", "both", "bias", "batch_first"), [
    (1, False, True, True), (2, True, True, False), (3, False, False, False), (1, True, False, True),
])  # fmt: skip
def test_a_trace_shows_what_the_modules_compute(
    kind: str, layers: int, both: bool, bias: bool, batch_first: bool
) -> None:
    parts = modules(kind, num_layers=layers, bidirectional=both, bias=bias, batch_first=batch_first)
    tokens = tokens_of()
    logits, final = run(parts, tokens)
    found = rote.trace(adapted(parts), tokens)
    torch.testing.assert_close(found.logits, logits.detach(), rtol=0, atol=1e-13)
    assert found.mask.all()
    keys: list[Any] = list(itertools.product(range(layers), range(2))) if both else list(range(layers))
    assert list(found.hidden) == keys
    finals = final if kind == "lstm" else (final,)
    for index, key in enumerate(keys):
        last = 0 if both and key[1] == 1 else -1  # a backward layer ends at the first step
        torch.testing.assert_close(found.hidden[key][:, last], finals[0][index].detach(), rtol=0, atol=1e-13)
        if kind == "lstm":
            torch.testing.assert_close(found.cell[key][:, last], finals[1][index].detach(), rtol=0, atol=1e-13)
    assert (
        set(found.gates[keys[0]])
        == {
            "rnn": {"candidate"},
            "lstm": {"input", "forget", "candidate", "output"},
            "gru": {"reset", "update", "candidate"},
        }[kind]
    )
    if kind != "lstm":
        assert found.cell == {}


def test_gates_in_a_trace_rebuild_the_states_at_every_step() -> None:
    found = rote.trace(adapted(modules("lstm")), tokens_of())
    gates, cell = found.gates[0], found.cell[0]
    before = torch.cat([torch.zeros_like(cell[:, :1]), cell[:, :-1]], 1)
    torch.testing.assert_close(cell, gates["forget"] * before + gates["input"] * gates["candidate"])
    torch.testing.assert_close(found.hidden[0], gates["output"] * cell.tanh())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("both", [False, True])
def test_the_contract_of_models_holds_for_adapted_modules(kind: str, both: bool, dtype: torch.dtype) -> None:
    check_model(adapted(modules(kind, dtype, num_layers=2, bidirectional=both)))
    check_model(adapted(modules(kind, dtype, dropout=0.5, num_layers=2, bidirectional=both)))
    recurrent, _, readout = modules(kind, dtype, bidirectional=both)
    check_model(rote.adapt(recurrent=recurrent))
    check_model(rote.adapt(recurrent=recurrent, readout=readout).eval())


def test_an_optimizer_step_on_the_modules_is_seen_so_the_weights_are_not_copies() -> None:
    parts = modules("gru", num_layers=2)
    model, tokens = adapted(parts), tokens_of()
    before = rote.trace(model, tokens).logits
    optimizer = torch.optim.Adam([p for module in parts for p in module.parameters()], 0.1)
    run(parts, tokens)[0].square().sum().backward()
    optimizer.step()
    after = rote.trace(model, tokens).logits
    assert (after - before).abs().max() > 0.01
    torch.testing.assert_close(after, run(parts, tokens)[0].detach(), rtol=0, atol=1e-13)
    assert {id(p) for p in model.parameters()} == {id(p) for module in parts for p in module.parameters()}


def test_loading_a_state_into_the_modules_is_seen_too() -> None:
    parts, other = modules("lstm"), modules("lstm", bias=True)
    with torch.no_grad():
        for parameter in other[0].parameters():
            parameter.mul_(2)
    model = adapted(parts)
    parts[0].load_state_dict(other[0].state_dict())
    torch.testing.assert_close(rote.trace(model, tokens_of()).logits, run(parts, tokens_of())[0].detach())


def test_nothing_is_left_on_modules_with_gradients_hooks_frozen_weights_and_their_own_mode() -> None:
    parts = modules("lstm", num_layers=2, dropout=0.3)
    recurrent, embedding, readout = parts
    run(parts, tokens_of())[0].sum().backward()
    recurrent.weight_hh_l0.requires_grad_(False)
    recurrent.register_forward_hook(lambda *_: None)
    embedding.weight.register_hook(lambda gradient: gradient)
    readout.eval()
    recurrent.register_buffer("note", torch.tensor([1.0, 2.0]))
    assert recurrent.training
    with untouched(*parts):
        model = adapted(parts)
        rote.trace(model, tokens_of())
        assert rote.decompose(model, tokens_of(), [(0, 1)]).error.max() < 1e-12
    assert model.recurrent.training


def test_untouched_itself_finds_each_kind_of_trace() -> None:
    """The watch must not sleep: every change below is found and named."""
    changes = {
        "weight_hh_l0": lambda m: m.weight_hh_l0.data.add_(1),
        "the gradient of LSTM": lambda m: setattr(m.weight_hh_l0, "grad", torch.ones_like(m.weight_hh_l0)),
        "requires_grad": lambda m: m.weight_hh_l0.requires_grad_(False),
        "the mode of": lambda m: m.eval(),
        "_forward_hooks": lambda m: m.register_forward_hook(lambda *_: None),
        "_backward_hooks": lambda m: m.register_full_backward_hook(lambda *_: None),
        "the hooks of": lambda m: m.weight_hh_l0.register_hook(lambda g: g),
        "the attributes of": lambda m: setattr(m, "seen", True),
        "torch's random state": lambda m: torch.rand(1),
        "note": lambda m: m.note.add_(1),
    }
    for name, change in changes.items():
        module = nn.LSTM(INPUT, HIDDEN)
        module.register_buffer("note", torch.zeros(1))
        with pytest.raises(AssertionError, match=f"left behind: .*{name}"), untouched(module):
            change(module)


def test_an_exception_in_the_middle_leaves_nothing_either(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = modules("lstm", num_layers=2)
    model, calls, step = adapted(parts), itertools.count(), LSTMCell.step

    def fails(self: Any, *arguments: Any) -> Any:
        if next(calls) == 7:
            raise ZeroDivisionError
        return step(self, *arguments)

    monkeypatch.setattr(LSTMCell, "step", fails)
    with untouched(*parts, model), pytest.raises(ZeroDivisionError):
        rote.trace(model, tokens_of())
    assert torch.is_grad_enabled()


def test_one_sequence_a_padded_batch_and_a_packed_one_are_the_same() -> None:
    model, tokens = adapted(modules("gru", bidirectional=True)), tokens_of()
    padded = rote.trace(model, tokens, lengths=LENGTHS)
    assert padded.mask.tolist() == [[t < n for t in range(TIME)] for n in LENGTHS]
    assert not padded.hidden[(0, 0)][~padded.mask].any()
    packed = pack_padded_sequence(tokens, LENGTHS, batch_first=True, enforce_sorted=False)
    from_list = pack_sequence([tokens[i, :n] for i, n in enumerate(LENGTHS)], enforce_sorted=False)
    for other in (packed, from_list):
        found = rote.trace(model, other)
        torch.testing.assert_close(found.logits, padded.logits, rtol=0, atol=1e-14)
        assert torch.equal(found.mask, padded.mask)
    for row, length in enumerate(LENGTHS):
        alone = rote.trace(model, tokens[row, :length])
        assert alone.logits.shape == (1, length, VOCABULARY)
        torch.testing.assert_close(alone.logits[0], padded.logits[row, :length], rtol=0, atol=1e-14)
    for whole in (torch.int32, torch.int16, torch.uint8):
        torch.testing.assert_close(rote.trace(model, tokens.to(whole), lengths=LENGTHS.tolist()).logits, padded.logits)


def test_inputs_are_vectors_without_an_embedding_and_outputs_states_without_a_readout() -> None:
    recurrent, _, readout = modules("lstm", torch.float32)
    vectors = torch.randn(BATCH, TIME, INPUT)
    expected = recurrent(vectors.transpose(0, 1))[0].transpose(0, 1).detach()
    bare = rote.trace(rote.adapt(recurrent=recurrent), vectors)
    torch.testing.assert_close(bare.logits, expected)
    assert bare.logits.dtype == torch.float32
    torch.testing.assert_close(rote.trace(rote.adapt(recurrent=recurrent), vectors[0]).logits, expected[:1])
    read = rote.trace(rote.adapt(recurrent=recurrent, readout=readout), vectors)
    torch.testing.assert_close(read.logits, readout(expected).detach())


def test_an_embedding_with_max_norm_acts_as_in_torch_but_its_weights_stay() -> None:
    recurrent, _, readout = modules("lstm")
    embedding = nn.Embedding(VOCABULARY, INPUT, padding_idx=2, max_norm=0.5, norm_type=1.0).double()
    with torch.no_grad():
        embedding.weight.mul_(3)
    weights = embedding.weight.detach().clone()
    model, tokens = rote.adapt(recurrent=recurrent, embedding=embedding, readout=readout), tokens_of()
    with untouched(embedding):
        found = rote.trace(model, tokens).logits
        model(tokens)
    changed = copy.deepcopy(embedding)
    torch.testing.assert_close(found, run((recurrent, changed, readout), tokens)[0].detach(), rtol=0, atol=1e-13)
    assert not torch.equal(changed.weight, weights)  # torch's own lookup did change them


def test_the_padding_row_of_an_embedding_gets_no_gradient_as_in_torch() -> None:
    recurrent, _, readout = modules("lstm")
    embedding = nn.Embedding(VOCABULARY, INPUT, padding_idx=0, scale_grad_by_freq=True).double()
    tokens = tokens_of()
    tokens[:, -1] = 0
    model = rote.adapt(recurrent=recurrent, embedding=embedding, readout=readout)
    of = list(embedding.parameters())
    ours = torch.autograd.grad(model(tokens).square().sum(), of)[0]
    theirs = torch.autograd.grad(run((recurrent, embedding, readout), tokens)[0].square().sum(), of)[0]
    assert not ours[0].any()
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


class Peephole(nn.Module):
    pass


class Changed(nn.LSTM):
    def forward(self, *arguments: Any, **options: Any) -> Any:
        return super().forward(*arguments, **options)


class Renamed(nn.LSTM):
    """Computes what its parent computes."""


def parametrized() -> nn.LSTM:
    lstm = nn.LSTM(INPUT, HIDDEN)
    nn.utils.parametrizations.weight_norm(lstm, "weight_hh_l0")
    return lstm


OWN = "subclass rote.cells.Cell with its row_groups, gate_names and step"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"recurrent": Peephole()}, ["must be an nn.RNN, nn.LSTM or nn.GRU", "test_adapt_trace.Peephole", OWN]),
        ({"recurrent": Changed(3, 4)}, ["test_adapt_trace.Changed with a forward() of its own", OWN]),
        ({"recurrent": parametrized()}, ["'weight_hh_l0' of 'recurrent' is computed from", "remove_parametrizations"]),
        (
            {"recurrent": nn.LSTMCell(3, 4)},
            ["Got torch.nn.modules.rnn.LSTMCell", "rote.cells.Recurrent([rote.cells.LSTMCell(cell.input_size",
             "weights=dict(cell.named_parameters()))])"],
        ),
        ({"recurrent": nn.GRUCell(3, 4)}, ["rote.cells.Recurrent([rote.cells.GRUCell("]),
        (
            {"recurrent": nn.LSTM(3, 4), "embedding": nn.Embedding(9, 5)},
            ["'embedding' gives vectors of 5, but 'recurrent' takes inputs of 3"],
        ),
        (
            {"recurrent": nn.LSTM(3, 4, bidirectional=True), "readout": nn.Linear(4, 9)},
            ["'readout' takes 4 features, but 'recurrent' gives 8"],
        ),
        (
            {"recurrent": nn.LSTM(3, 4), "embedding": nn.Linear(3, 3)},
            ["'embedding' must be an nn.Embedding or None. Got Linear"],
        ),
        (
            {"recurrent": nn.LSTM(3, 4), "readout": torch.relu},
            ["'readout' must be an nn.Module or None. Got builtin_function_or_method"],
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_adapted_says_what_to_do(options: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        rote.adapt(**options)
    for text in said:
        assert text in str(caught.value)


def test_a_subclass_that_computes_the_same_is_taken() -> None:
    torch.manual_seed(0)
    lstm = Renamed(INPUT, HIDDEN)
    vectors = torch.randn(2, 4, INPUT)
    found = rote.trace(rote.adapt(recurrent=lstm), vectors).logits
    torch.testing.assert_close(found, lstm(vectors.transpose(0, 1))[0].transpose(0, 1).detach())


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_the_advice_for_a_one_step_cell_works_as_printed(kind: str) -> None:
    torch.manual_seed(0)
    cell: Any = getattr(nn, f"{kind}Cell")(INPUT, HIDDEN)
    with pytest.raises(UsageError) as caught:
        rote.adapt(recurrent=cell)
    advice = str(caught.value).split("shares its weights: ")[1].removesuffix(".")
    model = rote.adapt(recurrent=eval(advice, {"rote": rote, "cell": cell}))
    vectors = torch.randn(1, 3, INPUT)
    state, hidden = None, []
    for x in vectors.unbind(1):
        state = cell(x, state)
        hidden.append(state[0] if kind == "LSTM" else state)
    torch.testing.assert_close(rote.trace(model, vectors).logits, torch.stack(hidden, 1).detach())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: rote.trace(m, torch.randn(2, 3, 3)), "must have the model's dtype torch.float64. Got torch.float32"),
        (lambda m: rote.trace(m, torch.randn(2, 3, 9).double()), r"\[batch, time, 3\]. Got torch.float64 \(2, 3, 9\)"),
        (lambda m: rote.trace(m, torch.randn(3).double()), r"\[batch, time, 3\]. Got torch.float64 \(3,\)"),
        (
            lambda m: rote.trace(m, torch.tensor([[[0.0, 1.0, 2.0], [3.0, torch.nan, 4.0]]]).double()),
            r"'tokens' has NaN or infinite values, the first at \(0, 1, 1\);",
        ),
        (
            lambda m: rote.trace(m, torch.zeros(1, 2, INPUT).double(), lengths=[3]),
            "'lengths' must lie in 1 to 2.* Got 3",
        ),
        (
            lambda m: rote.trace(m, pack_sequence([torch.zeros(2, INPUT).double()]), lengths=[2]),
            "a PackedSequence already knows its lengths",
        ),
        (
            lambda m: rote.trace(m, torch.zeros(1, 2, INPUT).double(), initial=torch.zeros(1, 5, HIDDEN)),
            r"'initial' must hold.* Wanted \[\[\(1, 4\), \(1, 4\)\]\]. Got \[\[\(5, 4\)\]\]",
        ),
    ],
)  # fmt: skip
def test_wrong_vectors_are_named(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call(rote.adapt(recurrent=modules("lstm")[0]))


# A cell from outside the package, as the top of rote/cells/cell.py has it.


@cells.register("my_unit")
class MyUnit(Cell):
    """Minimal gated unit: one gate mixes the old state with a candidate."""

    row_groups = (1, 1)
    gate_names = ("update", "candidate")

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        (h,) = state
        bias = a.constant(self.bias)
        z, n = a.pieces(projected + a.linear(h, self.weight_hh) + bias, [self.hidden_size] * 2)
        z, n = a.gate("update", a.sigmoid(z)), a.gate("candidate", a.tanh(n))
        return (a.settle(a.product(z, h) + a.product(1 - z, n)),)


def test_a_cell_of_ones_own_gets_every_analysis_from_its_one_step() -> None:
    torch.manual_seed(0)
    check_cell(MyUnit)
    recurrent = Recurrent("my_unit", INPUT, HIDDEN, layers=2)
    model = rote.adapt(
        recurrent=recurrent, embedding=nn.Embedding(VOCABULARY, INPUT), readout=nn.Linear(HIDDEN, 2)
    ).double()
    check_model(model)
    tokens = tokens_of()
    found = rote.trace(model, tokens)
    weight, bias = recurrent.cell(0).weight_hh, recurrent.cell(0).bias
    h, vectors = torch.zeros(BATCH, HIDDEN, dtype=torch.float64), model.embed(tokens)
    for t in range(TIME):
        z, n = (vectors[:, t] @ recurrent.cell(0).weight_ih.T + h @ weight.T + bias).chunk(2, -1)
        h = z.sigmoid() * h + (1 - z.sigmoid()) * n.tanh()
        torch.testing.assert_close(found.hidden[0][:, t], h.detach())
        torch.testing.assert_close(found.gates[0]["update"][:, t], z.sigmoid().detach())
    parts = rote.decompose(model, tokens, [(0, TIME - 1), (2, 3)])
    assert parts.error.max() < 1e-12
    assert parts.irrelevant[:, 0].abs().max() < 1e-12
    assert not parts.relevant[:, 1, :2].any()
    assert parts.relevant[:, 1, 2:].abs().min() > 0
    assert "my_unit" in [entry.name for entry in cells.entries()]
