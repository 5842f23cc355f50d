"""The recipe of the lookup models: what a finished training gives, at the end and on the way, alone and stacked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rote.laboratory.bundled_models import trained_once
from rote.models import EncoderDecoderConfig
from rote.recipes import Trained
from rote.store import Store
from rote.studies.realization.models import KINDS, LookupRecipe
from rote.studies.realization.training import accuracies, make_program
from rote.training import TrainingConfig

TRAINING = TrainingConfig(steps=5, batch=116, optimizer="adam", learning_rate=0.01, record_every=1, select="best")
RECIPE = LookupRecipe(model=EncoderDecoderConfig(hidden=6, embedding=3), training=TRAINING)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return trained_once(RECIPE, 3, Store(tmp_path_factory.mktemp("store")))


def test_networks_have_the_weights_names_and_labels(trained: Trained) -> None:
    for step in (0, 4, None):
        (network,) = trained.run.networks(step)
        weights = trained.weights(step)
        for name, value in network.model.state_dict().items():
            assert torch.equal(value, weights[name])
        assert network.labels == {"cell": "gru", "seed": 3, "step": 5 if step is None else step}
        assert (list(network.inputs), list(network.outputs)) == RECIPE.task.vocabulary()
        assert set(network.example.split()) <= set(network.inputs)


def test_weights_stay_at_chosen_epochs(trained: Trained) -> None:
    assert RECIPE.epochs(trained.steps) == {0: 0, 4: 2, 5: 2}  # an epoch is two updates


def test_the_accuracy_of_the_kept_weights_is_that_of_the_program(trained: Trained, tmp_path: Path) -> None:
    task = replace(RECIPE.task, longer=1)
    measured = accuracies(trained, task, "cpu")
    assert set(measured) == {name for name, rows in task.splits().items() if rows} >= {"train", "longer_new"}
    program = make_program(RECIPE, (3,), "cpu")
    program.model.load_state_dict(trained.weights())
    assert measured["heldout_tables"] == program.accuracy("heldout_tables")


def test_a_baseline_is_the_same_beside_all_guided_models() -> None:
    other = replace(RECIPE, guidance=0.5)
    assert other != RECIPE
    assert RECIPE.baseline() == other.baseline() == replace(other, guided=False)
    assert (RECIPE.baseline().kind, RECIPE.kind) == KINDS
    assert RECIPE.baseline().label == "gru baseline"


def test_seeds_are_trained_six_at_a_time_so_that_more_seeds_find_the_first_again() -> None:
    few, more = (RECIPE.jobs(range(count)) for count in (6, 8))
    assert [job.request.seeds for job in more] == [(0, 1, 2, 3, 4, 5), (6, 7)]
    assert few[0].request.id == more[0].request.id
