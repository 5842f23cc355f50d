"""Any cell under Elman's procedure, against his own networks and against plain updates of one network. In float64."""

from __future__ import annotations

import numpy as np
import torch

from rote.config import to_plain
from rote.laboratory import studies
from rote.models.online_cells import StackedOnline
from rote.studies.foundations.elman import ElmanRecipe

INPUTS = np.random.default_rng(0).integers(0, 2, (2, 9, 3)).astype(float)


def test_each_symbol_changes_each_network_by_its_own_error_through_one_step() -> None:
    seeds = [4, 7]
    together = StackedOnline("gru", 3, 4, 3, seeds, 0.5, torch.float64)
    together.learn(INPUTS[:, :-1], INPUTS[:, 1:], 0.3)
    for index, seed in enumerate(seeds):
        alone = StackedOnline("gru", 3, 4, 3, [seed], 0.5, torch.float64)
        gru = torch.nn.GRUCell(3, 4).double()
        with torch.no_grad():
            for name, weight in gru.named_parameters():
                weight.copy_(alone.cell.get_parameter(name)[0])
        outer, state = alone.outer[0].detach().clone().requires_grad_(), torch.zeros(1, 4, dtype=torch.float64)
        for now, then in zip(INPUTS[index, :-1], INPUTS[index, 1:], strict=True):
            state = gru(torch.from_numpy(now)[None], state.detach())
            error = (torch.sigmoid(state @ outer[:, :-1].T + outer[:, -1]) - torch.from_numpy(then)).square().sum() / 2
            weights = [*gru.parameters(), outer]
            with torch.no_grad():
                for weight, change in zip(weights, torch.autograd.grad(error, weights), strict=True):
                    weight.sub_(change, alpha=0.3)
        for name, weight in gru.named_parameters():
            torch.testing.assert_close(together.cell.get_parameter(name)[index], weight, rtol=0, atol=1e-12)
        torch.testing.assert_close(together.outer[index], outer, rtol=0, atol=1e-12)


def test_a_network_is_opened_with_the_states_and_outputs_that_it_has() -> None:
    networks = StackedOnline("min_gru", 3, 4, 3, [1], 0.5, torch.float64)
    codes = np.eye(3)
    symbols = np.array([0, 2, 1, 1, 0])
    hidden, outputs = networks.run(codes[symbols][None])
    model = networks.replica(0, codes)
    tokens = torch.from_numpy(symbols)[None]
    torch.testing.assert_close(model.recurrent(model.embed(tokens))[0][0], torch.from_numpy(hidden[0]))
    odds = torch.log(torch.from_numpy(outputs[0] / (1 - outputs[0])))
    torch.testing.assert_close(model(tokens)[0], odds)


def test_elmans_own_trainings_are_found_as_before_and_others_are_not_taken_for_them() -> None:
    assert "cell" not in to_plain(ElmanRecipe())
    assert to_plain(ElmanRecipe(cell="lstm"))["cell"] == "lstm"
    for name in ("elman-xor", "elman-letters", "elman-words"):
        study = studies[name]()
        own, other = (study.jobs(study.resolve("smoke", changes)) for changes in ({}, {"cell": "s6"}))
        assert {job.request.id for job in own}.isdisjoint(job.request.id for job in other)
