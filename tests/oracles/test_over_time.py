"""Linear recurrences over all steps at once against the steps, values and gradients. All in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from min_gru import MinGRUCell as OwnMinGRU
from min_gru import WideCell
from torch import Tensor

from rote.cells import Cell, GRUCell, Plain, Recurrent, Stacked, cells, run_stacked, stack, unroll
from rote.cells.arithmetic import Arithmetic, V
from rote.cells.over_time import hidden_over_time, run_over_time
from rote.cells.scan import scan
from rote.cells.selective_scan import selective_scan
from rote.models.packed_pairs import run_ragged

INPUT, HIDDEN, BATCH = 3, 4, 3
KINDS: dict[str, Any] = {
    **{name: cells[name] for name in ("min_gru", "min_lstm", "lru", "rg_lru")},
    "rg_lru heads": lambda i, h: cells["rg_lru"](i, h, heads=2, width=3),
    "s6": lambda i, h: cells["s6"](i, h, state_size=3),
    "s6 signed": lambda i, h: cells["s6"](i, h, state_size=3, signed=True),
    **{name: cells[name] for name in ("rwkv4", "rwkv7", "linear_attention", "delta", "gated_delta", "mlstm")},
    "linear_attention that keeps all": lambda i, h: cells["linear_attention"](i, h, heads=1, decay="none"),
    "ssd": lambda i, h: cells["ssd"](i, h, state_size=3, heads=4, groups=2),
    "own": OwnMinGRU,
    "wide": WideCell,
    "attention": lambda i, h: cells["attention"](i, h, heads=2, longest=4),
    "block of s6": lambda i, h: cells["block"](i, h, options={"state_size": 2}, mlp=3),
    "block of attention": lambda i, h: cells["block"](i, h, mixer="attention", norm="layer", mlp=3, sided=False),
    "block of rwkv4": lambda i, h: cells["block"](i, h, mixer="rwkv4", norm="layer"),
    "convolved block": lambda i, h: cells["block"](i, h, mixer="min_gru", conv=3, gate=True),
}


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the short sequences of these tests have several, the last of them not full."""
    monkeypatch.setattr("rote.cells.matrix_memory.STEPS", 4)


@pytest.mark.parametrize("time", [1, 2, 3, 4, 9, 10, 37])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_scan_of_any_length_is_its_loop(time: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(time)
    a, x = (torch.randn(2, 3, time, 4, dtype=dtype, generator=generator).requires_grad_() for _ in range(2))
    start = torch.randn(2, 3, 4, dtype=dtype, generator=generator).requires_grad_()
    h, states = start, []
    for t in range(time):
        h = a[..., t, :] * h + x[..., t, :]
        states.append(h)
    loop, found = torch.stack(states, -2), scan(a, x, start)
    torch.testing.assert_close(found, loop, rtol=1e-12, atol=1e-12)
    weight = torch.randn(loop.shape, dtype=dtype, generator=generator)
    ours, theirs = (torch.autograd.grad((part * weight).abs().square().sum(), [a, x, start]) for part in (found, loop))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_factors_of_zero_forget_everything() -> None:
    a, x = torch.zeros(10, 1), torch.arange(10.0)[:, None]
    assert torch.equal(scan(a, x, torch.ones(1)), x)


@pytest.mark.parametrize(("numbers", "steps"), [(2**16, 4), (100, 4), (40, 1), (1, 11), (1, 20)])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_selective_scan_is_its_loop_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch, numbers: int, steps: int, groups: int
) -> None:
    monkeypatch.setattr("rote.cells.selective_scan.NUMBERS", numbers)
    monkeypatch.setattr("rote.cells.selective_scan.STEPS", steps)
    rows, time, units, kinds = 3, 11, 5, 4
    torch.manual_seed(6)
    shapes = [(groups, rows, time, n) for n in (units, units, kinds, kinds)]
    given = [torch.randn(*shape, dtype=torch.float64) for shape in (*shapes, (groups, kinds, units))]
    given = [given[0].abs(), *given[1:], torch.randn(groups, rows, kinds, units, dtype=torch.float64)]
    given = [value.requires_grad_() for value in given]
    length, written, b, c, a_log, memory = given
    series = []
    for t in range(time):
        kept = torch.exp(-a_log.exp()[:, None] * length[:, :, t, None])
        memory = kept * memory + b[:, :, t, :, None] * written[:, :, t, None]
        series.append((c[:, :, t, :, None] * memory).sum(-2))
    theirs, ours = (torch.stack(series, 2), memory), selective_scan(*given)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    found, expected = (torch.autograd.grad(y.sin().sum() + end.sin().sum(), given) for y, end in (ours, theirs))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", ["rg_lru", "lru", "s6", "rwkv4", "rwkv7", "gated_delta", "ssd", "mlstm"])
def test_many_gradients_at_once_are_those_of_one_pass_each(kind: str) -> None:
    torch.manual_seed(7)
    layer = Recurrent([KINDS[kind](INPUT, HIDDEN)]).double()
    inputs = torch.randn(BATCH, 9, INPUT, dtype=torch.float64, requires_grad=True)
    rows = torch.randn(5, BATCH, 9, HIDDEN, dtype=torch.float64)
    output = layer(inputs)[0]
    expected = torch.stack([torch.autograd.grad(output, inputs, row, retain_graph=True)[0] for row in rows])
    found = torch.func.vmap(lambda row: torch.autograd.grad(output, inputs, row)[0])(rows)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_many_gradients_of_a_selective_scan_in_parts_are_those_of_one_pass_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rote.cells.selective_scan.NUMBERS", 45)  # two gradients of one lane
    torch.manual_seed(12)
    shapes = [(2, 3, 6, 5), (2, 3, 6, 5), (2, 3, 6, 4), (2, 3, 6, 4), (2, 4, 5), (2, 3, 4, 5)]
    given = [torch.rand(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    y, _ = selective_scan(*given)
    rows = torch.randn(5, *y.shape, dtype=torch.float64)
    found = torch.func.vmap(lambda row: torch.autograd.grad(y, given, row, retain_graph=True))(rows)
    for number, row in enumerate(rows):
        for ours, theirs in zip(found, torch.autograd.grad(y, given, row, retain_graph=True), strict=True):
            torch.testing.assert_close(ours[number], theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["min_gru", "rg_lru", "s6"])
def test_packed_rows_of_different_lengths_are_read_at_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(8)
    cell = stack([KINDS[kind](INPUT, HIDDEN).double() for _ in range(2)])
    symbols, sizes = torch.randn(2, 7, INPUT, dtype=torch.float64), [3, 3, 2, 1, 1]
    tokens = torch.randint(7, (2, sum(sizes)))
    at_once = run_ragged(cell, symbols, tokens, sizes)
    monkeypatch.setattr("rote.models.packed_pairs.hidden_over_time", lambda *_: None)
    by_step = run_ragged(cell, symbols, tokens, sizes)
    torch.testing.assert_close(at_once, by_step, rtol=0, atol=1e-12)
    found, expected = (torch.autograd.grad(one.sin().sum(), list(cell.parameters())) for one in (at_once, by_step))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def drawn(cell: Cell, zeros: Any) -> tuple[Tensor, ...]:
    """Random states; denominators and the like are above zero."""
    found = [torch.randn_like(part) for part in zeros]
    names = zip(cell.state_names, found, strict=True)
    return tuple((part.abs() if name in cell.whole_states else part).requires_grad_() for name, part in names)


def by_steps(cell: Cell, inputs: Tensor, state: Any, mask: Tensor | None, reverse: bool) -> list[Tensor]:
    run = unroll(cell, inputs, state, mask, reverse)
    return [run.states["hidden"], *run.final]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_layer_computes_and_learns_what_its_steps_do(kind: str, reverse: bool, ragged: bool) -> None:
    torch.manual_seed(4)
    made = [KINDS[kind](INPUT, HIDDEN) for _ in range(2)]
    layer = Recurrent(made, bidirectional=True).double()
    cell = layer.cell(0, int(reverse))
    inputs = torch.randn(BATCH, 11, INPUT, dtype=torch.float64, requires_grad=True)
    states = [drawn(cell, zeros) for zeros in layer.zero_states(BATCH)]
    lengths = torch.tensor([11, 1, 6]) if ragged else None
    mask = None if lengths is None else torch.arange(11) < lengths[:, None]
    assert hidden_over_time(cell, Plain(), cell.project(inputs), states[int(reverse)], mask) is not None
    output, ends = layer(inputs, lengths=lengths, initial=states)
    side = slice(HIDDEN, None) if reverse else slice(HIDDEN)
    ours = [output[..., side], *ends[int(reverse)]]
    theirs = by_steps(cell, inputs, states[int(reverse)], mask, reverse)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    of = [inputs, *states[int(reverse)], *cell.parameters()]
    totals = [torch.stack([part.sin().sum() for part in parts]).sum() for parts in (ours, theirs)]
    found, expected = (torch.autograd.grad(total, of, allow_unused=True, materialize_grads=True) for total in totals)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_replicas_compute_and_learn_alike(kind: str) -> None:
    torch.manual_seed(5)
    alone = [KINDS[kind](INPUT, HIDDEN).double() for _ in range(2)]
    stacked, inputs = stack(alone), torch.randn(2, BATCH, 7, INPUT, dtype=torch.float64)
    start = stacked.zero_state(2, BATCH)
    projected = stacked.enter(Stacked(), inputs.flatten(1, 2)).unflatten(1, (BATCH, 7))
    mask = torch.arange(7) < torch.tensor([[7, 2, 5], [1, 7, 3]])[..., None]
    assert hidden_over_time(stacked, Stacked(), projected, start, mask) is not None
    hidden, ends = run_stacked(stacked, inputs, mask=mask)
    torch.stack([hidden.square().sum(), *(end.sin().sum() for end in ends)]).sum().backward()
    for index, cell in enumerate(alone):
        run = unroll(cell, inputs[index], cell.zero_state(BATCH), mask[index])
        torch.stack([run.states["hidden"].square().sum(), *(end.sin().sum() for end in run.final)]).sum().backward()
        torch.testing.assert_close(hidden[index], run.states["hidden"], rtol=0, atol=1e-12)
        for one, other in zip(ends, run.final, strict=True):
            torch.testing.assert_close(one[index], other, rtol=0, atol=1e-12)
        for name, weight in cell.named_parameters():
            torch.testing.assert_close(stacked.get_parameter(name).grad[index], weight.grad, rtol=0, atol=1e-10)


class Bent(OwnMinGRU):
    """The state goes through a function on its way: no linear recurrence."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        return super().step(a, projected, (a.tanh(state[0]),))


class Doubled(cells["s6"]):  # type: ignore[misc, name-defined]
    """Equations of its own: what S6 has for all steps at once is not for these."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        hidden, *rest = super().step(a, projected, state)
        return hidden + hidden, *rest


def test_a_subclass_of_s6_is_not_run_by_the_equations_of_s6() -> None:
    cell, inputs = Doubled(INPUT, HIDDEN).double(), torch.randn(BATCH, 6, INPUT, dtype=torch.float64)
    expected = unroll(cell, inputs, cell.zero_state(BATCH)).states["hidden"]
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], expected, rtol=0, atol=1e-13)


class SettledOnTheWay(OwnMinGRU):
    """Something is settled that looks like the next state and is not."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        (new,) = super().step(a, projected, state)
        return (new + new,)


class Shuffled(cells["delta"]):  # type: ignore[misc, name-defined]
    """What looks like a convolution over the last inputs, whose states change places."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        hidden, memory, first, second, third = super().step(a, projected, state)
        return hidden, memory, first, third, second


class OtherHighest(cells["rwkv4"]):  # type: ignore[misc, name-defined]
    """What looks like the largest key so far is not what the next step begins with."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        hidden, numerator, denominator, highest, last = super().step(a, projected, state)
        return hidden, numerator, denominator, a.scale(highest, 0.5), last


@pytest.mark.parametrize("kind", [Shuffled, OtherHighest])
def test_states_that_only_look_like_known_ones_go_step_by_step(kind: type[Cell]) -> None:
    cell, inputs = kind(INPUT, HIDDEN).double(), torch.randn(BATCH, 6, INPUT, dtype=torch.float64)
    expected = unroll(cell, inputs, cell.zero_state(BATCH)).states["hidden"]
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", [Bent, SettledOnTheWay, GRUCell])
def test_what_is_no_linear_recurrence_goes_step_by_step(kind: type[Cell]) -> None:
    cell, inputs = kind(INPUT, HIDDEN).double(), torch.randn(BATCH, 6, INPUT, dtype=torch.float64)
    start = cell.zero_state(BATCH)
    assert run_over_time(cell, Plain(), cell.project(inputs), start) is None
    assert hidden_over_time(cell, Plain(), cell.project(inputs), start, None) is None
    expected = unroll(cell, inputs, start).states["hidden"]
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], expected, rtol=0, atol=1e-13)
