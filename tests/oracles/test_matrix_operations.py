"""Operations on matrices, heads, norms and whole states in every interpreter of the arithmetic. All in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from connected_models import LENGTHS, TIME, assert_right, numbers_of, table_of
from torch import Tensor, nn
from torch.nn import functional

import rote
from rote.analyses.adjoint import Recording, write
from rote.analyses.reference_parts import BothParts, Parted
from rote.analyses.splitting import Carried, Rules, Split, part_of
from rote.cells import Cell, Plain, Recurrent, run_stacked, stack, unroll
from rote.cells.arithmetic import Arithmetic, Arrangement, Matrices, V, centered, repeated, summed, tiled
from rote.cells.diagram import diagram
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.testing import check_cell

INPUT, HIDDEN, HEADS = 3, 4, 2
SHAPE = Matrices(HEADS, 3, 2)


class EveryMatrixOperation(Cell):
    """No unit that anybody would use: each operation on matrices, heads and whole values once."""

    gate_names, row_groups, recurrent_matrix = ("keep",), (1,), False
    state_names = ("hidden", "memory", "count", "highest", "last")
    whole_states = ("count", "highest")
    start_values = {"highest": -1e30}  # noqa: RUF012
    weight_qkv: Tensor
    weight_heads: Tensor
    bias_heads: Tensor

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return HIDDEN, SHAPE.size, HEADS, HEADS, self.input_size

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        rows = 2 * HEADS * SHAPE.rows + HEADS * SHAPE.columns + HEADS
        return {"weight_qkv": (rows, self.input_size), "weight_heads": (HIDDEN, 2), "bias_heads": (HIDDEN,)}

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory, count, highest, last = state
        sizes = [HEADS * SHAPE.rows] * 2 + [HEADS * SHAPE.columns, HEADS]
        q, k, v, i = a.pieces(a.linear(projected - a.scale(last, 0.5), self.weight_qkv), sizes)
        top = a.maximum(highest, a.whole(i))
        keep = a.gate("keep", a.whole(a.exp(a.log_sigmoid(i))))
        count = a.product(a.exp(highest - top), count) + a.exp(i - top)
        k = a.norm(k, SHAPE.rows, 1e-2, "length")
        memory = a.product(a.arrange(keep, SHAPE.from_heads), memory) + a.outer(a.whole(k), v, SHAPE)
        memory = a.settle(memory + a.outer(q, v - a.read(a.whole(k), memory, SHAPE), SHAPE))
        y = a.product(a.arrange(a.reciprocal(count), repeated(SHAPE.columns)), a.read(q, memory, SHAPE))
        y = a.norm(y, HIDDEN, 1e-2) + a.norm(v, SHAPE.columns, 1e-2, "layer")
        hidden = a.within_heads(y, self.weight_heads, HEADS) + a.constant(self.bias_heads)
        return a.settle(hidden), memory, count, top, projected


def plain(cell: Any, inputs: Tensor) -> Tensor:
    """The same in torch's own words, the memory as a matrix for each head."""
    batch, states = len(inputs), []
    last, count = torch.zeros_like(inputs[:, 0]), inputs.new_zeros(batch, HEADS)
    memory, top = inputs.new_zeros(batch, HEADS, SHAPE.rows, SHAPE.columns), inputs.new_full((batch, HEADS), -1e30)
    for x in inputs.unbind(1):
        q, k, v, i = ((x - last / 2) @ cell.weight_qkv.T).split([6, 6, 4, HEADS], -1)
        q, k, v = (value.view(batch, HEADS, -1) for value in (q, k, v))
        before, top = top, torch.maximum(top, i)
        count = (before - top).exp() * count + (i - top).exp()
        k = k / (k.square().sum(-1, keepdim=True) + 1e-2).sqrt()
        memory = i.sigmoid()[..., None, None] * memory + torch.einsum("bhk,bhv->bhkv", k, v)
        memory = memory + torch.einsum("bhk,bhv->bhkv", q, v - torch.einsum("bhk,bhkv->bhv", k, memory))
        y = (torch.einsum("bhk,bhkv->bhv", q, memory) / count[..., None]).flatten(1)
        y = functional.rms_norm(y, (HIDDEN,), eps=1e-2) + functional.layer_norm(v, (2,), eps=1e-2).flatten(1)
        last = x
        states.append(y @ torch.block_diag(*cell.weight_heads.split(2)).T + cell.bias_heads)
    return torch.stack(states, 1)


def spread(module: nn.Module) -> None:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(0.5 * torch.randn(weight.shape, dtype=weight.dtype, generator=generator))


def model_of(layers: int = 1, both: bool = False) -> SequenceModel:
    sides = 1 + both
    sizes = [INPUT if layer == 0 else sides * HIDDEN for layer in range(layers) for _ in range(sides)]
    recurrent = Recurrent([EveryMatrixOperation(size, HIDDEN) for size in sizes], bidirectional=both)
    model = SequenceModel(recurrent, nn.Embedding(7, INPUT), nn.Linear(recurrent.output_size, 5)).double()
    spread(model)
    return model


def test_a_step_of_all_of_them_keeps_the_contract_and_is_what_torch_computes() -> None:
    check_cell(EveryMatrixOperation)
    cell, inputs = EveryMatrixOperation(INPUT, HIDDEN).double(), torch.randn(2, TIME, INPUT, dtype=torch.float64)
    torch.testing.assert_close(Recurrent([cell])(inputs)[0], plain(cell, inputs), rtol=0, atol=1e-13)
    assert float(cell.zero_state(2)[3].max()) == -1e30


@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, False), (2, True)])
def test_all_of_them_have_their_derivative(layers: int, both: bool) -> None:
    model, tokens = model_of(layers, both), numbers_of(7)
    found = rote.connectivity(model, tokens, lengths=LENGTHS)
    assert_right(found, model, tokens, table_of(model), LENGTHS)
    assert rote.gradient_flow(model, tokens, at=3).error < 1e-11


def test_replicas_learn_what_each_does_alone() -> None:
    alone = [EveryMatrixOperation(INPUT, HIDDEN).double() for _ in range(2)]
    stacked, vectors = stack(alone), torch.randn(2, 2, TIME, INPUT, dtype=torch.float64)
    hidden, _ = run_stacked(stacked, vectors)
    hidden.square().sum().backward()
    for index, cell in enumerate(alone):
        run = unroll(cell, vectors[index], cell.zero_state(2)).states["hidden"]
        run.square().sum().backward()
        torch.testing.assert_close(hidden[index], run, rtol=0, atol=1e-13)
        for name, weight in cell.named_parameters():
            torch.testing.assert_close(stacked.get_parameter(name).grad[index], weight.grad, rtol=0, atol=1e-12)


def test_its_drawing_has_every_state() -> None:
    cell = EveryMatrixOperation(INPUT, HIDDEN).double()
    drawn = diagram(cell, torch.randn(INPUT, dtype=torch.float64), [value[0] for value in cell.zero_state(1)])
    assert set(drawn.outputs) == set(cell.state_names)
    assert "maximum" in {node.kind for node in drawn.nodes}


@pytest.mark.parametrize("how", [repeated(3), tiled(2), tiled(3, 2), summed(2), centered(2), tiled(2, 3).transposed])
def test_the_way_back_of_an_arrangement_is_its_transpose(how: Arrangement) -> None:
    size, generator = 12, torch.Generator().manual_seed(0)
    matrix = how.forward(torch.eye(size, dtype=torch.float64)).T  # [out, in]
    block = torch.randn(2, len(matrix), dtype=torch.float64, generator=generator)
    torch.testing.assert_close(how.back(block), block @ matrix, rtol=0, atol=1e-15)


OPERATIONS: dict[str, Any] = {
    "outer": lambda a, x, y: a.outer(a.pieces(x, [6, 6])[0], a.pieces(y, [4, 8])[0], SHAPE),
    "read": lambda a, x, y: a.read(a.pieces(x, [6, 6])[0], y, SHAPE),
    "read, whole query": lambda a, x, y: a.read(a.whole(a.pieces(x, [6, 6])[0]), y, SHAPE),
    "rms": lambda a, x, y: a.norm(x + y, 3, 1e-3),
    "layer": lambda a, x, y: a.norm(x - y, 4, 1e-3, "layer"),
    "length": lambda a, x, y: a.norm(x, 6, 1e-3, "length"),
    "within_heads": lambda a, x, y: a.within_heads(x, torch.linspace(-1, 1, 36).double().view(9, 4), 3),
    "maximum": lambda a, x, y: a.product(a.maximum(x, y), y),
    "reciprocal": lambda a, x, y: a.product(a.reciprocal(a.square(x) + a.constant(torch.ones(12).double())), y),
    "sum": lambda a, x, y: a.arrange(a.product(x, y), summed(4)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_one_sums_to_the_value_and_pulls_back_as_autograd_does(name: str) -> None:
    operation, generator = OPERATIONS[name], torch.Generator().manual_seed(1)
    x, y = (torch.randn(2, 3, 12, dtype=torch.float64, generator=generator) for _ in range(2))  # by part
    expected = operation(Plain(), x.sum(1), y.sum(1))
    for rules in (Rules(), Rules("in_span", "source"), Rules("in_span", "relevant"), Rules(gates="whole")):
        both = operation(BothParts(rules), Parted(*x.unbind(1)), Parted(*y.unbind(1)))
        torch.testing.assert_close(both.total, expected, rtol=0, atol=1e-13)
        halves = [
            operation(Carried(rules), *(Split(v.sum(1)[:, None], v[:, k, None], v[:, 2, None]) for v in (x, y)))
            for k in (0, 1)
        ]
        if rules.interactions != "relevant":  # there only the relevant part is carried this way
            total = part_of(halves[0]) + part_of(halves[1]) + halves[0].bias
            torch.testing.assert_close(total[:, 0], expected, rtol=0, atol=1e-13)
        torch.testing.assert_close(part_of(halves[0])[:, 0], both.relevant, rtol=0, atol=1e-13)
    record, leaves = Recording(), [x.sum(1).requires_grad_(), y.sum(1).requires_grad_()]
    recorded = [record.leaf(leaf.detach()) for leaf in leaves]
    made = operation(record, *recorded)
    block = torch.randn(1, *made.total.shape, dtype=torch.float64, generator=generator)
    exact = torch.autograd.grad(
        operation(Plain(), *leaves), leaves, block[0], allow_unused=True, materialize_grads=True
    )
    for terms, theirs in zip(record.pull_back([(made, block)], recorded), exact, strict=True):
        ours = torch.zeros_like(theirs)[None]
        write(terms, ours)
        torch.testing.assert_close(ours[0], theirs, rtol=0, atol=1e-13)


def test_each_part_is_divided_by_the_norm_of_the_whole() -> None:
    a, value = BothParts(Rules()), Parted(*torch.randn(3, 2, 6, dtype=torch.float64).unbind())
    length = value.total.view(2, 2, 3).square().mean(-1, keepdim=True).add(1e-3).sqrt()
    for ours, part in zip(a.norm(value, 3, 1e-3).parts, value.parts, strict=True):
        torch.testing.assert_close(ours, (part.view(2, 2, 3) / length).flatten(1), rtol=0, atol=1e-14)


def test_a_model_that_starts_all_states_from_one_vector_refuses_states_with_their_own_start() -> None:
    from rote.cells.stacked import with_equal_states

    with pytest.raises(UsageError, match="begin with values of their own"):
        with_equal_states(EveryMatrixOperation(INPUT, HIDDEN))
