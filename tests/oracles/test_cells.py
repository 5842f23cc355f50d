"""Cells against torch's own modules, and against loops written from the published equations. All in float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rote.cells import (
    GRUCell,
    LSTMCell,
    NestedLSTMCell,
    PeepholeLSTMCell,
    Plain,
    Recurrent,
    as_recurrent,
    unroll,
)
from rote.cells.fused import is_fusable

INPUT, HIDDEN, BATCH, TIME = 3, 4, 3, 5
LENGTHS = torch.tensor([3, 5, 1])
MODULES: dict[str, Callable[..., nn.Module]] = {
    "tanh": lambda **options: nn.RNN(INPUT, HIDDEN, nonlinearity="tanh", **options),
    "relu": lambda **options: nn.RNN(INPUT, HIDDEN, nonlinearity="relu", **options),
    "lstm": lambda **options: nn.LSTM(INPUT, HIDDEN, **options),
    "gru": lambda **options: nn.GRU(INPUT, HIDDEN, **options),
}
SHAPES = list(itertools.product((1, 3), (False, True), (False, True)))  # layers, bidirectional, with bias


def torch_states(module: Any, seed: int = 1) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    count = module.num_layers * (2 if module.bidirectional else 1)
    names = 2 if isinstance(module, nn.LSTM) else 1
    return tuple(
        torch.randn(count, BATCH, HIDDEN, dtype=torch.float64, generator=generator, requires_grad=True)
        for _ in range(names)
    )


def run_torch(module: Any, inputs: Tensor, initial: tuple[Tensor, ...], lengths: Tensor | None) -> tuple[Tensor, ...]:
    """Outputs [batch, time, unit], then the final states [layers * directions, batch, unit]."""
    values = inputs if module.batch_first else inputs.transpose(0, 1)
    packed = (
        values if lengths is None else pack_padded_sequence(values, lengths, module.batch_first, enforce_sorted=False)
    )
    output, final = module(packed, initial if isinstance(module, nn.LSTM) else initial[0])
    if lengths is not None:
        output, _ = pad_packed_sequence(output, module.batch_first, total_length=TIME)
    return (
        output if module.batch_first else output.transpose(0, 1),
        *(final if isinstance(module, nn.LSTM) else (final,)),
    )


def gradients(outputs: tuple[Tensor, ...], of: list[Tensor]) -> tuple[Tensor, ...]:
    """Of a sum in which every output counts with another weight, so that none can be mistaken for another."""
    total = sum((value * torch.arange(1, value.numel() + 1).view_as(value).sin()).sum() for value in outputs)
    assert isinstance(total, Tensor)
    return torch.autograd.grad(total, of)


@pytest.mark.parametrize(("layers", "bidirectional", "bias"), SHAPES)
@pytest.mark.parametrize("kind", MODULES)
def test_forward_final_states_and_gradients_equal_torch_so_no_gate_order_transpose_or_direction_is_wrong(
    kind: str, layers: int, bidirectional: bool, bias: bool
) -> None:
    for batch_first, ragged, stated in ((True, False, False), (False, True, True), (True, True, False)):
        module: Any = MODULES[kind](
            num_layers=layers, bidirectional=bidirectional, bias=bias, batch_first=batch_first
        ).double()
        inputs = torch.randn(BATCH, TIME, INPUT, dtype=torch.float64, requires_grad=True)
        initial = torch_states(module) if stated else tuple(torch.zeros_like(s) for s in torch_states(module))
        lengths = LENGTHS if ragged else None
        expected = run_torch(module, inputs, initial, lengths)
        recurrent = as_recurrent(module)
        output, final = recurrent(inputs, lengths=lengths, initial=list(zip(*initial, strict=True)) if stated else None)
        found = (output, *(torch.stack(states) for states in zip(*final, strict=True)))
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)
        of = [inputs, *module.parameters(), *(initial if stated else ())]
        for ours, theirs in zip(gradients(found, of), gradients(expected, of), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)


def by_steps(recurrent: Recurrent, inputs: Tensor, mask: Tensor | None, states: Any) -> tuple[Tensor, ...]:
    """A stack through its cells' own steps: outputs, then every final state."""
    ends: list[Tensor] = []
    for layer in range(recurrent.layers):
        sides = []
        for side in range(recurrent.directions):
            state = states[layer * recurrent.directions + side]
            run = unroll(recurrent.cell(layer, side), inputs, state, mask, side == 1)
            sides.append(run.states["hidden"])
            ends += run.final
        inputs = torch.cat(sides, -1)
    return inputs, *ends


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("biases", ["two", "one", "none"])
@pytest.mark.parametrize("cell", ["elman", "elman-relu", "lstm", "gru"])
@pytest.mark.parametrize("ragged", [False, True])
def test_the_fused_kernel_equals_the_steps_also_in_its_gradients(
    cell: str, biases: Any, both: bool, ragged: bool
) -> None:
    options = {"nonlinearity": "relu"} if cell.endswith("relu") else {}
    sizes = {"layers": 2, "bidirectional": both, "biases": biases}
    made = Recurrent(cell.split("-")[0], INPUT, HIDDEN, **sizes, **options).double()
    assert is_fusable([made.cell(layer, side) for layer in range(2) for side in range(1 + both)])
    inputs = torch.randn(BATCH, TIME, INPUT, dtype=torch.float64, requires_grad=True)
    states = [tuple(torch.randn_like(value, requires_grad=True) for value in s) for s in made.zero_states(BATCH)]
    output, ends = made(inputs, lengths=LENGTHS if ragged else None, initial=states)
    mask = torch.arange(TIME) < LENGTHS[:, None] if ragged else None
    kernel, steps = (output, *(value for end in ends for value in end)), by_steps(made, inputs, mask, states)
    for ours, theirs in zip(kernel, steps, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)
    of = [inputs, *(value for state in states for value in state), *made.parameters()]
    for ours, theirs in zip(gradients(kernel, of), gradients(steps, of), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)


def test_a_changed_subclass_is_not_run_by_the_kernel_of_its_parent() -> None:
    class Doubled(LSTMCell):
        def step(self, a: Any, projected: Any, state: Any) -> Any:
            h, c = super().step(a, projected, state)
            return h + h, c

    inputs = torch.randn(1, 2, INPUT)
    cell = Doubled(INPUT, HIDDEN)
    plain = LSTMCell(INPUT, HIDDEN, weights=dict(cell.named_parameters()))
    outputs = [Recurrent([made])(inputs)[0][:, 0] for made in (cell, plain)]
    torch.testing.assert_close(outputs[0], 2 * outputs[1])
    assert not is_fusable([cell])
    assert not is_fusable([GRUCell(INPUT, HIDDEN, reset="before")])
    assert not is_fusable([plain, LSTMCell(HIDDEN, HIDDEN, biases="none")])


# Straight from the equations of reference notes: one unit of code per line of the equations.


def gru_reset_before(cell: GRUCell, inputs: Tensor, h: Tensor) -> list[Tensor]:
    """[r, u] = s([x; h] Wg + bg); c = tanh([x; r * h] Wc + bc); h' = u * h + (1 - u) * c."""
    w_r, w_u, w_c = cell.weight_ih.chunk(3)
    v_r, v_u, v_c = cell.weight_hh.chunk(3)
    b_r, b_u, b_c = cell.bias.chunk(3)
    states = []
    for x in inputs.unbind(1):
        r = torch.sigmoid(x @ w_r.T + h @ v_r.T + b_r)
        u = torch.sigmoid(x @ w_u.T + h @ v_u.T + b_u)
        c = torch.tanh(x @ w_c.T + (r * h) @ v_c.T + b_c)
        h = u * h + (1 - u) * c
        states.append(h)
    return states


@pytest.mark.parametrize("biases", ["two", "one", "none"])
def test_gru_with_the_reset_before_the_product_follows_its_equations(biases: Any) -> None:
    cell = GRUCell(INPUT, HIDDEN, reset="before", biases=biases).double()
    inputs = torch.randn(BATCH, TIME, INPUT, dtype=torch.float64, requires_grad=True)
    h = torch.randn(BATCH, HIDDEN, dtype=torch.float64)
    expected = torch.stack(gru_reset_before(cell, inputs, h), 1)
    found, final = Recurrent([cell])(inputs, initial=[(h,)])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(final[0][0], expected[:, -1], rtol=0, atol=1e-14)
    of = [inputs, *cell.parameters()]
    for ours, theirs in zip(gradients((found,), of), gradients((expected,), of), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    after = GRUCell(INPUT, HIDDEN, biases=biases, weights=dict(cell.named_parameters()))
    assert not torch.allclose(Recurrent([after])(inputs, initial=[(h,)])[0], expected)


def nested(cell: NestedLSTMCell, x: Tensor, h: Tensor, memory: list[Tensor], level: int = 0) -> list[Tensor]:
    """One step of one level: [output, its cell, the cells inside]. Only the outermost candidate is not squashed."""
    suffix = f"_{level}" if level else ""
    w, v = getattr(cell, f"weight_ih{suffix}"), getattr(cell, f"weight_hh{suffix}")
    b = sum(getattr(cell, f"bias_{kind}{suffix}") for kind in ("ih", "hh"))
    i, f, j, o = (x @ w.T + h @ v.T + b).chunk(4, dim=-1)
    j = j if level == 0 and cell.depth > 1 else torch.tanh(j)
    if level == cell.depth - 1:
        cells = [torch.sigmoid(f) * memory[0] + torch.sigmoid(i) * j]
    else:
        cells = nested(cell, torch.sigmoid(i) * j, torch.sigmoid(f) * memory[0], memory[1:], level + 1)
    return [torch.sigmoid(o) * torch.tanh(cells[0]), *cells]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nested_lstm_of_every_depth_follows_its_equations(depth: int) -> None:
    cell = NestedLSTMCell(INPUT, HIDDEN, depth=depth).double()
    inputs = torch.randn(BATCH, TIME, INPUT, dtype=torch.float64, requires_grad=True)
    start = [torch.randn(BATCH, HIDDEN, dtype=torch.float64) for _ in range(depth + 1)]
    state, expected = start, []
    for x in inputs.unbind(1):
        state = nested(cell, x, state[0], state[1:])
        expected.append(state)
    run = unroll(cell, inputs, tuple(start))
    assert list(run.states) == ["hidden", "cell", "cell_1", "cell_2"][: depth + 1]
    for index, name in enumerate(run.states):
        theirs = torch.stack([step[index] for step in expected], 1)
        torch.testing.assert_close(run.states[name], theirs, rtol=0, atol=1e-14)
        torch.testing.assert_close(run.final[index], theirs[:, -1], rtol=0, atol=1e-14)
    of = [inputs, *cell.parameters()]
    hidden = torch.stack([step[0] for step in expected], 1)
    for ours, theirs in zip(gradients((run.states["hidden"],), of), gradients((hidden,), of), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_nested_lstm_of_depth_one_is_the_lstm() -> None:
    cell = NestedLSTMCell(INPUT, HIDDEN, depth=1).double()
    plain = LSTMCell(INPUT, HIDDEN, weights=dict(cell.named_parameters()))
    inputs = torch.randn(BATCH, TIME, INPUT, dtype=torch.float64)
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], Recurrent([plain])(inputs)[0], rtol=0, atol=1e-14)


def test_gates_by_name_equal_their_formula_so_a_swapped_name_is_found() -> None:
    x, h, c = (torch.randn(2, size, dtype=torch.float64) for size in (INPUT, HIDDEN, HIDDEN))
    lstm: Any = nn.LSTM(INPUT, HIDDEN).double()
    w, v, b = lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0 + lstm.bias_hh_l0
    rows = dict(zip(("input", "forget", "candidate", "output"), (x @ w.T + h @ v.T + b).chunk(4, -1), strict=True))
    a = Plain()
    cell = as_recurrent(lstm).cell(0)
    new_h, new_c = cell.step(a, cell.project(x), (h, c))
    for name, value in rows.items():
        squashed = torch.tanh(value) if name == "candidate" else torch.sigmoid(value)
        torch.testing.assert_close(a.gates[name], squashed)
    g = a.gates
    torch.testing.assert_close(new_c, g["forget"] * c + g["input"] * g["candidate"])  # what the names mean
    torch.testing.assert_close(new_h, g["output"] * torch.tanh(new_c))

    gru: Any = nn.GRU(INPUT, HIDDEN).double()
    cell, a = as_recurrent(gru).cell(0), Plain()
    (new_h,) = cell.step(a, cell.project(x), (h,))
    g = a.gates
    torch.testing.assert_close(new_h, (1 - g["update"]) * g["candidate"] + g["update"] * h)
    inner = h @ gru.weight_hh_l0[2 * HIDDEN :].T + gru.bias_hh_l0[2 * HIDDEN :]
    outer = x @ gru.weight_ih_l0[2 * HIDDEN :].T + gru.bias_ih_l0[2 * HIDDEN :]
    torch.testing.assert_close(g["candidate"], torch.tanh(outer + g["reset"] * inner))
    torch.testing.assert_close(gru(x[None], h[None])[0][0], new_h)


def test_every_cell_names_exactly_the_gates_it_has() -> None:
    for name, options in (("elman", {}), ("lstm", {}), ("gru", {}), ("gru", {"reset": "before"}), ("nested_lstm", {})):
        cell, a = Recurrent(name, INPUT, HIDDEN, **options).cell(0), Plain()
        cell.step(a, cell.project(torch.zeros(1, INPUT)), tuple(torch.zeros(1, HIDDEN) for _ in cell.state_names))
        assert set(cell.gate_names) <= set(a.gates)
        assert all(gate.split("_")[0] in cell.gate_names for gate in a.gates)


@pytest.mark.parametrize("proj_size", [0, 2])
def test_the_lstm_with_peepholes_follows_its_equations_and_is_the_lstm_without_them(proj_size: int) -> None:
    cell = PeepholeLSTMCell(INPUT, HIDDEN, proj_size=proj_size).double()
    inputs = torch.randn(BATCH, TIME, INPUT, dtype=torch.float64, requires_grad=True)
    h, c = start = tuple(torch.randn_like(part) for part in cell.zero_state(BATCH))
    expected = []
    for x in inputs.unbind(1):
        i, f, g, o = (x @ cell.weight_ih.T + h @ cell.weight_hh.T + cell.bias).chunk(4, -1)
        i, f = (i + cell.peephole_input * c).sigmoid(), (f + cell.peephole_forget * c).sigmoid()
        c = f * c + i * g.tanh()
        h = (o + cell.peephole_output * c).sigmoid() * c.tanh()
        h = h if cell.weight_hr is None else h @ cell.weight_hr.T
        expected.append(h)
    found, _ = Recurrent([cell])(inputs, initial=[start])
    torch.testing.assert_close(found, torch.stack(expected, 1), rtol=0, atol=1e-14)
    with torch.no_grad():
        for name in ("peephole_input", "peephole_forget", "peephole_output"):
            getattr(cell, name).zero_()
    own = dict(cell.named_parameters())
    weights = {name: weight for name, weight in own.items() if not name.startswith("peephole")}
    plain = LSTMCell(INPUT, HIDDEN, proj_size=proj_size, weights=weights)
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], Recurrent([plain])(inputs)[0], rtol=0, atol=1e-14)
