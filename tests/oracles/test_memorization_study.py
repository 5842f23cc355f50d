"""What the study of autocomplete models measures, against brute force and torch's autograd in float64."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from rote.claims import judge
from rote.errors import UsageError
from rote.laboratory.aggregate import collected
from rote.laboratory.orders import Order
from rote.laboratory.perform import perform
from rote.models import AutocompleteConfig, AutocompleteModel
from rote.store import Column, Store, Table
from rote.studies.memorization import autocomplete_accuracy as counting
from rote.studies.memorization import autocomplete_training as looking
from rote.studies.memorization.autocomplete import AutocompleteRecipe, AutocompleteStudy, MemorizationConfig
from rote.studies.memorization.autocomplete_claims import CLAIMS, ahead, letters
from rote.studies.memorization.autocomplete_tables import _letters, _outside
from rote.studies.memorization.previous_words import Profile, Words
from rote.studies.memorization.published import CELLS, PARAGRAPH
from rote.tasks.alphabet import decode, encode
from rote.tasks.autocomplete import AutocompleteTask
from rote.training import TrainingConfig

TASK = AutocompleteTask("bundled", 30_000, 80, 150)


@pytest.fixture(scope="module")
def text():
    return TASK.observations()


@pytest.fixture(scope="module", params=list(CELLS))
def model(request, text) -> AutocompleteModel:
    return AutocompleteModel(AutocompleteConfig(request.param, 7, 1), text.vocabulary, 3, torch.float64).eval()


def test_ranks_by_prefix_are_those_of_counting_the_more_frequent_words():
    words, frequencies = ("to", "the", "then", "a", "they"), np.array([5, 9, 2, 7, 9])
    ranks = counting.prefix_ranks(words, frequencies)
    for index, word in enumerate(words):
        for k in range(len(word) + 1):
            others = [
                other
                for other, name in enumerate(words)
                if name.startswith(word[:k]) and (-frequencies[other], other) < (-frequencies[index], index)
            ]
            assert ranks[index][k] == len(others)


def test_hits_of_counting_are_those_of_asking_at_every_character(text):
    counts = counting.prefix_hits(text, 12)
    order = sorted(range(2, len(text.vocabulary)), key=lambda i: (-text.frequencies[i], i))
    expected, asked, total = Counter(), Counter(), 0
    for number in text.splits["test"][:12]:
        batch = text.batch(np.array([number]))
        for word in decode(batch.tokens[0].tolist()).split():
            if word not in text.vocabulary:
                continue
            total += 1
            for k in range(len(word) + 1):
                best = [text.vocabulary[i] for i in order if text.vocabulary[i].startswith(word[:k])][:3]
                asked[k] += 1
                for top in range(3):
                    expected[top, k] += word in best[: top + 1]
    assert counts.positions.tolist() == [asked[k] for k in range(counting.KNOWN)]
    assert counts.hits.tolist() == [[expected[top, k] for k in range(counting.KNOWN)] for top in range(3)]
    assert counts.positions[0] == total > 50


def test_the_loss_of_frequencies_is_the_mean_over_characters(text):
    losses, words = [], text.vocabulary[2:]
    weight = {word: text.frequencies[2 + i] * (len(word) + 1) for i, word in enumerate(words)}
    total = sum(weight.values())
    for number in text.splits["test"][:5]:
        batch = text.batch(np.array([number]))
        for word in decode(batch.tokens[0].tolist()).split():
            losses += [-np.log(weight[word] / total)] * (len(word) + 1) if word in weight else []
    assert counting.frequency_loss(text, 5) == pytest.approx(np.mean(losses), abs=1e-12)


def one_hot_gradient(model: AutocompleteModel, tokens: torch.Tensor, output: int, target: int) -> np.ndarray:
    """The norm of d logit / d one-hot input at every step, by torch's autograd."""
    one_hot = torch.nn.functional.one_hot(tokens, 28).to(torch.float64).requires_grad_()
    hidden, _ = model.recurrent(one_hot[None] @ model.embedding.weight)
    model.readout(hidden)[0, output, target].backward()
    return one_hot.grad.norm(dim=-1).numpy()


def test_the_paragraph_is_looked_at_for_its_own_words(model):
    looked = looking.look(model, {"cell": "x", "seed": 0})
    words, tokens = Words.find(PARAGRAPH), torch.from_numpy(encode(PARAGRAPH))
    with torch.no_grad():
        chances = model(tokens[None]).softmax(-1)[0]
    outside = 0
    for output in (0, 13, 60, 106, 150, 197):
        name = words.names[words.of[output]]
        known = name in model.vocabulary
        target = model.vocabulary.index(name) if known else int(chances[output].argmax())
        outside += not known
        expected = one_hot_gradient(model, tokens, output, target)
        np.testing.assert_allclose(looked.values["l2"][output], expected, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(looked.values["squared"][output], expected**2, rtol=1e-9, atol=1e-20)
        given = looked.suggestions
        order = chances[output].argsort(descending=True)
        assert given.words[output] == [model.vocabulary[i] for i in order[:3]]
        assert given.chances[output] == pytest.approx(chances[output, order[:3]].tolist())
        assert given.ranks[output] == (order.tolist().index(target) + 1 if known else None)
        assert given.target_chances[output] == (pytest.approx(float(chances[output, target])) if known else None)
    assert 0 < outside < 6


def test_observations_of_a_padded_batch_are_looked_at_as_if_alone(model, text):
    numbers = text.splits["test"][:3]
    together = looking.profiles(model, text.batch(numbers))
    alone = [looking.profiles(model, text.batch(numbers[i : i + 1])) for i in range(3)]
    for norm in ("squared", "l2"):
        expected = Profile.joined([part[norm] for part in alone])
        np.testing.assert_array_equal(together[norm].known, expected.known)
        np.testing.assert_allclose(together[norm].share, expected.share, atol=1e-10)
        np.testing.assert_allclose(together[norm].reach, expected.reach, atol=1e-8)
    batch = text.batch(numbers[:1])
    asked = [
        k
        for word, name in enumerate(decode(batch.tokens[0].tolist()).split())
        for k in range(len(name) + 1)
        if word > 0 and name in text.vocabulary
    ]
    assert alone[0]["l2"].known.tolist() == asked


def test_ratios_by_distance():
    values = np.tril(np.random.default_rng(1).random((9, 9)) + 0.1)
    expected = np.median([values[t, t - 4] / values[t, t] for t in range(4, 9)])
    assert looking.lag_ratios(values, (4,)) == {4: pytest.approx(np.log10(expected))}


def runs(study: AutocompleteStudy, overrides: dict[str, object]) -> dict[str, tuple[str, str, str, tuple[int, ...]]]:
    """The trainings and measurements of a study by their identity: name, kind, cell, seeds."""
    jobs = [job for top in study.jobs(study.resolve("smoke", overrides)) for job in top.all()]
    return {j.request.id: (j.request.study, j.request.part, j.request.label, j.request.seeds) for j in jobs}


def test_a_run_is_found_again_by_what_it_depends_on_alone():
    study = AutocompleteStudy()
    few = runs(study, {"seeds": 2})
    more = runs(study, {"seeds": 3, "cells": ("gru", "lstm"), "initial.seeds": 3})
    untrained = {("autocomplete-untrained", "measurement", cell, (seed,)) for cell in CELLS for seed in (0, 1)}
    text = ("autocomplete-text", "measurement", "", ())
    trained = {("autocomplete", "training", cell, (seed,)) for cell in CELLS for seed in (0, 1)}
    measured = {("autocomplete", "measurement", cell, (seed,)) for cell in CELLS for seed in (0, 1)}
    assert set(few.values()) == {*untrained, text, *trained, *measured}
    both = {few[run] for run in more if run in few}
    assert both == {run for run in few.values() if run[2] != "nested_lstm"}
    other = runs(study, {"seeds": 2, "training.learning_rate": 0.5})
    assert {few[run] for run in other if run in few} == {*untrained, text}


@pytest.mark.parametrize("measuring", [{"tested": 5}, {"looked_at": 3}, {"initial.characters": 70}])
def test_what_is_measured_later_is_no_part_of_a_training(measuring):
    study = AutocompleteStudy()
    before, after = runs(study, {}), runs(study, measuring)
    assert {run for run, what in before.items() if what[1] == "training"} < set(after)
    assert set(before) != set(after)


def test_few_steps_of_a_training_are_kept_closer_at_its_beginning():
    assert AutocompleteRecipe(training=TrainingConfig(steps=500)).snapshots() == {0, 100, 20, 4}
    assert AutocompleteRecipe(training=TrainingConfig(steps=3)).snapshots() == {0}


def test_the_network_of_a_run_is_the_one_that_was_trained(tmp_path):
    """At the end and before any update, from what the store kept."""
    recipe = AutocompleteRecipe(TASK, AutocompleteConfig("lstm", 7, 1), TrainingConfig(steps=5, batch=8))
    (job,) = recipe.jobs((3,))
    store = Store(tmp_path)
    perform(store, Order(job.request, {}, "cpu"), "cpu", lambda done, total: None)
    run = store.load(job.request.id)
    (start,), (end,) = run.networks(step=0), run.networks()
    expected = AutocompleteModel(recipe.model, end.outputs, 3)
    assert all(torch.equal(a, b) for a, b in zip(start.model.parameters(), expected.parameters(), strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(end.model.parameters(), expected.parameters(), strict=True))
    assert end.labels == {"cell": "lstm", "seed": 3, "step": 5}
    assert (len(end.inputs), end.outputs) == (28, TASK.observations().vocabulary)
    with torch.no_grad():
        last = run.metrics()[-1]["loss"][0]
        assert float(end.model.loss(TASK.observations().validation(5, 8))) == last


def test_auto_takes_text8_where_it_is_and_else_what_the_package_has(monkeypatch, tmp_path):
    study, module = AutocompleteStudy(), "rote.studies.memorization.autocomplete.available"
    monkeypatch.setattr(module, lambda characters: True)
    assert (study.resolve("quick", {}).task.text, study.resolve("quick", {}).task.characters) == ("text8", 10_000_000)
    monkeypatch.setattr(module, lambda characters: False)
    assert study.resolve("quick", {}).task.text == "bundled"
    assert study.resolve("paper", {}).task.text == "text8"


def test_the_paper_preset_is_the_published_setting():
    config = AutocompleteStudy().resolve("paper", {})
    assert (config.task.words, config.task.length, config.task.characters) == (2**14, 200, None)
    assert (config.training.steps, config.training.batch, config.training.learning_rate) == (14278, 64, 0.001)
    assert (config.training.optimizer, config.softmax.kind) == ("adam", "exact")
    models = {cell: config.recipe(cell).model for cell in config.cells}
    shapes = {cell: (model.units, model.layers) for cell, model in models.items()}
    assert shapes == {"gru": (600, 2), "lstm": (600, 2), "nested_lstm": (600, 1)}


@pytest.mark.parametrize("cells", [(), ("elman",)])
def test_cells_that_are_not_those_of_the_source_are_refused(cells):
    with pytest.raises(UsageError, match="'cells' must name some of gru, lstm, nested_lstm"):
        MemorizationConfig(cells=cells)


def table(name: str, *columns: str, rows: list[tuple]) -> Table:
    return Table(name, name, tuple(map(Column, columns)), tuple(rows))


def test_the_order_is_judged_in_the_published_direction():
    def verdict(losses: dict[str, float]) -> str:
        rows = [(c, s, loss + 0.001 * s, 1 - loss / 10) for c, loss in losses.items() for s in range(5)]
        networks = table("networks", "cell", "seed", "cross_entropy", "accuracy", rows=rows)
        return judge(CLAIMS[0], {"networks": networks}).outcome

    assert verdict({"GRU": 2.0, "LSTM": 2.1, "Nested LSTM": 2.5}) == "reproduced"
    assert verdict({"GRU": 2.5, "LSTM": 2.1, "Nested LSTM": 2.0}) == "not reproduced"
    assert verdict({"GRU": 2.2, "LSTM": 2.1, "Nested LSTM": 2.5}) == "partly"
    assert verdict({"GRU": 2.0, "LSTM": 2.1}) == "inconclusive"


def test_accuracy_is_compared_over_all_positions_of_a_group():
    rows = [
        (cell, seed, "corrected", 1, k, hits, positions)
        for seed in range(5)
        for cell, counts in {"GRU": [(9, 10), (10, 90)], "LSTM": [(0, 10), (20, 90)]}.items()
        for k, (hits, positions) in enumerate(counts)
    ]
    hits = table("hits", "cell", "seed", "counted", "top", "k", "hits", "positions", rows=rows)
    compare = partial(ahead, {"hits": hits}, "GRU", "LSTM", counted="corrected")
    assert compare(range(1)).value == pytest.approx(0.9)
    assert compare(range(2)).value == pytest.approx(19 / 100 - 20 / 100)  # not the mean of the two differences
    assert ahead({"hits": hits}, "GRU", "Nested LSTM", range(1), "corrected").n == 0


def test_letters_that_are_needed_are_the_first_with_which_the_word_is_suggested():
    def rows(cell: str, seed: int, suggested: set[int]) -> list[tuple]:
        return [(cell, seed, o, ["the", "grammar" if o in suggested else "a", "of"]) for o in range(len(PARAGRAPH))]

    paragraph = table(
        "paragraph", "cell", "seed", "output", "suggestions",
        rows=[*rows("GRU", 0, {32, 33, 159}), *rows("LSTM", 0, {33}), *rows("Nested LSTM", 0, set())],
    )  # fmt: skip
    summary, found = _letters(paragraph)
    assert [row[2:] for row in found.rows] == [(1, 4), (2, 1), (1, 5), (2, None), (1, None), (2, None)]
    assert summary.column("never") == [0, 0, 0, 1, 1, 1]
    situations = table("situations", "output", "rank", rows=[(32, 1)])
    every = tuple(CELLS.values())
    assert letters({"letters": found, "situations": situations}, every, 1).value == 4
    assert letters({"letters": found, "situations": situations}, ("LSTM",), 2).value == 8
    unknown = replace(situations, rows=((32, None),))
    assert letters({"letters": found, "situations": unknown}, every, 1).n == 0


def test_what_no_model_can_get_right_is_padding_and_unknown_words():
    rows = [
        ("GRU", 0, c, 1, 3, 0, n) for c, n in (("as published", 100), ("corrected", 80), ("outside the vocabulary", 15))
    ]
    hits = table("hits", "cell", "seed", "counted", "top", "k", "hits", "positions", rows=rows)
    (row,) = _outside(hits).records()
    assert row == {"k": 3, "counted": 100, "padding": 5, "outside": 15, "limit": 0.8}


def test_tables_of_runs_are_joined_by_the_names_of_their_columns():
    class Finished:
        def __init__(self, *tables: Table) -> None:
            self.by_name = {table.name: table for table in tables}

        def tables(self) -> dict[str, Table]:
            return self.by_name

    first, second = (
        table("t", "cell", "loss", rows=[("GRU", 1.0)]),
        table("t", "loss", "rank", "cell", rows=[(2.0, 7, "LSTM")]),
    )
    joined = collected([Finished(first), Finished(second)])["t"]
    assert joined.records() == [{"cell": "GRU", "loss": 1.0}, {"cell": "LSTM", "loss": 2.0}]


def test_a_text_of_ones_own_with_another_content_is_another_run(tmp_path) -> None:
    study, file = AutocompleteStudy(), tmp_path / "own.txt"

    def ids() -> list[str]:
        config = study.resolve("smoke", {"task.text": str(file), "task.characters": 2000})
        jobs = [job for top in study.jobs(config) for job in top.all()]
        return [job.request.id for job in jobs if job.request.study != "autocomplete-untrained"]

    file.write_text("many years ago a boy and a girl lived by the sea " * 100)
    first = ids()
    task = study.resolve("smoke", {"task.text": str(file), "task.characters": 2000, "task.words": 8}).task
    assert ids() == first
    file.write_text("they played happily many years ago by the sea " * 100)
    assert not set(first) & set(ids())
    with pytest.raises(UsageError, match="has changed since this run began"):
        task.observations()
