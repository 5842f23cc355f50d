"""How networks on text are trained: the loss over real words, which state is read, stopping and resuming."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from rote.errors import StoreError
from rote.laboratory import Laboratory, studies
from rote.models import TextModel
from rote.store import FinishedRun, Store
from rote.studies.foundations.padding import PaddingRecipe
from rote.studies.foundations.padding_training import PaddingProgram
from rote.studies.foundations.text_training import TextProgram
from rote.tasks.text import PADDING, Ragged
from rote.tasks.text_tasks import LanguageTask, Part, TaggingTask

SMALL = {"training.dtype": "float64", "variants": "own", "seeds": 1}


def recipe_of(name: str, **changes: object):
    study: Any = studies[name]()
    config = study.resolve("smoke", SMALL | {key.replace("__", "."): value for key, value in changes.items()})
    return study._recipe(config, "own"), config.task.load()


def trainings(store: Store) -> list[FinishedRun]:
    return [store.load(row.id) for row in store.runs() if row.part == "training"]


def padding_recipe(**changes: object) -> PaddingRecipe:
    config = studies["padding"]().resolve("smoke", {key.replace("__", "."): value for key, value in changes.items()})
    return PaddingRecipe(config.task, config.model, config.training)


@pytest.mark.parametrize("name", ["tagging", "language-modeling"])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_the_loss_is_the_mean_over_real_words_of_each_sentence_read_alone(name, l2):
    recipe, corpus = recipe_of(name, training__l2=l2)
    program = TextProgram(recipe, corpus, seed=0, device="cpu")
    rows, total, count = program.rows(0)[1], 0.0, 0
    for row in rows.tolist():
        tokens, lengths = (torch.from_numpy(array) for array in corpus.train.inputs.batch(np.array([row])))
        assert int(lengths) == tokens.shape[1]  # alone nothing is padded
        wanted = torch.from_numpy(corpus.train.targets.batch(np.array([row]))[0][0])
        total += float(cross_entropy(program.model(tokens)[0], wanted, reduction="sum").detach())
        count += len(wanted)
    squares = sum(float((parameter**2).sum().detach()) for parameter in program.model.parameters())
    assert program.losses(1).item() == pytest.approx(total / count + l2 * squares, rel=1e-12)


@torch.no_grad()
def test_scores_are_those_of_single_sentences():
    recipe, corpus = recipe_of("tagging")
    program = TextProgram(recipe, corpus, seed=0, device="cpu")
    rows = [np.array([row]) for row in range(40)]
    right = [
        program.model(torch.from_numpy(corpus.dev.inputs.batch(row)[0]))[0].argmax(-1).numpy()
        == corpus.dev.targets.batch(row)[0][0]
        for row in rows
    ]
    inputs, targets = (Ragged.of([part.flat(row) for row in rows]) for part in (corpus.dev.inputs, corpus.dev.targets))
    _, share = program._evaluate(Part(inputs, targets))
    assert share == pytest.approx(np.concatenate(right).mean(), rel=1e-12)


def test_every_way_of_reading_takes_the_state_that_it_says():
    recipe = padding_recipe(training__dtype="float64")
    assert recipe.model.cell == "lstm"
    program = PaddingProgram(recipe, recipe.task.load(), seeds=(0, 1), device="cpu")
    part = program.corpus.train
    rows = [some[:6] for some in program._rows(0)]
    logits, targets = program._answers(part, rows)
    for index, (reading, seed) in enumerate(program.members):
        model = TextModel(len(program.corpus.vocabulary), 2, recipe.model, seed, torch.float64)
        tokens, lengths = (torch.from_numpy(array) for array in part.inputs.batch(rows[index]))
        output, _ = model.states(tokens)  # over the padding as over words
        if reading == "equal":
            assert len(set(lengths.tolist())) == 1
        else:
            assert len(set(lengths.tolist())) > 1  # or nothing would be shown
        wanted = {
            "true": model.classify(tokens, lengths=lengths),
            "column": model.read(output[:, -1]),
            "packed": model.read(output[:, -1] * (lengths == lengths.max())[:, None]),
            "equal": model.read(output[:, -1]),
        }[reading]
        torch.testing.assert_close(logits[index], wanted, rtol=0, atol=1e-13)
        alone = program.model.replica(index)(tokens)
        torch.testing.assert_close(alone, model(tokens), rtol=0, atol=1e-13)
        assert targets[index].tolist() == part.outputs[rows[index]].tolist()


def test_padding_gets_no_vector_in_the_population_either():
    recipe = padding_recipe()
    program = PaddingProgram(recipe, recipe.task.load(), seeds=(0,), device="cpu")
    program.losses(0).sum().backward()
    assert not program.model.embedding.grad[:, PADDING].any()
    assert program.model.embedding.grad[:, PADDING + 1 :].any()


class StoppedError(Exception):
    pass


def run_with_dropout(store: Store, stop_at: int | None) -> tuple[list[dict[str, Any]], dict[str, torch.Tensor]]:
    """What was recorded, and the weights."""
    recipe, _ = recipe_of("classification", model__word_dropout=0.3, model__output_dropout=0.3, training__epochs=4.0)
    (job,) = recipe.jobs((0,))

    def progress(done: int, total: int) -> None:
        if stop_at is not None and done >= stop_at:
            raise StoppedError

    with store.open(job.request) as run:
        recipe.fit([], run, progress, "cpu")
        run.finish([])
    finished = store.load(job.request.id)
    return finished.metrics(), finished.checkpoint()["model"]


def test_a_run_that_is_stopped_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    whole = run_with_dropout(Store(tmp_path / "whole"), None)
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")
    counter = SimpleNamespace(monotonic=iter(range(10**6)).__next__)  # progress at every step
    monkeypatch.setattr("rote.training.loop.time", counter)  # nowhere else: servers in other threads sleep by the clock
    with pytest.raises(StoppedError):
        run_with_dropout(Store(tmp_path / "stopped"), 5)
    records, weights = run_with_dropout(Store(tmp_path / "stopped"), None)
    assert records == whole[0]
    assert all(torch.equal(weights[name], weight) for name, weight in whole[1].items())


def test_patience_ends_a_run_and_the_best_weights_are_those_that_come_back(tmp_path):
    store = Store(tmp_path)
    changes = {**SMALL, "training.learning_rate": 1.0, "training.epochs": 30.0, "training.patience": 2}
    result = Laboratory(store, workers=1).run("classification", "smoke", changes)
    (network,) = result.run.tables()["networks"].records()
    assert network["epochs"] < 30
    assert network["epochs"] == pytest.approx(network["best_epoch"] + 2 * 0.5)
    ((back,),) = (run.networks() for run in trainings(store))
    program = TextProgram(back.recipe, back.recipe.task.load(), 0, "cpu")
    program.model.load_state_dict(back.model.state_dict())
    with torch.no_grad():
        assert program.measure()["dev"][0] == network["dev"]


def test_baselines_and_measurements_have_no_networks(tmp_path):
    store = Store(tmp_path)
    result = Laboratory(store, workers=1).run("classification", "smoke", {**SMALL, "training.epochs": 1})
    for used in result.run.record.uses:
        with pytest.raises(StoreError, match="is no training"):
            store.load(used).networks()


def test_predictions_begin_with_the_start_of_a_sentence_only_for_language_models(tmp_path):
    for name in ("tagging", "language-modeling"):
        store = Store(tmp_path / name)
        Laboratory(store, workers=1).run(name, "smoke", {**SMALL, "training.epochs": 1})
        ((network,),) = (run.networks() for run in trainings(store))
        tokens, lengths = network.encode([["the", "film"], ["that"]])
        more = int(name == "language-modeling")
        assert lengths.tolist() == [2 + more, 1 + more]
        assert [len(answer) for answer in network.predict([["the", "film"], ["that"]])] == lengths.tolist()
        assert int(tokens[1, -1]) == PADDING


def test_examples_are_taken_evenly_and_more_of_the_stand_in_is_made_when_asked_for():
    assert len(TaggingTask(data="stand-in", examples=7).load().train) == 7
    assert len(LanguageTask(data="stand-in", examples=2100).load().train) == 2100


def test_a_window_of_one_word_is_a_bigram_model_whatever_stands_before():
    recipe, corpus = recipe_of("language-modeling", network="window", window=1)
    program = TextProgram(recipe, corpus, seed=0, device="cpu")
    tokens = torch.tensor([[2, 5, 6], [2, 7, 6]])
    logits = program.model.at_words(tokens, lengths=torch.tensor([3, 3]))
    torch.testing.assert_close(logits[2], logits[5], rtol=0, atol=1e-14)
    assert not torch.allclose(logits[1], logits[4])
