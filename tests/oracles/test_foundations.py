"""The studies of source 004 on Elman's simulations, agreement and selection: each measure against another way."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from rote.errors import RunFailedError, UnknownNameError, UsageError
from rote.models import LanguageModelConfig
from rote.store import Column, Request, Store, Table
from rote.studies.foundations import elman_words, elman_xor, lexicon_claims, selection_claims
from rote.studies.foundations import lexicon_measures as measures
from rote.studies.foundations.agreement import AgreementConfig
from rote.studies.foundations.agreement_training import count
from rote.studies.foundations.elman_lexicon import LexiconConfig, WordModel
from rote.studies.foundations.elman_settings import PIECE, Procedure
from rote.studies.foundations.elman_training import ElmanProgram, Prediction, piece, train_networks
from rote.studies.foundations.lexicon_training import COUNTS, WordModels
from rote.studies.foundations.selection import SelectionConfig
from rote.studies.foundations.selection_tables import all_tables
from rote.studies.foundations.sentence_models import SentenceProgram, larger, shuffled
from rote.tasks.agreement import AgreementTask
from rote.tasks.elman import ElmanTask, Stream
from rote.training import TrainingConfig

SEEDS = (0, 3)


def program(simulation: str = "letters", size: int = 300, **settings: Any) -> ElmanProgram:
    task = ElmanTask(simulation, size)
    return ElmanProgram(task, Procedure(**{"hidden": 5, "passes": 1.5, **settings}), SEEDS, task.test)


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
        trained, seen = program(), []
        trained.model.learn = lambda inputs, targets, rate: seen.append((inputs, targets, rate))
        for step in range(trained.config.steps):
            trained.update(step)
        inputs, targets = (np.concatenate([row[part] for row in seen], axis=1) for part in (0, 1))
        np.testing.assert_array_equal(inputs, piece(trained.training, 0, 1350))  # 1.5 passes of 900 letters
        np.testing.assert_array_equal(targets, piece(trained.training, 1, 1350))
        assert len(seen) == -(-1350 // PIECE)

    def test_a_run_that_failed_anywhere_goes_on_to_the_same_bytes(self, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")
        request = Request("oracle", 1, "p", {}, SEEDS)

        def trained(folder: Path, failing: int | None = None) -> tuple[dict[str, torch.Tensor], list[Any]]:
            made, original = program(measure_every=0.6), ElmanProgram.update

            def update(step: int) -> None:
                if step == failing:
                    raise RunFailedError("pulled the plug")
                original(made, step)

            made.update = update
            with Store(folder).open(request) as run:
                table = train_networks(made, run, lambda *_: None)
            return made.model.state_dict(), table.records()

        whole, curve = trained(tmp_path / "whole")
        with pytest.raises(RunFailedError):
            trained(tmp_path / "broken", failing=2)
        again, same_curve = trained(tmp_path / "broken")
        assert all(torch.equal(value, again[name]) for name, value in whole.items())
        assert curve == same_curve
        assert [row["pass"] for row in curve[:: len(SEEDS)]] == [0.0, pytest.approx(500 / 900), 1000 / 900, 1.5]

    def test_counts_predict_the_mean_code_of_what_followed(self) -> None:
        """The most frequent contexts of two letters, by hand; discounts are too small to matter there."""
        counted = program().counted(2, program().tested)[0]
        trained = program().training[0]
        after = defaultdict(Counter)
        for first, second in zip(trained.symbols, trained.symbols[1:], strict=False):
            after[first][second] += 1
        for now, found in list(zip(counted.stream.symbols, counted.outputs, strict=False))[:40]:
            total = sum(after[now].values())
            expected = sum(trained.codes[symbol] * number / total for symbol, number in after[now].items())
            np.testing.assert_allclose(found, expected, atol=0.02)

    @pytest.mark.parametrize("name", ["passes", "learning_rate", "measure_every"])
    def test_settings_that_cannot_be_are_refused(self, name: str) -> None:
        with pytest.raises(UsageError, match=f"'{name}' of Procedure must be above 0. Got 0.0"):
            Procedure(**{name: 0.0})


class TestMeasures:
    def test_errors_of_the_exclusive_or_are_split_by_place(self) -> None:
        stream = Stream(("0", "1"), np.array([[0.0], [1.0]]), np.array([1, 0, 1, 1, 1, 0]), np.arange(6) % 3)
        (row,) = elman_xor._errors(Prediction(stream, np.array([[0.5], [0.9], [0.2], [0.7], [0.4]])))
        drawn = np.sqrt(np.mean([0.5**2, 0.8**2, 0.3**2]))  # bits 1, 3 and 4
        assert row["drawn"] == pytest.approx(drawn)
        assert row["determined"] == pytest.approx(np.sqrt(np.mean([0.1**2, 0.4**2])))
        assert row["exclusive"] == pytest.approx(0.0)  # before bit 3: 0 xor 1 = 1, said 0.2; before bit 4: 0, said 0.7

    def test_detection_is_the_share_of_pairs_with_the_larger_error_at_the_onset(self) -> None:
        random = np.random.default_rng(0)
        error, place = random.integers(0, 4, 40).astype(float), random.integers(0, 3, 40)
        pairs = [(a > b) + 0.5 * (a == b) for a in error[place == 0] for b in error[place > 0]]
        assert elman_words._area(error, place) == pytest.approx(np.mean(pairs))

    def test_likelihood_is_that_of_the_same_beginning_of_a_sentence(self) -> None:
        stream = ElmanTask("lexicon", 200).training(0)
        following, beginning = defaultdict(Counter), []
        for symbol, place in zip(stream.symbols.tolist(), stream.place.tolist(), strict=True):
            beginning.append((*(beginning[-1] if place else ()), symbol))
        for before, symbol in zip(beginning, stream.symbols[1:].tolist(), strict=False):
            following[before][symbol] += 1
        found = measures.Likelihood(stream).vectors
        assert found.shape == (len(stream.symbols) - 1, 31)
        for row, before in zip(found, beginning, strict=False):
            expected = np.zeros(31)
            for symbol, number in following[before].items():
                expected[symbol] = number / sum(following[before].values())
            np.testing.assert_allclose(row, expected)

    def test_a_prediction_that_is_the_likelihood_has_cosine_one_and_no_error_from_it(self) -> None:
        stream = ElmanTask("lexicon", 100).training(0)
        likelihood = measures.Likelihood(stream).vectors
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

    def test_equal_probabilities_count_half(self) -> None:
        assert larger(np.array([2.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 1.0])) == pytest.approx(0.5)


class TestSentenceModels:
    def test_losses_are_means_over_words_without_padding(self) -> None:
        """Against one network at a time, one sentence at a time, with torch's own modules."""
        tokens = np.array([[[1, 2, 3, 0], [2, 0, -1, -1]], [[3, 3, 0, -1], [1, 0, -1, -1]]])
        model = LanguageModelConfig(cell="gru", embedding=3, hidden=4, limit=1.0)
        made = SentenceProgram(
            4, model, TrainingConfig(dtype="float64"), (0, 1), lambda _: tokens, lambda _: {}, "cpu"
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

    def test_the_words_after_a_prefix_are_those_of_the_network_that_has_read_it(self) -> None:
        prefixes = np.array([[[1, 2], [3, 1]]] * 2)
        model = LanguageModelConfig(cell="elman", embedding=3, hidden=4, limit=1.0)
        made = SentenceProgram(
            4, model, TrainingConfig(dtype="float64"), (0, 1), lambda _: prefixes, lambda _: {}, "cpu"
        )
        chances = made.after(prefixes)
        scores = made.model.replica(1)(torch.tensor([[0, 1, 2], [0, 3, 1]]))
        np.testing.assert_allclose(chances[1], scores[:, -1].softmax(-1).detach())

    def test_every_sentence_of_a_corpus_is_learned_once_in_an_epoch_each_seed_in_its_own_order(self) -> None:
        corpora = np.arange(2 * 12 * 3).reshape(2, 12, 3)
        batches = shuffled(corpora, (0, 1), 4)
        first, second = (np.concatenate([batches(step) for step in range(e * 3, e * 3 + 3)], axis=1) for e in (0, 1))
        for epoch in (first, second):
            for replica in range(2):
                np.testing.assert_array_equal(np.sort(epoch[replica, :, 0]), corpora[replica, :, 0])
        assert not np.array_equal(first[0], second[0])
        assert not np.array_equal(first[0] - corpora[0].min(), first[1] - corpora[1].min())

    def test_bigrams_follow_the_nearest_noun(self) -> None:
        """All of the congruent and none of the opposite items: what the average of both would hide."""
        config = AgreementConfig(sentences=8000, items=200, depths=(0, 2), orders=(2,))
        rows = count(config, [0], lambda *_: None)[0].where(structure="phrases", depth=2).records()
        found = {row["attractors"]: row["accuracy"] for row in rows}
        assert found["congruent"] > 0.95
        assert found["opposite"] < 0.05

    def test_a_stream_is_learned_in_columns_and_read_in_rows(self) -> None:
        streams = [ElmanTask("lexicon", 100).training(seed) for seed in SEEDS]
        settings = WordModel(hidden=4, passes=1, columns=5, bptt=7)
        made = WordModels(streams, 275, settings, SEEDS, "cpu")
        np.testing.assert_array_equal(made.columns[1].flatten(), np.resize(streams[1].symbols, 275))
        starts = []
        original = made.model.losses
        made.model.losses = lambda i, t, s: (starts.append((i[:, :, 0], t[:, :, -1])), original(i, t, s))[1]
        for step in range(made.steps):
            made.losses(step)
        assert len(starts) == made.steps == 8  # 54 predictions of each column in pieces of 7
        np.testing.assert_array_equal(starts[-1][0], made.columns[:, :, 49])
        np.testing.assert_array_equal(starts[-1][1], made.columns[:, :, 54])
        read = made.prediction(0, streams[0])
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
        assert lexicon_claims.branches(tables, "trained").value == pytest.approx(1.8)
        assert lexicon_claims.branches(tables, "trained", "ward").value == 0
        assert lexicon_claims.over_counts(tables).value == pytest.approx(1.8)
        assert lexicon_claims.all_of(tables, ("nouns", "animals")).value == pytest.approx(0.8)
        assert lexicon_claims.all_of(tables, ("nouns",)).value == pytest.approx(1.0)
        assert lexicon_claims.all_of(tables, ("verbs",)).n == 0  # not measured

    def test_a_gap_is_learned_at_the_first_recorded_update_above_95_percent(self) -> None:
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

        class Finished:
            def tables(self) -> dict[str, Table]:
                return {"accuracy": table}

        made = {found.name: found for found in all_tables(config, [Finished()])}
        learned = {row["trained"]: row["learned"] for row in made["networks"].records()}
        assert learned == {"gap 2": 100, "gap 9": None, "mixed gaps": 200}
        assert selection_claims.gain(made, "elman").value == pytest.approx(0.37)
        assert selection_claims.shorter(made, "elman").value == pytest.approx(0.4)
        assert selection_claims.further(made, "elman").value == pytest.approx(0.7)
        assert selection_claims.accuracy(made, "elman", column="before").value == pytest.approx(0.5)
        assert selection_claims.accuracy(made, "lstm").n == 0
        (row,) = [row for row in made["outcome"].records() if row["trained"] == "mixed gaps"]
        assert (row["learned"], row["updates"], row["further"]) == (5, 200, pytest.approx(0.7))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AgreementConfig(cells=("lstn",)), "Unknown cell 'lstn'. Did you mean 'lstm'?"),
        (lambda: AgreementConfig(depths=(0, 51)), "'depths' of AgreementConfig must be at most 50. Got 51"),
        (lambda: AgreementConfig(orders=()), "must each name at least one"),
        (lambda: SelectionConfig(gaps=(2, 13)), "A gap must have 1 to 12 words"),
        (lambda: SelectionConfig(gaps=(2, 12)), "'further' must be a gap that is not trained"),
        (lambda: LexiconConfig(sentences=10), "'sentences' of LexiconConfig must be at least 500"),
        (lambda: AgreementConfig(task=AgreementTask(depth=2), items=0), "'items' of AgreementConfig"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_starts(make: Any, message: str) -> None:
    with pytest.raises((UsageError, UnknownNameError)) as refused:
        make()
    assert message in str(refused.value)
