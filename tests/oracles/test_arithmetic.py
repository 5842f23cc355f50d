"""Every operation of the arithmetic in every interpreter, and gates that are used whole. All in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from connected_models import LENGTHS, TIME, assert_right, numbers_of, table_of
from torch import Tensor, nn
from torch.nn import functional

import rote
from rote.analyses.adjoint import Recording
from rote.analyses.reference_parts import BothParts
from rote.analyses.splitting import Carried, Rules
from rote.cells import Cell, Recurrent, run_stacked, stack, unroll
from rote.cells.arithmetic import NAMED, Arithmetic, V
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.testing import check_cell

INPUT, HIDDEN = 3, 4


def decay(value: Tensor, rate: Tensor) -> Tensor:
    return torch.exp(-rate.exp() * torch.sigmoid(value))


class EveryOperation(Cell):
    """No unit that anybody would use: each operation once, so that every interpreter is asked for all of them."""

    row_groups, gate_names, recurrent_matrix = (4,), ("keep", "candidate"), False
    rate: Tensor
    weight_pair: Tensor

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return super().shapes() | {
            "rate": (self.hidden_size,),
            "weight_pair": (self.hidden_size, 2 * self.hidden_size),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        (h,) = state
        p, q, r, s = a.pieces(projected + a.constant(self.bias), [self.hidden_size] * 4)
        keep = a.gate("keep", a.apply(decay, p - h, self.rate))
        both = a.join([a.gelu(q) - a.relu(h), a.silu(-r)])
        root = a.product(a.sqrt(a.whole(a.softplus(s))), q)  # whole: a part may be below zero
        n = a.tanh(a.linear(both, self.weight_pair) + root + a.scale(a.square(h), self.rate))
        n = a.gate("candidate", n + a.product(a.exp(a.log_sigmoid(q)), a.whole(a.sigmoid(p))))
        return (a.settle(a.product(keep, h) + a.product(1 - keep, n)),)


def plain(cell: Cell, inputs: Tensor) -> Tensor:
    """The same in torch's own words."""
    rate, h, states = cell.get_parameter("rate"), inputs.new_zeros(len(inputs), HIDDEN), []
    for x in inputs.unbind(1):
        p, q, r, s = functional.linear(x, cell.weight_ih, cell.bias_ih).chunk(4, -1)
        keep = decay(p - h, rate)
        both = torch.cat([functional.gelu(q) - h.relu(), functional.silu(-r)], -1)
        n = torch.tanh(both @ cell.get_parameter("weight_pair").T + functional.softplus(s).sqrt() * q + h * h * rate)
        n = n + functional.logsigmoid(q).exp() * p.sigmoid()
        h = keep * h + (1 - keep) * n
        states.append(h)
    return torch.stack(states, 1)


def model_of(kind: Any, layers: int = 1, both: bool = False, outputs: int = 5) -> SequenceModel:
    sides = 1 + both
    made = [kind(INPUT if layer == 0 else sides * HIDDEN, HIDDEN) for layer in range(layers) for _ in range(sides)]
    recurrent = Recurrent(made, bidirectional=both)
    model = SequenceModel(recurrent, nn.Embedding(7, INPUT), nn.Linear(recurrent.output_size, outputs)).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(0.8 * torch.randn(weight.shape, dtype=weight.dtype, generator=generator))
    return model


def test_a_step_of_all_operations_keeps_the_contract_and_is_what_torch_computes() -> None:
    check_cell(EveryOperation)
    cell, inputs = EveryOperation(INPUT, HIDDEN).double(), torch.randn(2, TIME, INPUT, dtype=torch.float64)
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], plain(cell, inputs), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, False), (2, True)])
def test_all_of_them_have_their_derivative(layers: int, both: bool) -> None:
    model, tokens = model_of(EveryOperation, layers, both), numbers_of(7)
    found = rote.connectivity(model, tokens, lengths=LENGTHS)
    assert_right(found, model, tokens, table_of(model), LENGTHS)
    assert rote.gradient_flow(model, tokens, at=3).error < 1e-12
    with torch.inference_mode():  # where autograd cannot be asked for a derivative
        again = rote.connectivity(model, tokens, lengths=LENGTHS)
    torch.testing.assert_close(again.values, found.values, rtol=0, atol=1e-14)


def test_the_step_jacobian_of_a_composed_function_is_that_of_autograd() -> None:
    model, tokens = model_of(EveryOperation), numbers_of(7)[:1]
    cell = model.recurrent.cell(0)
    states = unroll(cell, model.embed(tokens), cell.zero_state(1)).states["hidden"][0]
    flow = rote.gradient_flow(model, tokens, at=TIME - 1)
    for t in range(1, TIME):
        vector = model.embed(tokens)[:, t]
        exact: Any = torch.autograd.functional.jacobian(
            lambda h, x=vector: cell.step(rote.cells.Plain(), cell.project(x), (h,))[0], states[None, t - 1]
        )
        norm = torch.linalg.matrix_norm(exact[0, :, 0], 2)
        torch.testing.assert_close(flow.jacobians[0]["spectral"][0, t], norm, rtol=0, atol=1e-12)


def test_replicas_with_weights_inside_functions_learn_what_each_does_alone() -> None:
    alone = [EveryOperation(INPUT, HIDDEN).double() for _ in range(3)]
    stacked, vectors = stack(alone), torch.randn(3, 2, TIME, INPUT, dtype=torch.float64)
    hidden, _ = run_stacked(stacked, vectors)
    hidden.square().sum().backward()
    for index, cell in enumerate(alone):
        run = unroll(cell, vectors[index], cell.zero_state(2)).states["hidden"]
        run.square().sum().backward()
        torch.testing.assert_close(hidden[index], run, rtol=0, atol=1e-14)
        for name, weight in cell.named_parameters():
            torch.testing.assert_close(stacked.get_parameter(name).grad[index], weight.grad, rtol=0, atol=1e-12)


class OneFunction(Cell):
    row_groups, gate_names, recurrent_matrix = (1,), ("candidate",), False
    function = ""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        total = projected + a.constant(self.bias)
        value = a.square(total) + a.constant(torch.ones_like(self.bias)) if self.function == "sqrt" else total
        return (a.settle(a.gate("candidate", getattr(a, self.function)(value))),)


@pytest.mark.parametrize("name", NAMED)
def test_the_part_of_a_word_in_a_function_is_the_mean_of_what_it_adds_first_and_last(name: str) -> None:
    kind = type(name, (OneFunction,), {"function": name})
    model = model_of(kind)
    tokens = numbers_of(7)[:1]
    cell, vectors = model.recurrent.cell(0), model.embed(tokens).detach()[0]
    function = getattr(torch, name, None) or getattr(functional, name.replace("log_", "log"))
    for position in (0, 3):  # at its own step all that is not bias is the word's: phi(v) - phi(b)
        parts = rote.decompose(model, tokens, [(position, position)])
        b, v = cell.bias, vectors[position] @ cell.weight_ih.T + cell.bias
        if name == "sqrt":
            b, v = b * b + 1, v * v + 1
        expected = (function(v) - function(b)).detach()
        torch.testing.assert_close(parts.relevant[0, 0, position], expected, rtol=0, atol=1e-13)
        assert not parts.relevant[0, 0, :position].any()
        assert float(parts.error.max()) < 1e-13


STEPS: dict[str, tuple[Any, str]] = {
    "torch.exp": (lambda a, p, h: torch.exp(p), r"a\.exp\(value\)"),
    "method": (lambda a, p, h: p.tanh(), r"a\.tanh\(value\)"),
    "logsigmoid": (lambda a, p, h: functional.logsigmoid(p), r"a\.log_sigmoid\(value\)"),
    "cos": (lambda a, p, h: torch.cos(p), r"a\.apply\(torch\.cos, value\)"),
    "product": (lambda a, p, h: p * h, r"a\.product\(gate, source\)"),
    "weight": (lambda a, p, h: torch.ones(HIDDEN) * p, r"a\.scale\(value, weight\)"),
    "division": (lambda a, p, h: p / 2, r"a\.reciprocal\(value\)"),
    "matrix": (lambda a, p, h: p @ torch.eye(HIDDEN), r"a\.linear\(value, weight\)"),
    "cat": (lambda a, p, h: a.linear(torch.cat([p, h], -1), torch.ones(HIDDEN, 2 * HIDDEN)), r"a\.join"),
    "chunk": (lambda a, p, h: p.chunk(1, -1)[0], r"a\.pieces\(value, sizes\)"),
    "sum": (lambda a, p, h: a.apply(lambda v: v.sum(-1), p), "each number by itself"),
}


@pytest.mark.parametrize("mistake", STEPS)
def test_a_torch_function_on_a_value_is_refused_by_the_name_of_the_right_operation(mistake: str) -> None:
    wrong, right = STEPS[mistake]

    class Mistaken(Cell):
        row_groups, gate_names, recurrent_matrix = (1,), ("candidate",), False

        def step(self, a: Any, projected: Any, state: Any) -> Any:
            (h,) = state
            return (a.settle(projected + wrong(a, projected, h)),)

    units = 1 if mistake == "sum" else HIDDEN  # of one unit, so that the plain states have the right size
    cell = Mistaken(INPUT, units)
    with pytest.raises(UsageError, match=right):  # before trace, where values are tensors and nothing would be noticed
        rote.trace(rote.adapt(recurrent=Recurrent([cell])), torch.randn(1, 2, INPUT))
    arithmetics: list[Any] = [Carried(Rules()), BothParts(Rules()), Recording()]
    for a in arithmetics:
        given, h = (a.constant(torch.ones(units)) for _ in range(2))
        if mistake != "sum":
            with pytest.raises(UsageError, match=right):
                cell.step(a, given, (h,))


def lstm_by_true_gates(cell: Cell, vectors: Tensor, chosen: Tensor) -> Tensor:
    """The part of a span with the gates as they are: c and tanh are linear in their parts but for the bias."""
    w, v, b = cell.weight_ih, cell.weight_hh, cell.bias
    h, c = torch.zeros(2, HIDDEN, dtype=torch.float64)
    parts: list[Tensor] = [torch.zeros(HIDDEN, dtype=torch.float64) for _ in range(4)]
    found = []
    for x, inside in zip(vectors, chosen, strict=True):
        rel_h, rel_c, ref_h, ref_c = parts
        total = x @ w.T + h @ v.T + b
        i, f, g, o = total.chunk(4)
        candidate = [(x * inside) @ w.T + rel_h @ v.T, ref_h @ v.T + b]
        g_rel, g_ref = (part.chunk(4)[2] for part in candidate)
        own = (torch.tanh(g_rel + g_ref) - torch.tanh(g_ref) + torch.tanh(g) - torch.tanh(g - g_rel)) / 2
        rel_c = f.sigmoid() * rel_c + i.sigmoid() * own
        ref_c = f.sigmoid() * ref_c + i.sigmoid() * torch.tanh(g_ref)
        c = f.sigmoid() * c + i.sigmoid() * torch.tanh(g)
        out = (torch.tanh(rel_c + ref_c) - torch.tanh(ref_c) + torch.tanh(c) - torch.tanh(c - rel_c)) / 2
        h, parts = o.sigmoid() * torch.tanh(c), [o.sigmoid() * out, rel_c, o.sigmoid() * torch.tanh(ref_c), ref_c]
        found.append(torch.cat([parts[0], parts[2]]))
    return torch.stack(found)


def test_with_whole_gates_an_lstm_follows_the_loop_that_uses_them_as_they_are() -> None:
    model, tokens = model_of(rote.cells.LSTMCell), numbers_of(7)[:1]
    vectors = model.embed(tokens).detach()[0]
    parts = rote.decompose(model, tokens, [(1, 2), (0, TIME - 1)], gates="whole")
    for span, chosen in enumerate(([1, 2], range(TIME))):
        inside = torch.zeros(TIME, 1, dtype=torch.float64)
        inside[list(chosen)] = 1
        expected = lstm_by_true_gates(model.recurrent.cell(0), vectors, inside).detach()
        torch.testing.assert_close(parts.relevant[0, span], expected[:, :HIDDEN], rtol=0, atol=1e-13)
        assert parts.reference is not None
        torch.testing.assert_close(parts.reference[0], expected[:, HIDDEN:], rtol=0, atol=1e-13)
    assert float(parts.irrelevant[:, 1].abs().max()) < 1e-15
    assert "gates='whole'" in parts.rules


@pytest.mark.parametrize("kind", ["elman", "gru", "lstm", "nested_lstm"])
@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, False), (2, True)])
def test_with_whole_gates_parts_of_a_span_and_its_complement_sum_to_the_state(
    kind: str, layers: int, both: bool
) -> None:
    model, tokens = model_of(rote.cells.cells[kind], layers, both), numbers_of(7)
    inside = torch.zeros(len(tokens), 2, TIME, dtype=torch.bool)
    inside[:, 0, 1:3] = True
    inside[:, 1] = ~inside[:, 0]
    for rules in ("shapley", "murdoch2018"):
        parts = rote.decompose(model, tokens, inside, lengths=LENGTHS, rules=rules, gates="whole")
        hidden = rote.trace(SequenceModel(model.recurrent, model.embedding), tokens, lengths=LENGTHS).logits
        reference = torch.zeros_like(hidden) if parts.reference is None else parts.reference
        torch.testing.assert_close(parts.relevant.sum(1) + reference, hidden, rtol=0, atol=1e-12)
        assert float(parts.error.max()) < 1e-12
        assert float(parts.growth.max()) < 3


def test_what_does_not_fit_whole_gates_is_refused() -> None:
    model, tokens = model_of(rote.cells.LSTMCell), numbers_of(7)
    with pytest.raises(UsageError, match="gates='whole' uses every gate as it is"):
        rote.decompose(model, tokens, [(0, 0)], gates="whole", output_gate=True)
    with pytest.raises(UsageError, match="'gates' must be"):
        rote.decompose(model, tokens, [(0, 0)], gates="half")  # type: ignore[arg-type]

    class WholeState(Cell):
        row_groups, gate_names, recurrent_matrix = (1,), ("update",), False

        def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
            return (a.settle(a.gate("update", a.sigmoid(projected + a.constant(self.bias)))),)

    with pytest.raises(UsageError, match="A state must be taken apart"):
        rote.decompose(model_of(WholeState), tokens, [(0, 0)], gates="whole")
