"""Language models on sentences, agreement and selection: each measure against another way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from rote.claims import judge, measure
from rote.errors import UnknownNameError, UsageError
from rote.laboratory import Laboratory, studies
from rote.models import KneserNey, LanguageModelConfig
from rote.models.neural_n_gram import StackedNeuralNGram
from rote.models.settings import NeuralNGramConfig
from rote.store import Column, Store, Table
from rote.studies.foundations import selection_tables
from rote.studies.foundations.agreement import ORDERS, AgreementConfig, AgreementCounts
from rote.studies.foundations.agreement_training import counted
from rote.studies.foundations.selection import SelectionConfig, SelectionStudy
from rote.studies.foundations.sentence_models import SentenceProgram, after, larger, shuffled
from rote.tasks.agreement import AgreementTask
from rote.tasks.selection import LECTURE, SelectionTask
from rote.training import TrainingConfig


def test_equal_probabilities_count_half() -> None:
    assert larger(np.array([2.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 1.0])) == pytest.approx(0.5)


def test_losses_are_means_over_words_without_padding() -> None:
    """Against one network at a time, one sentence at a time, with torch's own modules."""
    tokens = np.array([[[1, 2, 3, 0], [2, 0, -1, -1]], [[3, 3, 0, -1], [1, 0, -1, -1]]])
    model = LanguageModelConfig(cell="gru", embedding=3, hidden=4, limit=1.0)
    made = SentenceProgram(
        4, model, TrainingConfig(dtype="float64"), (0, 1), lambda _: tokens, "cpu"
    )  # fmt: skip
    losses = made.losses(0).detach()
    for replica in range(2):
        alone = made.model.replica(replica)
        total, words = 0.0, 0
        for row in tokens[replica]:
            sentence = torch.tensor([[0, *(token for token in row if token >= 0)]])
            scores = alone(sentence[:, :-1]).detach()
            total += float(nn.functional.cross_entropy(scores[0], sentence[0, 1:], reduction="sum"))
            words += sentence.shape[1] - 1
        assert float(losses[replica]) == pytest.approx(total / words, rel=1e-12)


def test_the_words_after_a_prefix_are_those_of_the_network_that_has_read_it() -> None:
    prefixes = np.array([[[1, 2], [3, 1]]] * 2)
    model = LanguageModelConfig(cell="elman", embedding=3, hidden=4, limit=1.0)
    made = SentenceProgram(4, model, TrainingConfig(dtype="float64"), (0, 1), lambda _: prefixes, "cpu")
    chances = after(made.model, prefixes)
    scores = made.model.replica(1)(torch.tensor([[0, 1, 2], [0, 3, 1]]))
    np.testing.assert_allclose(chances[1], scores[:, -1].softmax(-1).detach())


def test_every_sentence_of_a_corpus_is_learned_once_in_an_epoch_each_seed_in_its_own_order() -> None:
    corpora = np.arange(2 * 12 * 3).reshape(2, 12, 3)
    batches = shuffled(corpora, (0, 1), 4)
    first, second = (np.concatenate([batches(step) for step in range(e * 3, e * 3 + 3)], axis=1) for e in (0, 1))
    for epoch in (first, second):
        for replica in range(2):
            np.testing.assert_array_equal(np.sort(epoch[replica, :, 0]), corpora[replica, :, 0])
    assert not np.array_equal(first[0], second[0])
    assert not np.array_equal(first[0] - corpora[0].min(), first[1] - corpora[1].min())


def test_bigrams_follow_the_nearest_noun() -> None:
    """All of the congruent and none of the opposite items: what the average of both would hide."""
    asked = AgreementCounts(sentences=8000, items=200, depths=(0, 2), orders=(2,))
    rows = counted(asked, [0], lambda *_: None)[0].where(structure="phrases", depth=2).records()
    found = {row["attractors"]: row["accuracy"] for row in rows}
    assert found["congruent"] > 0.95
    assert found["opposite"] < 0.05


def test_n_grams_know_no_subject_beyond_their_words() -> None:
    """Of two sentences that differ in the number of the subject alone, and so in the form that is right, n-grams have
    one right at most. Catches a context that is read too far, or an item that gives its subject away."""
    task, items = AgreementTask(), AgreementTask().items(0, "phrases", 2, "opposite", 100)
    sentences = [row[row >= 0] for row in task.training(0, 3000).tokens]
    rows = np.arange(100)
    for order in ORDERS:
        model = KneserNey(order, len(task.words), sentences)
        one, other = model.probabilities(items.prefix), model.probabilities(with_other_subject(task, items.prefix))
        np.testing.assert_array_equal(one, other)
        first = larger(one[rows, items.right], one[rows, items.wrong])
        second = larger(other[rows, items.wrong], other[rows, items.right])  # the other subject takes the other form
        assert first + second == 1.0
    bigram, near = KneserNey(2, len(task.words), sentences), task.items(0, "phrases", 0, "congruent", 100).prefix
    seen = bigram.probabilities(near) != bigram.probabilities(with_other_subject(task, near))
    assert seen.any(1).all(), "a subject next to the verb is known"


def with_other_subject(task: AgreementTask, prefixes: np.ndarray) -> np.ndarray:
    """The plural in place of a singular subject, and the other way round."""
    exchanged = prefixes.copy()
    for row, word in enumerate(task.words[token] for token in prefixes[:, 1]):
        exchanged[row, 1] = task.words.index(word.removesuffix("s") if word.endswith("s") else f"{word}s")
    return exchanged


def test_n_grams_know_no_noun_beyond_their_words() -> None:
    """The family in place of the team changes nothing that n-grams expect after the lecture's words."""
    task = SelectionTask((LECTURE,))
    words = list(task.words)
    said = ["moved", "from", "this", "city", "because", "they", "wanted", "a", "larger"]
    assert len(said) == LECTURE
    family, team = (np.array([[words.index(word) for word in ("the", noun, *said)]]) for noun in ("family", "team"))
    sentences = [row[row >= 0] for row in task.training(0, 0, 2000)]
    for order in ORDERS:
        model = KneserNey(order, len(words), sentences)
        expected = model.probabilities(family)
        np.testing.assert_array_equal(expected, model.probabilities(team))
        assert expected[0, task.objects].sum() > 0.99, "an object comes, of either kind"
    far = KneserNey(LECTURE + 2, len(words), sentences)
    by_kind = [far.probabilities(prefix)[0, task.objects].sum(1) for prefix in (family, team)]
    assert by_kind[0][0] > 0.9 > 0.1 > by_kind[1][0], "with eleven words it is seen"


def neural_n_gram(order: int, symbols: int, seeds: tuple[int, ...] = (0, 1)) -> StackedNeuralNGram:
    made = StackedNeuralNGram(symbols, NeuralNGramConfig(order, 6, 8), seeds, torch.float64)
    nn.init.normal_(made.hidden)  # so that every word that is seen matters
    return made


@pytest.mark.parametrize("order", ORDERS)
def test_stacked_neural_n_grams_are_window_models_one_by_one(order: int) -> None:
    """Against each network alone, and against plain sums over the words that it sees."""
    made, tokens = neural_n_gram(order, 9), np.random.default_rng(0).integers(0, 9, (2, 5, 7))
    logits, state = made(torch.from_numpy(tokens))
    assert state == ()
    for replica in range(2):
        alone = made.replica(replica)
        np.testing.assert_allclose(logits[replica].detach(), alone(torch.from_numpy(tokens[replica])).detach(), 1e-12)
        table = alone.embedding.weight.detach().numpy()
        parts = alone.hidden.weight.detach().numpy().reshape(8, order - 1, 6)
        for time in (0, 6):
            seen = [tokens[replica, 3, place] if place >= 0 else 0 for place in range(time - order + 2, time + 1)]
            values = np.tanh(alone.hidden.bias.detach().numpy() + np.einsum("hwe,we->h", parts, table[seen]))
            right = alone.readout.weight.detach().numpy() @ values + alone.readout.bias.detach().numpy()
            np.testing.assert_allclose(logits[replica, 3, time].detach(), right, 1e-10)


def test_stacked_neural_n_grams_learn_as_window_models_do() -> None:
    """The gradient of a replica is that of the network alone, and the full stop keeps the vector 0."""
    tokens = np.array([[[1, 2, 3, 0], [2, 0, -1, -1]], [[3, 3, 0, -1], [1, 0, -1, -1]]])
    model = NeuralNGramConfig(3, 4, 5)
    made = SentenceProgram(4, model, TrainingConfig(dtype="float64"), (0, 1), lambda _: tokens, "cpu")
    made.losses(0).sum().backward()
    assert isinstance(made.model, StackedNeuralNGram)
    alone = made.model.replica(1)
    fed, wanted = torch.tensor([[0, 3, 3], [0, 1, 0]]), torch.tensor([[3, 3, 0], [1, 0, -100]])
    nn.functional.cross_entropy(alone(fed).flatten(0, 1), wanted.flatten()).backward()
    np.testing.assert_allclose(made.model.hidden.grad[1], alone.hidden.weight.grad, 1e-10)
    np.testing.assert_allclose(made.model.embedding.grad[1], alone.embedding.weight.grad, 1e-10)
    assert not made.model.embedding.grad[:, 0].any()


@pytest.mark.parametrize("order", ORDERS)
def test_neural_n_grams_know_no_subject_beyond_their_words(order: int) -> None:
    """Whatever their weights; and they do know a subject that is within them."""
    task, made = AgreementTask(), neural_n_gram(order, len(AgreementTask().words))
    for depth in (0, 1, 2):
        prefix = task.items(0, "phrases", depth, "opposite" if depth else "congruent", 20).prefix
        one, other = (after(made, np.stack([rows] * 2)) for rows in (prefix, with_other_subject(task, prefix)))
        if 3 * depth + 1 < order:
            assert (one != other).any(2).all()
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["agreement", "selection"])
@pytest.mark.parametrize(
    ("knowing", "outcome"), [("", "supported"), ("neural 3-gram", "contradicted"), ("3-gram", "contradicted")]
)
def test_that_n_grams_cannot_needs_the_counted_and_the_neural_ones(name: str, knowing: str, outcome: str) -> None:
    (claim,) = (one for one in studies[name].claims if one.id == f"{name}-fixed-context")
    models = {item.label.split(",")[0] for item in claim.all() if item.role == "part"}
    assert models == {f"{kind}{order}-gram" for kind in ("", "neural ") for order in (2, 3, 4, 5)}
    values = {
        item.label: 1.0 if item.role != "part" or item.label.startswith(f"{knowing},") else 0.4 for item in claim.all()
    }
    found = judge(claim, {label: dict.fromkeys(range(6), value) for label, value in values.items()})
    assert found.outcome == outcome


def test_a_gap_is_learned_at_the_first_recorded_update_above_95_percent() -> None:
    """Of the mixed training with its longest gap; and differences of trainings are those of the same seeds."""
    config = SelectionConfig(gaps=(2, 9), alone=(2, 9), cells=("elman",), orders=(4,), seeds=5)
    mixed = {2: (0.5, 1.0, 1.0), 9: (0.5, 0.8, 0.97)}
    over = {"gap 2": {2: (0.5, 0.96, 1.0)}, "gap 9": {9: (0.5, 0.5, 0.6)}, "mixed gaps": mixed}
    rows = [
        {"model": "elman", "trained": name, "seed": seed, "step": step, "gap": gap, "accuracy": value}
        for name, gaps in over.items()
        for seed in range(5)
        for gap, values in {**gaps, 12: (0.5, 0.6, 0.7)}.items()
        for step, value in zip((0, 100, 200), values, strict=True)
    ]
    columns = [Column(name) for name in rows[0]]
    table = Table.make("accuracy", "", columns, rows)
    made = {each.name: each for each in selection_tables.all_tables(config, {"accuracy": table})}
    learned = {row["trained"]: row["learned"] for row in made["networks"].records()}
    assert learned == {"gap 2": 100, "gap 9": None, "mixed gaps": 200}
    found: dict[str, float] = {}
    for claim in SelectionStudy.claims:
        for label, values in measure(claim, made).items():
            assert list(values) == [0, 1, 2, 3, 4]
            found[label] = values[3]
    assert found == {
        "Elman, gap of the lecture alone": 0.6,
        "Elman before training": 0.5,
        "Elman, gap of 2 alone": 1.0,
        "Elman: accuracy with a gap of 2 alone minus with the lecture's alone": pytest.approx(0.4),
        "Elman, gap of the lecture: trained with all gaps minus with it alone": pytest.approx(0.37),
        "Elman, gap of the lecture, trained with all gaps": 0.97,
        "elman, a gap longer than any trained": 0.7,
    }, "what other cells do was not measured"
    (row,) = [row for row in made["outcome"].records() if row["trained"] == "mixed gaps"]
    assert (row["learned"], row["updates"], row["further"]) == (5, 200, pytest.approx(0.7))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("agreement", {"items": 30, "depths": "0,2"}),
        ("agreement", {"orders": "2"}),
        ("selection", {"items": 30, "further": 11}),
        ("selection", {"sentences": 100, "orders": "2"}),
    ],
)
def test_what_is_asked_of_the_networks_does_not_train_them_again(name: str, changes: dict[str, object]) -> None:
    study = studies[name]()

    def trainings(overrides: dict[str, object]) -> tuple[set[str], set[str]]:
        jobs = study.jobs(study.resolve("smoke", overrides))
        return {need.request.id for job in jobs for need in job.needs}, {job.request.id for job in jobs}

    before, after_it = trainings({}), trainings(changes)
    assert after_it[0] <= before[0]  # of fewer orders, fewer neural n-grams
    assert len(before[0] - after_it[0]) == (3 if "orders" in changes else 0)
    assert before[1] != after_it[1]
    assert not before[0] & trainings({"training.steps": 7})[0]


def test_networks_over_training_are_those_that_were_measured(tmp_path: Path) -> None:
    """The accuracy in the table against that of the opened networks, one at a time."""
    store = Store(tmp_path)
    settings = {"cells": "gru", "gaps": "2,9", "alone": "9", "training.steps": 60, "training.record_every": 30}
    result = Laboratory(store, workers=1).run("selection", "smoke", settings)
    (training,) = (row for row in store.runs() if (row.study, row.part) == ("selection", "training"))
    run = store.load(training.id)
    table = store.load(result.run.record.uses[0]).tables()["accuracy"]
    for step in (0, 30, 60):
        for network in run.networks(step):
            task = SelectionTask((2, 9) if network.labels["setting"] == "mixed gaps" else (9,))
            assert network.inputs == task.words
            items = task.items(int(network.labels["seed"]), 9, 20)
            prefix = torch.from_numpy(np.pad(items.prefix, ((0, 0), (1, 0))))
            chances = network.model(prefix)[:, -1].softmax(-1).detach().numpy()
            by_kind = chances[:, task.objects].sum(2)
            right = np.mean(by_kind.argmax(1) == items.kind)
            labels = {"trained": network.labels["setting"], "seed": network.labels["seed"], "step": step, "gap": 9}
            assert table.where(**labels).column("accuracy") == [pytest.approx(right)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AgreementConfig(cells=("lstn",)), "Unknown cell 'lstn'. Did you mean 'lstm'?"),
        (lambda: AgreementConfig(depths=(0, 51)), "'depths' must be at most 50. Got 51"),
        (lambda: AgreementConfig(orders=()), "'orders' must name at least one. Got none"),
        (lambda: SelectionConfig(gaps=(2, 13)), "'gaps' must be 1 to 12 words"),
        (lambda: SelectionConfig(gaps=(2, 12)), "'further' must be a gap that is not trained"),
        (lambda: AgreementConfig(task=AgreementTask(depth=2), items=0), "'items'"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_starts(make: Any, message: str) -> None:
    with pytest.raises((UsageError, UnknownNameError)) as refused:
        make()
    assert message in str(refused.value)
