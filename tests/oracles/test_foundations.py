"""The studies of source 004 on Elman's simulations: each measure against another way."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rote.claims import NotMeasuredError, judge, measure
from rote.errors import RunFailedError, UnknownNameError, UsageError
from rote.laboratory import Laboratory
from rote.recipes import Trained
from rote.store import Column, FinishedRun, Store, Table
from rote.studies.foundations import elman_lexicon_training as measures
from rote.studies.foundations.elman import PIECE, ElmanRecipe, Procedure
from rote.studies.foundations.elman_lexicon import (
    LexiconConfig,
    LexiconMeasurement,
    LexiconStudy,
    WordModel,
    WordModelRecipe,
)
from rote.studies.foundations.elman_lexicon_tables import COUNTS, branches
from rote.studies.foundations.elman_training import (
    ElmanProgram,
    Prediction,
    counted,
    losses_over_training,
    piece,
    predictions,
    reopened,
)
from rote.studies.foundations.elman_words import area
from rote.studies.foundations.elman_xor import errors
from rote.tasks.elman import ElmanTask, Stream

SEEDS = (0, 3)


def recipe(simulation: str = "letters", size: int = 300, **settings: Any) -> ElmanRecipe:
    return ElmanRecipe(ElmanTask(simulation, size), Procedure(**{"hidden": 5, "passes": 1.5, **settings}))


def prediction(names: str, symbols: str, outputs: list[list[float]], place: list[int]) -> Prediction:
    number = [names.index(symbol) for symbol in symbols]
    stream = Stream(tuple(names), np.eye(len(names)), np.array(number), np.array(place))
    return Prediction(stream, np.array(outputs))


class TestTraining:
    def test_a_stream_begins_again_at_its_own_end(self) -> None:
        streams = [ElmanTask("letters", 20).training(seed) for seed in range(3)]
        assert len({len(stream.symbols) for stream in streams}) > 1
        found = piece(streams, 50, 200)
        for stream, codes in zip(streams, found, strict=True):
            endless = list(stream.symbols) * 10
            np.testing.assert_array_equal(codes, stream.codes[endless[50:250]])

    def test_updates_go_through_every_symbol_once_with_the_next_as_target(self) -> None:
        trained, seen = ElmanProgram(recipe(), SEEDS), []
        trained.model.learn = lambda inputs, targets, rate: seen.append((inputs, targets, rate))
        for step in range(recipe().training.config(900).steps):
            trained.update(step)
        inputs, targets = (np.concatenate([row[part] for row in seen], axis=1) for part in (0, 1))
        np.testing.assert_array_equal(inputs, piece(trained.streams, 0, 1350))  # 1.5 passes of 900 letters
        np.testing.assert_array_equal(targets, piece(trained.streams, 1, 1350))
        assert len(seen) == -(-1350 // PIECE)

    def test_a_run_that_failed_anywhere_goes_on_to_the_same_bytes(self, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")
        asked = recipe(measure_every=0.6)
        (job,) = asked.jobs(SEEDS)
        original = ElmanProgram.update

        def trained(folder: Path, failing: int | None = None) -> Trained:
            def update(self: ElmanProgram, step: int) -> None:
                if step == failing:
                    raise RunFailedError("pulled the plug")
                original(self, step)

            monkeypatch.setattr(ElmanProgram, "update", update)
            store = Store(folder)
            with store.open(job.request) as run:
                asked.fit([], run, lambda *_: None, "cpu")
                run.finish([])
            return Trained(FinishedRun(store.folder(job.request)))

        whole = trained(tmp_path / "whole")
        with pytest.raises(RunFailedError):
            trained(tmp_path / "broken", failing=2)
        again = trained(tmp_path / "broken")
        assert whole.steps == again.steps == [0, 1, 2, 3]
        for step in whole.steps:
            one, other = whole.weights(step), again.weights(step)
            assert all(torch.equal(value, other[name]) for name, value in one.items())
        assert whole.run.metrics() == again.run.metrics()
        new = [asked.task.test(seed) for seed in SEEDS]
        rows = losses_over_training(whole, new).records()
        assert [row["pass"] for row in rows[:: len(SEEDS)]] == [0.0, pytest.approx(500 / 900), 1000 / 900, 1.5]
        last = predictions(reopened(whole, whole.weights()), new)
        assert [row["loss"] for row in rows[-len(SEEDS) :]] == [float(said.error.mean()) for said in last]

    def test_counts_predict_the_mean_code_of_what_followed(self) -> None:
        """The most frequent contexts of two letters, by hand; discounts are too small to matter there."""
        trained, new = recipe().task.training(0), recipe().task.test(0)
        (counts,) = counted(2, [trained], [new])
        after = defaultdict(Counter)
        for first, second in zip(trained.symbols, trained.symbols[1:], strict=False):
            after[first][second] += 1
        for now, found in list(zip(counts.stream.symbols, counts.outputs, strict=False))[:40]:
            total = sum(after[now].values())
            expected = sum(trained.codes[symbol] * number / total for symbol, number in after[now].items())
            np.testing.assert_allclose(found, expected, atol=0.02)

    @pytest.mark.parametrize("name", ["passes", "learning_rate", "measure_every"])
    def test_settings_that_cannot_be_are_refused(self, name: str) -> None:
        with pytest.raises(UsageError, match=f"'{name}' must be above 0. Got 0.0"):
            Procedure(**{name: 0.0})


class TestMeasures:
    def test_errors_of_the_exclusive_or_are_split_by_place(self) -> None:
        stream = Stream(("0", "1"), np.array([[0.0], [1.0]]), np.array([1, 0, 1, 1, 1, 0]), np.arange(6) % 3)
        new = Prediction(stream, np.array([[0.5], [0.9], [0.2], [0.7], [0.4]]))
        row = errors(new)
        drawn = np.sqrt(np.mean([0.5**2, 0.8**2, 0.3**2]))  # bits 1, 3 and 4
        assert row["drawn"] == pytest.approx(drawn)
        assert row["determined"] == pytest.approx(np.sqrt(np.mean([0.1**2, 0.4**2])))
        assert row["exclusive"] == pytest.approx(0.0)  # before bit 3: 0 xor 1 = 1, said 0.2; before bit 4: 0, said 0.7

    def test_detection_is_the_share_of_pairs_with_the_larger_error_at_the_onset(self) -> None:
        random = np.random.default_rng(0)
        error, place = random.integers(0, 4, 40).astype(float), random.integers(0, 3, 40)
        pairs = [(a > b) + 0.5 * (a == b) for a in error[place == 0] for b in error[place > 0]]
        assert area(error, place == 0) == pytest.approx(np.mean(pairs))

    def test_likelihood_is_that_of_the_same_beginning_of_a_sentence(self) -> None:
        stream = ElmanTask("lexicon", 200).training(0)
        following, beginning = defaultdict(Counter), []
        for symbol, place in zip(stream.symbols.tolist(), stream.place.tolist(), strict=True):
            beginning.append((*(beginning[-1] if place else ()), symbol))
        for before, symbol in zip(beginning, stream.symbols[1:].tolist(), strict=False):
            following[before][symbol] += 1
        found = measures.likelihood(stream)
        assert found.shape == (len(stream.symbols) - 1, 31)
        for row, before in zip(found, beginning, strict=False):
            expected = np.zeros(31)
            for symbol, number in following[before].items():
                expected[symbol] = number / sum(following[before].values())
            np.testing.assert_allclose(row, expected)

    def test_a_prediction_that_is_the_likelihood_has_cosine_one_and_no_error_from_it(self) -> None:
        stream = ElmanTask("lexicon", 100).training(0)
        likelihood = measures.likelihood(stream)
        row = measures.prediction_row(Prediction(stream, likelihood), likelihood)
        assert row["cosine"] == pytest.approx(1.0)
        assert row["likelihood"] == pytest.approx(0.0)
        zeros = measures.prediction_row(Prediction(stream, np.full_like(likelihood, 1e-12)), likelihood)
        assert zeros["error"] == pytest.approx(1.0)  # what the article says of an output of zeros

    def test_mean_states_and_tokens_are_those_of_each_word(self) -> None:
        made = prediction("ab", "abab", [[0, 0]] * 3, [0, 1, 0, 1])
        hidden = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 2.0]])
        means = measures.mean_states(replace(made, hidden=hidden))
        np.testing.assert_array_equal(means["a"], [1.0, 1.0])
        np.testing.assert_array_equal(means["b"], [4.0, 0.0])
        words = replace(made.stream, names=("boy", "girl"))
        row = measures.token_row(replace(made, stream=words, hidden=np.array([[0.0, 0.0], [4.0, 0.0], [3.9, 0.0]])))
        assert row["own"] == pytest.approx(2 / 3)  # the last 'boy' is nearer to 'girl'
        assert row["place"] is None  # each stands in one place only

    def test_tokens_of_boy_and_girl_are_told_apart_by_their_place(self) -> None:
        stream = Stream(("boy", "girl"), np.eye(2), np.array([0, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 1]))
        hidden = np.array([[0.0], [0.2], [1.0], [0.1]])
        found = measures.token_row(Prediction(stream, np.zeros((4, 2)), hidden))
        assert found["place"] == pytest.approx(3 / 4)  # means 0.1 and 0.55: the last is nearer to the first

    def test_groups_and_the_unseen_word_are_read_from_the_tree(self) -> None:
        means = {"man": 0.0, "boy": 0.1, "cat": 1.0, "dog": 1.05, "eat": 9.0, "zog": 0.15}
        vectors = {name: np.array([value]) for name, value in means.items()}
        row = measures.unseen_row(vectors, ("man", "boy"))
        assert row == {"nearest": "boy, man, cat", "nearest_kin": 1.0, "branch": "boy", "joins_kin": 1.0}
        row = measures.unseen_row({**vectors, "zog": np.array([1.2])}, ("man", "boy"))
        assert (row["branch"], row["joins_kin"], row["nearest_kin"]) == ("cat, dog", 0.0, 0.0)
        found = measures.group_rows(vectors, {"pets": ("cat", "dog"), "two": ("man", "boy"), "odd": ("man", "cat")})
        exact = {row["group"]: row["exact"] for row in found if row["linkage"] == "average"}
        assert exact == {"pets": 1.0, "two": 0.0, "odd": 0.0}

    def test_neighbors_are_counted_on_both_sides(self) -> None:
        stream = Stream(("a", "b", "zog"), np.eye(3), np.array([0, 1, 0, 0]), np.array([0, 1, 0, 0]))
        found = measures.neighbors(stream)
        assert list(found) == ["a", "b"]
        np.testing.assert_allclose(found["a"], [0.5, 0.5, 0, 0.5, 0.5, 0])  # before it: b, a; behind it: b, a
        np.testing.assert_allclose(found["b"], [1, 0, 0, 1, 0, 0])

    def test_the_unseen_word_takes_every_place_of_man(self) -> None:
        stream = ElmanTask("lexicon", 200).training(0)
        changed = measures.with_unseen(stream)
        man, zog = (stream.names.index(name) for name in ("man", "zog"))
        np.testing.assert_array_equal(changed.symbols == zog, stream.symbols == man)
        others = stream.symbols != man
        np.testing.assert_array_equal(changed.symbols[others], stream.symbols[others])


class TestWordModels:
    def test_a_stream_is_learned_in_columns_and_read_in_rows(self) -> None:
        streams = [ElmanTask("lexicon", 100).training(seed) for seed in SEEDS]
        modern = WordModelRecipe(ElmanTask("lexicon", 100), WordModel(hidden=4, passes=1, columns=5, bptt=7))
        made = measures.WordModels(modern, SEEDS, "cpu")
        np.testing.assert_array_equal(made.columns[1].flatten(), np.resize(streams[1].symbols, 275))
        starts = []
        original = made.model.losses
        made.model.losses = lambda i, t, s: (starts.append((i[:, :, 0], t[:, :, -1])), original(i, t, s))[1]
        for step in range(made.steps):
            made.losses(step)
        assert len(starts) == made.steps == 8  # 54 predictions of each column in pieces of 7
        np.testing.assert_array_equal(starts[-1][0], made.columns[:, :, 49])
        np.testing.assert_array_equal(starts[-1][1], made.columns[:, :, 54])
        read, _ = measures.predictions(made.model, streams)
        time = (len(streams[0].symbols) - 1) // 10
        alone = made.model.replica(0)(torch.from_numpy(streams[0].symbols[time : 2 * time])[None])
        np.testing.assert_allclose(read.outputs[time : 2 * time, :30], alone[0].softmax(-1).detach(), atol=1e-6)
        np.testing.assert_array_equal(read.stream.symbols, streams[0].symbols[: 10 * time + 1])


class TestClaims:
    def test_branches_are_counted_per_seed_with_one_linkage(self) -> None:
        columns = [Column(name) for name in ("network", "seed", "linkage", "group", "exact")]
        rows = [
            {"network": network, "seed": seed, "linkage": linkage, "group": group, "exact": float(exact)}
            for network, linkage, exact in (("trained", "average", 1), ("trained", "ward", 0), (COUNTS, "average", 0))
            for seed in range(5)
            for group in ("nouns", "animals")
        ]  # fmt: skip
        rows[1]["exact"] = 0.0  # animals of seed 0
        tables = {"groups": Table.make("groups", "", columns, rows)}
        assert branches(tables, "trained", "average") == {0: 1, 1: 2, 2: 2, 3: 2, 4: 2}
        assert set(branches(tables, "trained", "ward").values()) == {0}
        assert branches(tables, "trained", "average", ("animals",))[0] == 0
        with pytest.raises(NotMeasuredError):
            branches(tables, "untrained", "average")
        claims = {claim.id: claim for claim in LexiconStudy.claims}
        found = measure(claims["elman-lexicon-tree"], tables)
        assert found["Branches: trained minus counts of 2"][0] == 1
        animals = judge(claims["elman-lexicon-animals"], measure(claims["elman-lexicon-animals"], tables))
        assert (animals.outcome, animals.count) == ("open", "4/5")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LexiconConfig(sentences=10), "'sentences' must be at least 500"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_starts(make: Any, message: str) -> None:
    with pytest.raises((UsageError, UnknownNameError)) as refused:
        make()
    assert message in str(refused.value)


class TestNetworks:
    @pytest.mark.parametrize("simulation", ["xor", "letters", "words", "lexicon"])
    def test_a_network_gives_the_odds_of_the_bits_that_elman_s_units_give(
        self, simulation: str, tmp_path: Path
    ) -> None:
        """What is opened is the network that was trained: with the codes' bits as independent, its probability of a
        symbol is proportional to the product of the bits' odds."""
        asked = recipe(simulation, 30, passes=0.5)
        (job,) = asked.jobs(SEEDS)
        store = Store(tmp_path)
        with store.open(job.request) as run:
            asked.fit([], run, lambda *_: None, "cpu")
            run.finish([])
        trained = Trained(FinishedRun(store.folder(job.request)))
        streams = [asked.task.training(seed) for seed in SEEDS]
        for step in (0, trained.steps[-1]):
            networks = trained.networks(step)
            assert [network.labels["seed"] for network in networks] == list(SEEDS)
            said = predictions(reopened(trained, trained.weights(step)), streams)
            for stream, network, prediction in zip(streams, networks, said, strict=True):
                assert network.inputs == network.outputs == stream.names
                shown = network.example.split() if simulation == "lexicon" else list(network.example)
                assert set(shown) <= set(stream.names)
                logits = network.model(torch.from_numpy(stream.symbols[:-1])[None])[0].double()
                bits = torch.from_numpy(prediction.outputs.astype(np.float64))
                odds = (bits / (1 - bits)).log() @ torch.from_numpy(stream.codes.T)
                torch.testing.assert_close(logits.log_softmax(-1), odds.log_softmax(-1), rtol=1e-3, atol=1e-3)

    def test_a_word_model_is_opened_with_the_words_that_it_read(self, tmp_path: Path) -> None:
        Laboratory(Store(tmp_path), workers=1).run("elman-lexicon", "smoke")
        (row,) = [row for row in Store(tmp_path).runs() if row.study == "elman-lexicon" and row.part == "training"]
        first, second = Store(tmp_path).load(row.id).networks()
        assert (first.labels["cell"], first.labels["seed"], second.labels["seed"]) == ("elman", 0, 1)
        assert first.inputs[-1] == "zog"
        assert first.model(torch.tensor([[0, 1, 2]])).shape == (1, 3, 30)
        assert set(first.example.split()) <= set(first.inputs)


def test_reading_more_words_or_measuring_anew_trains_nothing(tmp_path: Path) -> None:
    laboratory = Laboratory(Store(tmp_path), workers=1)
    laboratory.run("elman-lexicon", "smoke")
    before = {row.id for row in Store(tmp_path).runs() if row.part == "training"}
    again = laboratory.run("elman-lexicon", "smoke", {"read": 1500})
    assert {row.id for row in Store(tmp_path).runs() if row.part == "training"} == before
    assert again.computed == 2  # a measurement of Elman's networks and one of the language models
    assert LexiconMeasurement(1500) != LexiconMeasurement(2000)
