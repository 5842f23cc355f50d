"""Connectivity through what single steps read of a memory, against torch's autograd. All in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import rote
from rote.cells import Recurrent, cells
from rote.cells.arithmetic import Arithmetic, V
from rote.models.sequence import SequenceModel


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["linear_attention", "ssd", "delta", "gated_delta", "rwkv7", "attention"])
def test_blocks_of_outputs_and_started_memories_agree_with_autograd(
    cell: str, layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rote.analyses.carried_gradients.NUMBERS", 0)  # this way for every cell
    monkeypatch.setattr("rote.analyses.outputs_over_time.THROUGH_MEMORY", 1)  # as few outputs at once as there may be
    torch.manual_seed(0)
    model = SequenceModel(Recurrent(cell, 5, 8, layers=layers), nn.Embedding(9, 5), nn.Linear(8, 9)).double()
    begun = model.recurrent(torch.randn(2, 6, 5, dtype=torch.float64))[1]
    start: Any = [tuple(value.detach() for value in state) for state in begun]
    found = rote.connectivity(model, torch.randint(9, (2, 21)), lengths=[21, 10], initial=start)
    assert model.recurrent.cell(0).direct_steps is not None
    assert found.error.max() < 1e-8


def test_another_step_says_for_itself_what_it_depends_on() -> None:
    class Other(cells["delta"]):  # type: ignore[misc]
        def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
            return super().step(a, projected, state)  # type: ignore[no-any-return]

    assert cells["delta"](3, 4).direct_steps == 4
    assert Other(3, 4).direct_steps is None
