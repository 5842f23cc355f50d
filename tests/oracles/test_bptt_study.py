"""The study bptt: its sequences, its terms against plain autograd, and its verdicts where the sum is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from rote.claims import judge, measure
from rote.errors import UsageError
from rote.figures import draw as draw_figure
from rote.laboratory import Laboratory
from rote.store import Store, Table
from rote.studies.foundations import bptt_training
from rote.studies.foundations.bptt import BpttStudy, RecallRecipe


def test_sequences_hold_the_symbol_to_recall_once_and_are_the_same_for_every_cell() -> None:
    recipe = RecallRecipe(time=9, symbols=3)
    tokens, keys = bptt_training.draw(recipe, seed=1, block=2, count=50)
    assert tokens.shape == (50, 9)
    assert ((tokens < 3).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(tokens.min(axis=1), keys)
    assert len(set(tokens.argmin(axis=1))) == 9, "the symbol stands anywhere"
    first, keys = bptt_training.draw(recipe, seed=1, block=2, count=50, first=True)
    np.testing.assert_array_equal(first[:, 0], keys)
    np.testing.assert_array_equal(tokens, bptt_training.draw(recipe, seed=1, block=2, count=50)[0])
    assert (tokens != bptt_training.draw(recipe, seed=2, block=2, count=50)[0]).any()


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
def test_the_terms_are_what_a_weight_used_at_one_step_only_gets(cell: str) -> None:
    """An oracle without the engines: torch's step functions with a weight of its own at every step."""
    recipe = RecallRecipe(time=5)
    recipe = replace(recipe, model=replace(recipe.model, cell=cell, hidden=4, embedding=3))
    model = bptt_training.networks(recipe, (0,)).replica(0, torch.float64)
    assert model.embedding is not None
    assert model.readout is not None
    found, norms = bptt_training.measured_terms(recipe, 3, model, 0)
    tokens, keys = (torch.from_numpy(part) for part in bptt_training.draw(recipe, 0, bptt_training.TEST, 3, first=True))
    own = model.recurrent.cell(0)
    step = {"elman": torch.nn.RNNCell, "lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell}[cell](3, 4).double()
    step.load_state_dict({name: getattr(own, name) for name, _ in step.named_parameters()})
    copies = [step.weight_hh.detach().clone().requires_grad_() for _ in range(5)]
    state = None
    for t, weight in enumerate(copies):
        given = {**dict(step.named_parameters()), "weight_hh": weight}
        state = torch.func.functional_call(step, given, (model.embedding(tokens[:, t]), state))
    hidden = state[0] if isinstance(state, tuple) else state
    cross_entropy(model.readout(hidden), keys, reduction="sum").backward()
    sizes = [float(weight.grad.norm()) for weight in copies if weight.grad is not None]
    assert sizes[0] == 0
    expected = np.log10(sizes[:0:-1]) - np.log10(sizes[-1])
    np.testing.assert_allclose(norms, expected, atol=1e-9)
    assert found["farthest"] == pytest.approx(expected[-1])
    assert found["decay"] == pytest.approx(np.polyfit(range(4), expected, 1)[0])
    assert max(found["sum_error"], found["states"], found["engines"]) < -12


def test_the_study_runs_and_is_judged_by_its_seeds(tmp_path: Path) -> None:
    result = Laboratory(Store(tmp_path), workers=1).run("bptt", "smoke", {"seeds": 5, "training.steps": 1})
    tables = result.run.tables()
    outcomes = {verdict.claim.id: verdict.outcome for verdict in result.verdicts}
    assert {outcomes[name] for name in ("bptt-sum", "bptt-unrolled", "bptt-tensor-op")} == {"tested"}
    assert tables["terms"].where(distance=0).column("mean") == [0.0] * 6
    spec = draw_figure(tables["terms"]).spec()
    assert [panel["title"].split(":")[0] for panel in spec["hconcat"]] == ["untrained", "trained"]
    seeds, claims = tables["seeds"], {claim.id: claim for claim in BpttStudy.claims}

    def outcome(claim: str, **changed: float) -> str:
        rows = [{**row, **changed} for row in seeds.records()]
        made = Table.make("seeds", "", seeds.columns, rows)
        return judge(claims[claim], measure(claims[claim], {"seeds": made})).outcome

    assert outcome("bptt-vanishing", decay=-0.01) == "supported"
    assert outcome("bptt-vanishing", decay=0.01) == "contradicted"
    assert outcome("bptt-gates", right=0.2) == "void", "networks that have not learned"
    assert outcome("bptt-gates", right=1.0, decay=0.0) == "contradicted", "no larger"
    without = measure(claims["bptt-gates"], {"seeds": seeds.where(cell="elman")})
    assert judge(claims["bptt-gates"], without).outcome == "not run", "a cell that was not asked for"


def test_more_sequences_train_nothing_and_the_networks_can_be_opened(tmp_path: Path) -> None:
    laboratory = Laboratory(Store(tmp_path), workers=1)
    laboratory.run("bptt", "smoke")
    assert laboratory.run("bptt", "smoke", {"sequences": 5}).computed == 3  # one measurement of each cell
    trainings = [row for row in Store(tmp_path).runs() if row.part == "training"]
    assert len(trainings) == 3
    for row in trainings:
        start, end = (Store(tmp_path).load(row.id).networks(step) for step in (0, None))
        assert [network.labels["step"] for network in (*start, *end)] == [0, 0, 4, 4]
        network = end[1]
        assert network.labels["seed"] == 1
        assert network.inputs == network.outputs == ("k0", "k1", "k2", "k3", "x0", "x1", "x2", "x3")
        assert sum(word.startswith("k") for word in network.example.split()) == 1
        tokens = torch.tensor([[network.inputs.index(word) for word in network.example.split()]])
        assert network.model(tokens).shape == (1, 6, 8)
        assert (network.model(tokens) != start[1].model(tokens)).any()


def test_wrong_settings_are_refused() -> None:
    for key, value, message in (
        ("cells", "elman,nested_lstm", "'cells' of the study 'bptt' must be of elman, lstm, gru. Got nested_lstm."),
        ("cells", "", "'cells' of the study 'bptt' must be of elman, lstm, gru. Got none."),
        ("time", 3, "'time' of the study 'bptt' must be at least 4. Got 3."),
        ("symbols", 1, "'symbols' of the study 'bptt' must be at least 2. Got 1."),
    ):
        with pytest.raises(UsageError) as caught:
            BpttStudy().resolve("quick", {key: value})
        assert str(caught.value) == message
