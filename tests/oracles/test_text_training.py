"""How networks on text are trained: the loss over real words, which state is read, stopping and resuming."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from rote.errors import UsageError
from rote.models import TextModel
from rote.store import Store
from rote.studies import Laboratory, studies
from rote.studies.foundations.padding_training import PaddingProgram
from rote.studies.foundations.text_training import TextProgram, train_and_measure, trained
from rote.tasks.text import PADDING, Ragged
from rote.tasks.text_tasks import LanguageTask, Part, TaggingTask

SMALL = {"training.dtype": "float64", "variants": "own", "seeds": 1}


def config_of(name: str, **changes: object):
    config = studies[name]().resolve("smoke", SMALL | {key.replace("__", "."): value for key, value in changes.items()})
    return config, config.task.load()


@pytest.mark.parametrize("name", ["tagging", "language-modeling"])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_the_loss_is_the_mean_over_real_words_of_each_sentence_read_alone(name, l2):
    config, corpus = config_of(name, training__l2=l2)
    program = TextProgram(name, config, corpus, seed=0, device="cpu")
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
    config, corpus = config_of("tagging")
    program = TextProgram("tagging", config, corpus, seed=0, device="cpu")
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
    study = studies["padding"]()
    config = study.resolve("smoke", {"training.dtype": "float64"})
    config = replace(config, model=replace(config.model, cell="lstm"))
    program = PaddingProgram(config, config.task.load(), seeds=(0, 1), device="cpu")
    part = program.corpus.train
    rows = [program._rows(part, reading, seed, 0, 0)[:6] for reading, seed in program.members]
    logits, targets = program._answers(part, rows)
    for index, (reading, seed) in enumerate(program.members):
        model = TextModel(len(program.corpus.vocabulary), 2, config.model, seed, torch.float64)
        tokens, lengths = (torch.from_numpy(array) for array in part.inputs.batch(rows[index]))
        output, _ = model.states(tokens)  # over the padding as over words
        if reading == "equal":
            assert len(set(lengths.tolist())) == 1
        else:
            assert len(set(lengths.tolist())) > 1  # or nothing would be shown
        wanted = {
            "true": model.classify(tokens, lengths),
            "column": model.read(output[:, -1]),
            "packed": model.read(output[:, -1] * (lengths == lengths.max())[:, None]),
            "equal": model.read(output[:, -1]),
        }[reading]
        torch.testing.assert_close(logits[index], wanted, rtol=0, atol=1e-13)
        assert targets[index].tolist() == part.outputs[rows[index]].tolist()


def test_padding_gets_no_vector_in_the_population_either():
    config = studies["padding"]().resolve("smoke", {})
    program = PaddingProgram(config, config.task.load(), seeds=(0,), device="cpu")
    program.losses(0).sum().backward()
    assert not program.model.embedding.grad[:, PADDING].any()
    assert program.model.embedding.grad[:, PADDING + 1 :].any()


class StoppedError(Exception):
    pass


def run_with_dropout(store: Store, stop_at: int | None):
    study = studies["classification"]()
    changes = {**SMALL, "model.word_dropout": 0.3, "model.output_dropout": 0.3, "training.epochs": 4.0}
    config = study.resolve("smoke", changes)
    request = study.requests(config)[1]

    def progress(done: int, total: int) -> None:
        if stop_at is not None and done >= stop_at:
            raise StoppedError

    with store.open(request) as run:
        config, corpus = study.config_of(request), config.task.load()
        return train_and_measure(study.kind, config, corpus, request, run, progress, "cpu")


def test_a_run_that_is_stopped_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    whole = run_with_dropout(Store(tmp_path / "whole"), None)
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")
    counter = SimpleNamespace(monotonic=iter(range(10**6)).__next__)  # progress at every step
    monkeypatch.setattr("rote.training.loop.time", counter)  # nowhere else: servers in other threads sleep by the clock
    with pytest.raises(StoppedError):
        run_with_dropout(Store(tmp_path / "stopped"), 5)
    assert run_with_dropout(Store(tmp_path / "stopped"), None) == whole


def test_patience_ends_a_run_and_the_best_weights_are_those_that_come_back(tmp_path):
    store = Store(tmp_path)
    changes = {**SMALL, "training.learning_rate": 1.0, "training.epochs": 30.0, "training.patience": 2}
    result = Laboratory(store, workers=1).run("classification", "smoke", changes)
    (network,) = result.summary.tables()["networks"].records()
    assert network["epochs"] < 30
    assert network["epochs"] == pytest.approx(network["best_epoch"] + 2 * 0.5)
    back = trained(store.load(result.summary.record.uses[-1]))
    program = TextProgram("classification", back.config, back.corpus, 0, "cpu")
    program.model.load_state_dict(back.model.state_dict())
    with torch.no_grad():
        assert program.measure()["dev"][0] == network["dev"]


def test_only_networks_on_text_come_back(tmp_path):
    store = Store(tmp_path)
    result = Laboratory(store, workers=1).run("classification", "smoke", {**SMALL, "training.epochs": 1})
    with pytest.raises(UsageError, match="is no network on text"):
        trained(store.load(result.summary.record.uses[0]))  # the baselines


def test_predictions_begin_with_the_start_of_a_sentence_only_for_language_models(tmp_path):
    store = Store(tmp_path)
    for name in ("tagging", "language-modeling"):
        result = Laboratory(store, workers=1).run(name, "smoke", {**SMALL, "training.epochs": 1})
        network = trained(store.load(result.summary.record.uses[-1]))
        tokens, lengths = network.encode([["the", "film"], ["that"]])
        more = int(name == "language-modeling")
        assert lengths.tolist() == [2 + more, 1 + more]
        assert [len(answer) for answer in network.predict([["the", "film"], ["that"]])] == lengths.tolist()
        assert int(tokens[1, -1]) == PADDING


def test_examples_are_taken_evenly_and_more_of_the_stand_in_is_made_when_asked_for():
    assert len(TaggingTask(data="stand-in", examples=7).load().train) == 7
    assert len(LanguageTask(data="stand-in", examples=2100).load().train) == 2100


def test_a_window_of_one_word_is_a_bigram_model_whatever_stands_before():
    config, corpus = config_of("language-modeling", network="window", window=1)
    program = TextProgram("language-modeling", config, corpus, seed=0, device="cpu")
    tokens = torch.tensor([[2, 5, 6], [2, 7, 6]])
    logits = program.model.at_words(tokens, torch.tensor([3, 3]))
    torch.testing.assert_close(logits[2], logits[5], rtol=0, atol=1e-14)
    assert not torch.allclose(logits[1], logits[4])
