"""What the study of autocomplete models measures, against brute force and torch's autograd in float64."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from rote.claims import NotMeasuredError, Verdict, judge, measure
from rote.config import to_plain
from rote.errors import UsageError
from rote.laboratory.aggregate import collected
from rote.laboratory.orders import Order
from rote.laboratory.perform import perform
from rote.laboratory.scale import scale_of
from rote.models import AutocompleteConfig, AutocompleteModel
from rote.store import Column, Store, Table
from rote.studies.memorization import autocomplete_accuracy as counting
from rote.studies.memorization import autocomplete_training as looking
from rote.studies.memorization.autocomplete import AutocompleteRecipe, AutocompleteStudy, MemorizationConfig
from rote.studies.memorization.autocomplete_claims import CLAIMS
from rote.studies.memorization.autocomplete_tables import TEXTS, _letters, _outside, view
from rote.studies.memorization.previous_words import NORMS, Profile, Words
from rote.studies.memorization.published import CELLS, PARAGRAPH, title_of
from rote.studies.memorization.sentences import ahead, letters, slope
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
    few, six = runs(study, {"seeds": 6}), tuple(range(6))
    more = runs(study, {"seeds": 8, "cells": ("gru", "lstm"), "initial.seeds": 3})
    untrained = {("autocomplete-untrained", "measurement", cell, (seed,)) for cell in CELLS for seed in (0, 1)}
    text = ("autocomplete-text", "measurement", "", ())
    trained, measured = ({("autocomplete", part, cell, six) for cell in CELLS} for part in ("training", "measurement"))
    assert set(few.values()) == {*untrained, text, *trained, *measured}
    both = {few[run] for run in more if run in few}
    assert both == {run for run in few.values() if run[2] != "nested_lstm"}
    other = runs(study, {"seeds": 6, "training.learning_rate": 0.5})
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


def test_small_networks_train_together_and_large_ones_by_themselves():
    study = AutocompleteStudy()
    overrides = {"task.text": "bundled", "seeds": 5}
    groups = {
        preset: [job.request.seeds for job in study.resolve(preset, overrides).recipe("gru").jobs(range(8))]
        for preset in ("quick", "scaled")
    }
    assert groups == {"quick": [(0, 1, 2, 3, 4, 5), (6, 7)], "scaled": [(seed,) for seed in range(8)]}


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


@pytest.mark.parametrize("preset", ["quick", "scaled", "paper"])
def test_nested_lstm_and_lstm_have_as_many_recurrent_parameters_as_each_other(preset):
    """The source's parity: 4 323 600, 5 764 800 and 5 764 800."""
    config = AutocompleteStudy().resolve(preset, {"task.text": "bundled"} if preset == "quick" else {})
    gru, lstm, nested = (config.recipe(cell).model.parameters(config.task.words)["recurrent"] for cell in CELLS)
    assert (gru / lstm, nested / lstm) == (0.75, 1.0)


def test_the_depth_is_the_nested_lstms_and_unsaid_at_its_default():
    study = AutocompleteStudy()
    deep = study.resolve("smoke", {"model.depth": 3, "initial.depth": 1})
    before, after = runs(study, {}), runs(study, {"model.depth": 3, "initial.depth": 1})
    assert {what[2] for run, what in before.items() if run not in after} == {"nested_lstm"}
    assert [deep.recipe(cell).model.depth for cell in CELLS] == [2, 2, 3]
    assert "depth" not in to_plain(study.resolve("smoke", {}))["model"]
    assert to_plain(deep)["model"]["depth"] == 3
    with pytest.raises(UsageError, match=r"'model.depth' .* no nested_lstm among 'cells'"):
        study.resolve("smoke", {"cells": "gru", "model.depth": 3})


@pytest.mark.parametrize(
    ("cells", "said"), [((), "must name at least one cell"), (("elmann",), "Unknown cell 'elmann'")]
)
def test_cells_that_there_are_not_are_refused(cells, said):
    with pytest.raises(UsageError, match=said):
        MemorizationConfig(cells=cells)


def test_any_cell_may_take_part_and_keeps_its_own_name():
    config = MemorizationConfig(cells=("gru", "min_gru"))
    assert config.recipe("min_gru").model.cell == "min_gru"
    assert [title_of(cell) for cell in config.cells] == ["GRU", "min_gru"]


def table(name: str, *columns: str, rows: list[tuple]) -> Table:
    return Table(name, name, tuple(map(Column, columns)), tuple(rows))


def verdict(name: str, tables: dict[str, Table]) -> Verdict:
    (claim,) = (claim for claim in CLAIMS if claim.id == f"autocomplete-{name}")
    return judge(claim, measure(claim, tables))


def test_almost_identical_accuracies_above_that_of_the_nested_lstm_are_what_is_claimed():
    def outcome(**accuracy: float) -> str:
        cells = {"GRU": accuracy["gru"], "LSTM": accuracy["lstm"], "Nested LSTM": accuracy.get("nested")}
        rows = [(c, s, 2.0, one) for c, one in cells.items() if one is not None for s in range(1000, 1005)]
        networks = table("networks", "cell", "seed", "cross_entropy", "accuracy", rows=rows)
        return verdict("order", {"networks": networks}).outcome

    assert outcome(gru=0.52, lstm=0.514, nested=0.47) == outcome(gru=0.514, lstm=0.52, nested=0.47) == "supported"
    assert outcome(gru=0.52, lstm=0.50, nested=0.47) == "contradicted"  # not identical
    assert outcome(gru=0.52, lstm=0.515, nested=0.517) == "contradicted"
    assert outcome(gru=0.52, lstm=0.515) == "open"


def test_accuracy_is_compared_over_all_positions_and_by_its_trend_over_the_letters():
    def hits(gru: list[tuple[int, int]], lstm: list[tuple[int, int]]) -> dict[str, Table]:
        rows = [
            (cell, seed, "corrected", 1, k, hits, positions)
            for seed in range(5)
            for cell, counts in {"GRU": gru, "LSTM": lstm}.items()
            for k, (hits, positions) in enumerate([*counts, (0, 0)])
        ]
        return {"hits": table("hits", "cell", "seed", "counted", "top", "k", "hits", "positions", rows=rows)}

    falling = hits([(9, 10), (10, 90)], [(0, 10), (20, 90)])
    assert ahead(falling, "corrected", 0, 0)[0] == pytest.approx(0.9)
    assert ahead(falling, "corrected", 0, 9)[4] == pytest.approx(19 / 100 - 20 / 100)  # not the mean of both
    assert slope(falling, "corrected") == pytest.approx(dict.fromkeys(range(5), -1 / 9 - 0.9))
    with pytest.raises(NotMeasuredError):
        slope({"hits": falling["hits"].where(cell="GRU")}, "corrected")
    assert verdict("short-long", falling).outcome == "supported"
    assert verdict("short-long", hits([(9, 10), (20, 20)], [(8, 10), (10, 20)])).outcome == "contradicted"
    assert verdict("short-long", hits([(7, 10), (10, 20)], [(8, 10), (20, 20)])).outcome == "contradicted"


def test_the_trend_gives_positions_and_not_numbers_of_letters_the_same_weight():
    rows = [("GRU", 0, "c", 1, k, h, n) for k, (h, n) in enumerate([(30, 60), (15, 20), (1, 1)])]
    rows += [("LSTM", 0, "c", 1, k, h, n) for k, (h, n) in enumerate([(30, 60), (10, 20), (1, 1)])]
    hits = table("hits", "cell", "seed", "counted", "top", "k", "hits", "positions", rows=rows)
    letters = np.repeat([0.0, 1.0, 2.0], [60, 20, 1])
    gaps = np.repeat([0.0, 0.25, 0.0], [60, 20, 1])
    assert slope({"hits": hits}, "c")[0] == pytest.approx(np.cov(letters, gaps)[0, 1] / letters.var(ddof=1))


def test_letters_that_are_needed_are_the_first_with_which_the_word_is_suggested():
    def rows(cell: str, seed: int, suggested: set[int]) -> list[tuple]:
        return [(cell, seed, o, ["the", "grammar" if o in suggested else "a", "of"]) for o in range(len(PARAGRAPH))]

    paragraph = table(
        "paragraph", "cell", "seed", "output", "suggestions",
        rows=[*rows("GRU", 3, {32, 33, 159}), *rows("LSTM", 3, {33}), *rows("Nested LSTM", 3, set())],
    )  # fmt: skip
    summary, found = _letters(paragraph)
    assert [row[2:] for row in found.rows] == [(1, 4), (2, 1), (1, 5), (2, None), (1, None), (2, None)]
    assert summary.column("never") == [0, 0, 0, 1, 1, 1]
    situations = table(
        "situations", "cell", "seed", "output", "rank", rows=[(cell, 3, 32, 1) for cell in CELLS.values()]
    )
    tables = {"letters": found, "situations": situations}
    assert [letters(tables, cell, 1)[3] for cell in CELLS.values()] == [4, 5, math.inf]
    unknown = replace(situations, rows=tuple((*row[:3], None) for row in situations.rows))
    with pytest.raises(NotMeasuredError, match="outside the vocabulary"):
        letters({"letters": found, "situations": unknown}, "GRU", 1)


def looked_at(**changes: float) -> dict[str, Table]:
    """Five networks of each cell that do what the article says of its own; ``changes``: of single numbers."""
    says = {
        "GRU 28 share": 0.9, "GRU 34 share": 0.1, "GRU 106 rank": 1, "LSTM 106 rank": 3, "Nested LSTM 106 rank": 9,
        "GRU 106 chance": 0.5, "LSTM 106 chance": 0.1, "LSTM 141 rank": 20, "LSTM 141 words": 10.0,
        "GRU advanced": 0.5, "LSTM advanced": 0.2, "GRU 1": 4, "LSTM 1": 4, "Nested LSTM 1": 4, "GRU 2": 1,
        "LSTM 2": 5, "Nested LSTM 2": math.nan, **changes,
    }  # fmt: skip
    situations, words, needed = [], [], []
    for cell, seed in itertools.product(CELLS.values(), range(5)):
        for output in (28, 32, 34, 106, 141):
            share, count = (says.get(f"{cell} {output} {name}", 2.0) for name in ("share", "words"))
            rank, chance = (says.get(f"{cell} {output} {name}", 1) for name in ("rank", "chance"))
            situations.append((cell, seed, output, rank, chance, share, share, count, count))
        on = says.get(f"{cell} advanced", 0.0)
        words.append((cell, seed, 106, "advanced", on, on))
        for occurrence in (1, 2):
            count = says[f"{cell} {occurrence}"]
            needed.append((cell, seed, occurrence, None if math.isnan(count) else count))
    columns = ("rank", "chance", "share_squared", "share_l2", "words_squared", "words_l2")
    return {
        "situations": table("situations", "cell", "seed", "output", *columns, rows=situations),
        "words": table("words", "cell", "seed", "output", "word", "share_squared", "share_l2", rows=words),
        "letters": table("letters", "cell", "seed", "occurrence", "letters", rows=needed),
    }


@pytest.mark.parametrize(
    ("claim", "changes"),
    [
        ("hero", {"GRU 28 share": 0.4}),
        ("hero", {"GRU 34 share": 0.6}),
        ("learning", {"GRU 106 rank": 4}),
        ("learning", {"LSTM 106 rank": 4}),
        ("learning", {"Nested LSTM 106 rank": 3}),
        ("learning", {"GRU 106 chance": 0.1}),
        ("advanced", {"GRU advanced": 0.1}),
        ("grammar", {"LSTM 1": 3}),
        ("grammar", {"GRU 2": 2}),
        ("grammar", {"Nested LSTM 2": 3}),
        ("schools", {"LSTM 141 words": 1.0}),
        ("schools", {"LSTM 141 rank": 3}),
    ],
)
def test_what_is_said_of_single_characters_is_counted_network_by_network(claim, changes):
    assert verdict(claim, looked_at()).outcome == "supported"
    assert verdict(claim, looked_at(**changes)).outcome == "contradicted"


def test_either_norm_is_a_reading_of_connectivity():
    tables = looked_at(**{"GRU 28 share": 0.4, "GRU advanced": 0.1})
    tables["situations"] = changed(tables["situations"], share_l2=lambda row: 0.9 if row["output"] == 28 else 0.1)
    tables["words"] = changed(tables["words"], share_l2=lambda row: 0.9 if row["cell"] == "GRU" else 0.1)
    assert verdict("hero", tables).outcome == verdict("advanced", tables).outcome == "supported"


def changed(old: Table, **columns: Callable[[dict], float]) -> Table:
    rows = [{**row, **{name: value(row) for name, value in columns.items()}} for row in old.records()]
    return Table.make(old.name, old.title, old.columns, rows)


@pytest.mark.parametrize(("nested", "outcome"), [(0.1, "supported"), (0.5, "contradicted")])
def test_reach_is_judged_by_every_measure_and_before_training_too(nested, outcome):
    names = [view(what, "trained", text, norm) for what in ("share", "reach") for text in TEXTS for norm in NORMS]
    reached = {"GRU": 0.3, "LSTM": 0.3, "Nested LSTM": nested}
    rows = [(cell, seed, *[value] * len(names)) for cell, value in reached.items() for seed in range(5)]
    lags = [(cell, seed, lag, value) for cell, value in reached.items() for seed in range(5) for lag in (10, 50)]
    tables = {
        "networks": table("networks", "cell", "seed", *names, rows=rows),
        "initial-lags": table("initial-lags", "cell", "seed", "lag", "ratio", rows=lags),
    }
    assert verdict("nested-reach", tables).outcome == verdict("initial-reach", tables).outcome == outcome


def test_seeds_of_trained_and_of_untrained_networks_are_counted_from_the_first():
    study = AutocompleteStudy()
    jobs = study.jobs(study.resolve("smoke", {"first_seed": 1000, "seeds": 1, "initial.seeds": 2}))
    assert sorted({seed for job in jobs for seed in job.request.seeds}) == [1000, 1001]


@pytest.mark.parametrize(("here", "scale"), [(True, "quick"), (False, "quick, stand-in data")])
def test_another_text_than_the_sources_stands_in_for_it(monkeypatch, here, scale):
    study, module = AutocompleteStudy(), "rote.studies.memorization.autocomplete.available"
    monkeypatch.setattr(module, lambda characters: here)
    plain = to_plain(study.resolve("quick", {}))
    monkeypatch.setattr(module, lambda characters: not here)
    assert str(scale_of(study, plain)) == scale  # on a machine with another text too
    assert str(scale_of(study, to_plain(study.resolve("paper", {})))) == "published"


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
