"""Connectivity through layers that are cut at what goes from step to step, against torch's autograd. In float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from connected_models import KINDS, assert_right, model_of, numbers_of, table_of
from min_gru import MinGRUCell, WideCell
from torch import Tensor, nn

import rote
from rote.analyses import carried_gradients, outputs_over_time
from rote.cells import Cell, Recurrent, cells
from rote.cells.arithmetic import Arithmetic, V
from rote.models.sequence import SequenceModel

CUT = (
    "min_gru", "min_lstm", "lru", "rg_lru", "s6 signed", "rwkv4", "rwkv7", "linear_attention", "delta", "gated_delta",
    "ssd", "mlstm", "block",
)  # fmt: skip
AT_ONCE = [kind for kind in KINDS if kind in CUT or not cells[kind.split()[0]].recurrent_matrix]
INPUT, HIDDEN = 3, 4


class TurningCell(Cell):
    """A complex number that each step turns and shrinks as the input says."""

    row_groups = (1, 1, 1, 1)
    gate_names = ("cosine", "sine")
    state_names = ("hidden", "real", "imaginary")
    recurrent_matrix = False

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, re, im = state
        c, s, x, y = a.pieces(projected + a.constant(self.bias), [self.hidden_size] * 4)
        c, s = a.gate("cosine", a.scale(a.tanh(c), 0.7)), a.gate("sine", a.scale(a.tanh(s), 0.7))
        re, im = a.product(c, re) - a.product(s, im) + x, a.product(s, re) + a.product(c, im) + y
        return a.settle(a.product(a.sigmoid(re), im)), a.settle(re), a.settle(im)


class SecretCell(MinGRUCell):
    """Its own way over time goes from step to step, and says so to nobody."""

    def over_time(self, a: Any, projected: Tensor, start: Any, mask: Any) -> Any:
        bias, h, given = self.bias, start[0], []
        for now in projected.unbind(-2):
            z, n = (now + bias).chunk(2, -1)
            h = (1 - z.sigmoid()) * h + z.sigmoid() * n
            given.append(h)
        return torch.stack(given, -2), (h,)


@pytest.fixture(autouse=True)
def cuts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every layer is cut that can be, outputs go back four at a time; what came of each layer."""
    made: list[Any] = []

    def noted(*given: Any) -> Any:
        made.append(carried_gradients.cut_layer(*given))
        return made[-1]

    monkeypatch.setattr(carried_gradients, "STEPS", 0)
    monkeypatch.setattr(outputs_over_time, "LANES", 4)
    monkeypatch.setattr(outputs_over_time, "FEWEST", 2)
    monkeypatch.setattr(outputs_over_time, "cut_layer", noted)
    return made


def own(cell: type[Cell], layers: int) -> SequenceModel:
    recurrent = Recurrent([cell(HIDDEN if layer else INPUT, HIDDEN) for layer in range(layers)])
    return SequenceModel(recurrent, nn.Embedding(7, INPUT), nn.Linear(HIDDEN, 6)).double()


@pytest.mark.parametrize("time", [1, 2, 3, 11])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", AT_ONCE)
def test_blocks_of_outputs_of_every_cell_so_no_step_or_block_is_off_by_one(kind: str, layers: int, time: int) -> None:
    model, tokens = model_of(kind, layers=layers), numbers_of(7, 2, time)
    lengths = torch.tensor([time, (time + 1) // 2])
    assert_right(rote.connectivity(model, tokens, lengths=lengths), model, tokens, table_of(model), lengths)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", [TurningCell, WideCell, MinGRUCell])
def test_cells_of_ones_own_are_cut_as_well(cell: type[Cell], layers: int, cuts: list[Any]) -> None:
    torch.manual_seed(1)
    model, tokens = own(cell, layers), numbers_of(7, 2, 11)
    assert_right(rote.connectivity(model, tokens), model, tokens, table_of(model), torch.tensor([11, 11]))
    assert len(cuts) == layers
    assert None not in cuts


@pytest.mark.parametrize("kind", CUT)
def test_layers_that_are_known_are_cut_so_speed_is_not_lost_without_a_word(kind: str, cuts: list[Any]) -> None:
    _ = rote.connectivity(model_of(kind), numbers_of(7, 1, 11))
    assert len(cuts) == 1
    assert cuts[0] is not None


@pytest.mark.parametrize("kind", ["min_gru", "rwkv4", "mlstm", "lru"])
def test_states_from_before_are_gone_on_from(kind: str, cuts: list[Any]) -> None:
    model = model_of(kind)
    begun = model.recurrent(torch.randn(2, 6, INPUT, dtype=torch.float64))[1]
    start: Any = [tuple(value.detach() for value in state) for state in begun]
    assert rote.connectivity(model, numbers_of(7, 2, 11), initial=start).error.max() < 1e-11
    assert cuts[0] is not None


@pytest.mark.parametrize("layers", [1, 2])
def test_a_way_over_time_that_is_not_known_is_not_cut(layers: int, cuts: list[Any]) -> None:
    model, tokens = own(SecretCell, layers), numbers_of(7, 2, 11)
    assert_right(rote.connectivity(model, tokens), model, tokens, table_of(model), torch.tensor([11, 11]))
    assert cuts[0] is None


def test_a_block_with_a_way_over_time_of_its_own_does_not_pass_for_one_without() -> None:
    class Other(cells["block"]):  # type: ignore[misc]
        def over_time(self, *given: Any) -> Any:
            return super().over_time(*given)

    assert cells["block"].alone
    assert not Other.alone


def test_matrices_that_would_cost_more_than_they_save_are_not_made(
    cuts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokens = model_of("min_gru"), numbers_of(7, 1, 11)
    for limit, value, cut in (("STEPS", 2, True), ("STEPS", 3, False), ("NUMBERS", 11 * 4 * 4 - 1, False)):
        with monkeypatch.context() as patch:
            patch.setattr(carried_gradients, limit, value)
            _ = rote.connectivity(model, tokens).values
            assert (cuts[-1] is not None) is cut
