"""minGRU, minLSTM, LRU and RG-LRU against their public implementations, and taken apart. All in float64."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import LRU_pytorch
import pytest
import torch
from connected_models import INPUT, LENGTHS, OUTPUTS, assert_right, numbers_of, table_of
from minGRU_pytorch import minGRU
from minGRU_pytorch.minLSTM import minLSTM
from torch import Tensor, nn
from torch.nn import functional

import rote
from rote.cells import (
    Cell,
    LRUCell,
    MinGRUCell,
    MinLSTMCell,
    Recurrent,
    RGLRUCell,
    S6Cell,
    cells,
    run_stacked,
    stack,
    unroll,
)
from rote.errors import UsageError
from rote.models import LanguageModelConfig, StackedLanguageModel
from rote.models.sequence import SequenceModel

HIDDEN, BATCH, LONG = 4, 2, 64
MATRICES = ("rwkv4", "rwkv7", "linear_attention", "delta", "gated_delta", "ssd", "mlstm", "slstm")  # or exponents
NAMES = ("min_gru", "min_lstm", "lru", "rg_lru", "s6", *MATRICES)
SHAPES = [(1, False), (2, False), (2, True)]


def spread(module: nn.Module, size: float = 0.8) -> None:
    """Weights large enough for the nonlinearities to matter."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(size * torch.randn(weight.shape, dtype=weight.dtype, generator=generator))


def model_of(name: str, layers: int = 1, both: bool = False, **options: Any) -> SequenceModel:
    recurrent = Recurrent(name, INPUT, HIDDEN, layers=layers, bidirectional=both, **options)
    model = SequenceModel(recurrent, nn.Embedding(7, INPUT), nn.Linear(recurrent.output_size, OUTPUTS)).double()
    spread(model, 0.3 if name in ("s6", "rwkv7") else 0.8)  # of which five factors are multiplied with each other
    return model


def vectors(size: int, time: int = LONG) -> Tensor:
    return torch.randn(BATCH, time, size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", ["minGRU", "minLSTM"])
def test_min_gru_and_min_lstm_equal_their_package_as_a_whole_and_step_by_step(kind: str) -> None:
    module: Any = {"minGRU": minGRU, "minLSTM": minLSTM}[kind](HIDDEN).double()
    spread(module)
    weight = next(module.parameters())
    ours: type[Cell] = MinGRUCell if kind == "minGRU" else MinLSTMCell
    cell = ours(HIDDEN, HIDDEN, biases="none", weights={"weight_ih": weight})
    inputs = vectors(HIDDEN)
    hidden, _ = Recurrent([cell])(inputs)
    torch.testing.assert_close(hidden, module(inputs), rtol=0, atol=1e-11)
    state, steps = None, []
    for x in inputs.split(1, dim=1):
        output, state = module(x, state, return_next_prev_hidden=True)
        steps.append(output)
    torch.testing.assert_close(hidden, torch.cat(steps, 1), rtol=0, atol=1e-13)


def test_the_plain_form_of_min_gru_has_a_linear_candidate() -> None:
    cell = MinGRUCell(HIDDEN, HIDDEN, form="plain").double()
    spread(cell)
    n, z = functional.linear(vectors(HIDDEN), cell.weight_ih, cell.bias_ih).chunk(2, -1)
    h, states = torch.zeros(BATCH, HIDDEN, dtype=torch.float64), []
    for t in range(LONG):
        h = torch.lerp(h, n[:, t], z[:, t].sigmoid())
        states.append(h)
    found = unroll(cell, vectors(HIDDEN), cell.zero_state(BATCH))
    torch.testing.assert_close(found.states["hidden"], torch.stack(states, 1), rtol=0, atol=1e-13)
    torch.testing.assert_close(found.gates["update"], z.sigmoid())
    torch.testing.assert_close(found.gates["candidate"], n)


def lru_by_powers(cell: LRUCell, inputs: Tensor) -> Tensor:
    """y as a sum over all earlier steps, with complex powers of lambda: no recurrence at all."""
    eigenvalues = torch.exp(torch.complex(-cell.nu_log.exp(), cell.theta_log.exp()))
    b_re, b_im, d = cell.weight_ih.chunk(3)
    driven = (inputs @ b_re.T + 1j * (inputs @ b_im.T)) * cell.gamma_log.exp()
    readout = torch.complex(cell.weight_re, cell.weight_im)
    outputs = []
    for t in range(inputs.shape[1]):
        powers = eigenvalues ** torch.arange(t, -1, -1)[:, None]
        outputs.append(((driven[:, : t + 1] * powers).sum(1) @ readout.T).real + inputs[:, t] @ d.T)
    return torch.stack(outputs, 1)


def test_the_lru_is_a_sum_of_powers_of_its_eigenvalues() -> None:
    cell = LRUCell(INPUT, HIDDEN).double()
    inputs = vectors(INPUT)
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], lru_by_powers(cell, inputs), rtol=0, atol=1e-11)


def test_the_lru_equals_its_package_which_computes_in_float32() -> None:
    module: Any = LRU_pytorch.LRU(INPUT, HIDDEN, HIDDEN)
    parts = {"weight_ih": torch.cat([module.B.real, module.B.imag, module.D])}
    parts |= {"weight_re": module.C.real, "weight_im": module.C.imag}
    parts |= {name: getattr(module, name) for name in ("nu_log", "theta_log", "gamma_log")}
    cell = LRUCell(INPUT, HIDDEN, weights={name: part.detach().double() for name, part in parts.items()})
    inputs = vectors(INPUT)
    expected = module(inputs.float()).double()
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], expected, rtol=0, atol=1e-5)


def griffin(cell: RGLRUCell, inputs: Tensor) -> Tensor:
    """The block as RecurrentGemma computes a text that goes on: torch's convolution, heads as blocks of a matrix."""
    size = cell.hidden_size // cell.heads
    x, y = functional.linear(inputs, cell.weight_ih, cell.bias_ih).chunk(2, -1)
    padded = functional.pad(x.mT, (cell.width - 1, 0))
    u = functional.conv1d(padded, cell.weight_conv[:, None], cell.bias_conv, groups=cell.hidden_size).mT
    blocks = [torch.block_diag(*weight.split(size)) for weight in (cell.weight_input, cell.weight_recurrence)]
    i = functional.linear(u, blocks[0], cell.bias_input).sigmoid()
    r = functional.linear(u, blocks[1], cell.bias_recurrence).sigmoid()
    log_a = -8.0 * r * functional.softplus(cell.recurrent_param)
    a = log_a.exp()
    driven = u * i * torch.sqrt(1 - torch.exp(2 * log_a))
    h, states = torch.zeros_like(u[:, 0]), []
    for t in range(inputs.shape[1]):
        h = a[:, t] * h + driven[:, t]
        states.append(h)
    return functional.linear(
        torch.stack(states, 1) * functional.gelu(y, approximate="tanh"), cell.weight_out, cell.bias_out
    )


@pytest.mark.parametrize(("heads", "width", "biases"), [(1, 4, "one"), (2, 4, "two"), (4, 2, "none"), (1, 1, "one")])
def test_the_recurrent_block_is_that_of_recurrent_gemma(heads: int, width: int, biases: Any) -> None:
    cell = RGLRUCell(INPUT, HIDDEN, heads=heads, width=width, biases=biases).double()
    spread(cell)
    inputs = vectors(INPUT)
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], griffin(cell, inputs), rtol=0, atol=1e-12)
    assert cell.state_names == ("hidden", "memory", "past_1", "past_2", "past_3")[: width + 1]
    first, middle = Recurrent([cell])(inputs[:, :30])
    rest, _ = Recurrent([cell])(inputs[:, 30:], initial=middle)  # the convolution goes on from its own states
    torch.testing.assert_close(torch.cat([first, rest], 1), griffin(cell, inputs), rtol=0, atol=1e-12)


def mamba(cell: S6Cell, inputs: Tensor) -> Tensor:
    """The mixer as its authors' code computes it without kernels: the memory as a matrix, unit by number."""
    x, z = (inputs @ cell.weight_ih.T).chunk(2, -1)
    padded = functional.pad(x.mT, (cell.width - 1, 0))
    u = functional.silu(functional.conv1d(padded, cell.weight_conv[:, None], cell.bias_conv, groups=cell.inner).mT)
    step, b, c = (u @ cell.weight_select.T).split([cell.rank, cell.state_size, cell.state_size], -1)
    delta = functional.softplus(functional.linear(step, cell.weight_step, cell.bias_step))
    kept = torch.exp(delta[..., None] * -torch.exp(cell.a_log))
    kept = 2 * kept - 1 if cell.signed else kept
    driven = (delta * u)[..., None] * b[:, :, None]
    memory, outputs = torch.zeros_like(kept[:, 0]), []
    for t in range(inputs.shape[1]):
        memory = kept[:, t] * memory + driven[:, t]
        outputs.append((memory @ c[:, t, :, None])[..., 0])
    return ((torch.stack(outputs, 1) + u * cell.skip) * functional.silu(z)) @ cell.weight_out.T


@pytest.mark.parametrize("options", [{}, {"state_size": 3, "width": 2, "rank": 2}, {"width": 1}, {"signed": True}])
def test_s6_is_the_mixer_of_mamba(options: dict[str, int]) -> None:
    cell, inputs = S6Cell(INPUT, HIDDEN, **options).double(), vectors(INPUT)
    for _ in range(2):  # as it starts, and with larger weights
        torch.testing.assert_close(Recurrent([cell])(inputs)[0], mamba(cell, inputs), rtol=0, atol=1e-10)
        steps = unroll(cell, inputs, cell.zero_state(BATCH)).states["hidden"]
        torch.testing.assert_close(steps, mamba(cell, inputs), rtol=0, atol=1e-10)
        spread(cell)


def test_every_number_of_a_fresh_s6_fades_at_a_rate_of_its_own() -> None:
    cell = S6Cell(8, 64)
    torch.testing.assert_close(cell.a_log.detach().exp()[5], torch.arange(1.0, 17.0))
    length = functional.softplus(cell.bias_step.detach())
    assert 0.99e-3 < float(length.min()) < 3e-3
    assert 0.03 < float(length.max()) < 0.101
    with pytest.raises(UsageError, match="'state_size', 'width' and 'rank' must be at least 1"):
        S6Cell(8, 4, state_size=0)


def test_a_fresh_memory_is_a_long_one() -> None:
    griffins = RGLRUCell(8, 64)
    kept = unroll(griffins, torch.zeros(1, 1, 8), griffins.zero_state(1)).gates["forget"].detach()
    assert 0.92 < float(kept.min()) < float(kept.max()) < 1  # 0.9 to 0.999, to the power of a gate near one half
    cell = LRUCell(8, 256, r_min=0.9, r_max=0.99)
    modulus = torch.exp(-cell.nu_log.exp()).detach()
    assert 0.9 <= float(modulus.min()) < float(modulus.max()) <= 0.99
    torch.testing.assert_close(cell.gamma_log.detach().exp() ** 2, 1 - modulus**2, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("layers", "both"), SHAPES)
def test_connectivity_and_gradient_flow_are_those_of_autograd(name: str, layers: int, both: bool) -> None:
    model, tokens = model_of(name, layers, both), numbers_of(7)
    found = rote.connectivity(model, tokens, lengths=LENGTHS)
    assert_right(found, model, tokens, table_of(model), LENGTHS)
    assert rote.gradient_flow(model, tokens, at=3, targets=torch.zeros(3, dtype=torch.long)).error < 1e-10


@pytest.mark.parametrize("name", NAMES)
def test_stacked_replicas_compute_and_learn_what_each_does_alone(name: str) -> None:
    alone = [cells[name](INPUT, HIDDEN).double() for _ in range(2)]
    stacked, inputs = stack(alone), torch.randn(2, 3, 5, INPUT, dtype=torch.float64)
    hidden, end = run_stacked(stacked, inputs)
    hidden.square().sum().backward()
    for index, cell in enumerate(alone):
        run = unroll(cell, inputs[index], cell.zero_state(3))
        run.states["hidden"].square().sum().backward()
        torch.testing.assert_close(hidden[index], run.states["hidden"], rtol=0, atol=1e-13)
        torch.testing.assert_close(end[-1][index], run.final[-1], rtol=0, atol=1e-13)
        for weight_name, weight in cell.named_parameters():
            torch.testing.assert_close(stacked.get_parameter(weight_name).grad[index], weight.grad, rtol=0, atol=1e-12)


def min_gru_terms(cell: Cell, inputs: Tensor) -> Tensor:
    """With the gates as they are, what each step's candidate adds to the last state; one sequence, [time, unit]."""
    n, z = (inputs @ cell.weight_ih.T).chunk(2, -1)
    z, kept = z.sigmoid(), torch.ones_like(n[0])
    terms = []
    for t in reversed(range(len(inputs))):
        terms.append(kept * z[t] * n[t])
        kept = kept * (1 - z[t])
    return torch.stack(terms[::-1])


def test_with_whole_gates_a_layer_is_one_causal_matrix_for_every_span() -> None:
    model = SequenceModel(Recurrent("min_gru", INPUT, HIDDEN, form="plain", biases="none").double())
    spread(model)
    inputs = vectors(INPUT, 12)
    expected = min_gru_terms(model.recurrent.cell(0), inputs[0]).detach()
    parts = rote.decompose_all(model, inputs[:1], at=-1, gates="whole")
    for span, positions in enumerate(parts.spans[0]):
        torch.testing.assert_close(parts.relevant[0, span, 0], expected[positions].sum(0), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["lru"])
def test_without_gates_every_rule_gives_what_is_lost_without_the_span(name: str) -> None:
    model, tokens = model_of(name, layers=2), numbers_of(7)
    inputs = model.embed(tokens).detach()
    model = SequenceModel(model.recurrent)
    without = inputs.clone()
    without[:, 1:3] = 0
    lost = rote.trace(model, inputs).logits - rote.trace(model, without).logits
    for rules in ("shapley", "murdoch2018", "gcd2019"):
        parts = rote.decompose(model, inputs, [(1, 2)], rules=rules)
        torch.testing.assert_close(parts.relevant[:, 0], lost, rtol=0, atol=1e-12)


def trained(name: str, steps: int = 40) -> SequenceModel:
    """A language model that has learned to say a short text again, so that its gates are no longer near one half."""
    # Heads of eight units: of two, a norm would divide by their difference, which may be next to nothing.
    config = LanguageModelConfig(name, embedding=6, hidden=32, limit=0.5)
    model = StackedLanguageModel(7, config, [0], torch.float64)
    text = torch.randint(7, (1, 4, LONG + 1), generator=torch.Generator().manual_seed(5))
    optimizer, losses = torch.optim.Adam(model.parameters(), 0.05), []
    for _ in range(steps):
        loss, _ = model.losses(text[..., :-1], text[..., 1:], model.cell.zero_state(1, 4))
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
    assert losses[-1] < 0.95 * losses[0]
    return model.replica(0)


RULES: list[dict[str, Any]] = [
    {"rules": rules, "gates": gates}
    for rules, gates in product(("shapley", "murdoch2018", "gcd2019"), ("parts", "whole"))
]


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_trained_networks_sum_to_the_state_and_do_not_grow(name: str) -> None:
    model = trained(name, 10 if name == "slstm" else 40)  # which goes step by step
    tokens = torch.randint(7, (2, LONG), generator=torch.Generator().manual_seed(8))
    hidden = rote.trace(SequenceModel(model.recurrent, model.embedding), tokens).logits
    for rules in RULES[:-1] if name in MATRICES else RULES:
        if cells[name].taken_whole and rules == {"rules": "murdoch2018", "gates": "parts"}:
            with pytest.raises(UsageError, match=r"uses .* whole by every rule"):
                rote.decompose(model, tokens, [(0, 3)], **rules)
            continue
        parts = rote.decompose(model, tokens, [(0, 3), (20, 20), (LONG - 24, LONG - 1)], **rules)
        total = parts.relevant + parts.irrelevant + (0 if parts.reference is None else parts.reference[:, None])
        torch.testing.assert_close(total, hidden[:, None].expand_as(total), rtol=0, atol=1e-11)
        assert float(parts.error.max()) < 1e-11, rules
        assert float(parts.growth.max()) < 2, rules


def test_wrong_options_are_refused() -> None:
    made: list[tuple[Callable[[], Cell], str]] = [
        (lambda: MinGRUCell(3, 4, form="half"), "'form' must be"),
        (lambda: LRUCell(3, 4, r_min=0.9, r_max=0.5), "'r_min' and 'r_max' must lie in 0 to 1"),
        (lambda: RGLRUCell(3, 4, heads=3), "'heads' must divide the 4 units"),
        (lambda: RGLRUCell(3, 4, width=0), "'width' of the convolution"),
    ]
    for make, said in made:
        with pytest.raises(UsageError, match=said):
            make()
