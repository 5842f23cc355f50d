"""The studies of conduits: which trainings and measurements they ask for, their tables, their claims' numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from rote.claims import Tables
from rote.config import to_plain
from rote.errors import SettingError, UnknownNameError, UsageError
from rote.laboratory import Study, studies
from rote.laboratory.perform import performer
from rote.recipes.trained import recipe_of
from rote.store import Column, Table
from rote.studies.conduits import frequency_tables, predictability_tables, rules_tables
from rote.studies.conduits.frequency import FrequencyConfig, FrequencyStudy
from rote.studies.conduits.predictability import PredictabilityConfig, PredictabilityStudy
from rote.studies.conduits.rules import RulesConfig, RulesRecipe, setting_of
from rote.tasks.rules import RulesTask


def trained(study: Study[Any], config: RulesConfig) -> list[tuple[RulesRecipe, tuple[int, ...]]]:
    """The recipe and the seeds of every training that a study asks for."""
    trainings = [need.request for job in study.jobs(config) for need in job.needs]
    assert len({request.id for request in trainings}) == len(trainings)
    return [(recipe_of(request), request.seeds) for request in trainings]


class TestJobs:
    def test_together_and_apart_cover_the_same_networks_of_the_grid(self) -> None:
        study = FrequencyStudy()
        for hidden, programs in ((32, 3 + 3), (200, 60 + 3 * 6)):
            asked = trained(study, study.resolve("quick", {"model.hidden": hidden}))
            networks = [
                (recipe.cell, task.conduit, task.rules, seed)
                for recipe, seeds in asked
                for task in recipe.tasks
                for seed in seeds
            ]
            assert len(networks) == len(set(networks)) == 60 + 3 * 6
            assert len(asked) == programs
        assert len(trained(study, study.resolve("paper", {}))) == 175

    def test_a_smaller_grid_asks_for_runs_of_the_larger_one(self) -> None:
        study = FrequencyStudy()
        large = {job.request.id for job in study.jobs(study.resolve("paper", {}))}
        small = study.resolve("paper", {"counts": (10_000,), "lengths": (4,), "figure_1_epoch": 3.0})
        assert {job.request.id for job in study.jobs(small)} <= large

    def test_more_seeds_ask_for_the_trainings_of_fewer_again(self) -> None:
        study = FrequencyStudy()
        five, twelve = (trained(study, study.resolve("quick", {"seeds": seeds})) for seeds in (5, 12))
        assert all(training in twelve for training in five)

    @pytest.mark.parametrize("overrides", [{"reading.bias": "never"}, {"reading.gradients": 2}, {"reading.rules": 7}])
    @pytest.mark.parametrize("study", [FrequencyStudy(), PredictabilityStudy()])
    def test_another_reading_measures_the_same_trainings(self, study: Study[Any], overrides: dict[str, object]) -> None:
        one, other = (study.jobs(study.resolve("paper", changes)) for changes in ({}, overrides))
        assert [job.needs for job in one] == [job.needs for job in other]
        assert not {job.request.id for job in one} & {job.request.id for job in other}

    @pytest.mark.parametrize(
        ("study", "overrides"), [(PredictabilityStudy(), {}), (FrequencyStudy(), {"generator": "as_published"})]
    )
    def test_only_corpora_of_one_length_are_trained_together(
        self, study: Study[Any], overrides: dict[str, object]
    ) -> None:
        asked = trained(study, study.resolve("quick", overrides))
        for recipe, _ in asked:
            assert len({task.length for task in recipe.tasks}) == 1
        assert any(len(recipe.tasks) > 1 for recipe, _ in asked)
        with pytest.raises(SettingError, match="corpora of one length"):
            RulesRecipe((RulesTask(tokens=10_000), RulesTask(tokens=20_000)))

    def test_the_tables_name_every_setting_as_it_was_asked_for(self) -> None:
        config = PredictabilityConfig()
        for setting in config.settings:
            assert setting_of(config.task(setting, 4)) == setting
        assert setting_of(FrequencyConfig(generator="as_published").task(100, 4)) == "random conduits"

    def test_the_paper_preset_is_the_published_setting(self) -> None:
        for name in ("conduit-frequency", "conduit-predictability"):
            config = studies[name]().resolve("paper", {})
            assert (config.tokens, config.vocabulary, config.model.hidden, config.model.cell) == (
                10**6,
                1000,
                200,
                "lstm",
            )
            training = config.training
            assert (training.learning_rate, training.clip, training.batch, training.bptt) == (1.0, 0.25, 20, 35)
            assert (training.momentum, training.weight_decay, training.epochs) == (0, 0, 50)
            assert config.seeds >= 5
        assert PredictabilityConfig().task("predictable, as published", 8).length == 1_101_000

    @pytest.mark.parametrize(
        ("study", "wrong", "message"),
        [
            (FrequencyConfig, {"counts": (100_000,)}, "100000 rules of k .* 'rules' fit"),
            (FrequencyConfig, {"lengths": (0,)}, "'lengths' must be at least 1"),
            (PredictabilityConfig, {"copies": 2000}, "q x m = 100 x 2000"),
            (PredictabilityConfig, {"copies": 0}, "'copies' must be at least 1"),
        ],
    )
    def test_what_does_not_fit_is_refused_before_anything_starts(self, study: Any, wrong: Any, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            study(**wrong)

    def test_unknown_cells_and_settings_are_refused_with_what_there_is(self) -> None:
        with pytest.raises(UnknownNameError, match="Unknown cell 'lstn'"):
            FrequencyConfig(others=("lstn",))
        with pytest.raises(UnknownNameError, match="Did you mean 'predictable'"):
            PredictabilityConfig(settings=("predictabel",))

    def test_recipes_and_measurements_survive_the_record(self) -> None:
        for study in (FrequencyStudy(), PredictabilityStudy()):
            for preset in study.presets:
                for job in study.jobs(study.resolve(preset, {})):
                    for one in job.all():
                        plain = json.loads(json.dumps(one.request.config))
                        assert to_plain(performer(replace(one.request, config=plain))) == one.request.config


def networks(rows: list[dict[str, Any]], **options: Any) -> Tables:
    return {"networks": Table.make("networks", "", [Column(name) for name in rows[0]], rows, options=options)}


class TestClaims:
    def grid(self, **changes: Any) -> Tables:
        """Of five seeds: k = 2 is learned from n = 100 on, k = 8 at n = 1000 in twice the time; GRU rows to ignore."""
        learned = {(2, 100): 2.0, (2, 1000): 1.0, (8, 100): None, (8, 1000): 2.0}
        rows = [
            {
                "cell": cell, "kind": kind, "k": k, "n": n, "seed": seed, "epoch": 4.0, "learned": time,
                "open": 0.02 if time is None else 0.9 + seed / 100, "conduit": 0.01 / k, "open_at_close": 0.6,
                "conduit_at_close": 0.1, "open_untrained": 0.02, "end_whole": 0.95 + seed / 100,
                "end_open": 0.9 + seed / 50, "end_whole_at_close": 0.5, "end_open_at_close": 0.7, "end_own": 0.8,
                "end_own_early": 0.1 * seed, "error": 1e-15 * k, "error_float32": 1e-7 * k, **changes,
            }
            for cell in ("lstm", "gru")
            for kind in ("unseen", "training")
            for (k, n), time in learned.items()
            for seed in range(5 if cell == "lstm" else 1)
        ]  # fmt: skip
        return networks(rows, figure_2_length=8)

    def test_examples_and_epochs_needed_compare_the_longest_with_the_shortest_conduit(self) -> None:
        tables = self.grid()
        assert frequency_tables.examples_needed(tables).value == pytest.approx(math.log2(1000 / 100))
        assert frequency_tables.epochs_needed(tables).value == pytest.approx(1.0)
        assert frequency_tables.examples_needed(tables).n == 5

    def test_what_was_never_learned_counts_as_the_next_count_or_the_end(self) -> None:
        never = self.grid(open=0.02, learned=None)
        assert frequency_tables.examples_needed(never).value == 0
        assert frequency_tables.epochs_needed(never).value == 0

    def test_contributions_are_read_at_the_largest_and_the_smallest_count(self) -> None:
        tables = self.grid()
        assert frequency_tables.open_minus_conduit(tables, "").value == pytest.approx(0.92 - (0.005 + 0.00125) / 2)
        assert frequency_tables.open_minus_conduit(tables, "_at_close").value == pytest.approx(0.5)
        assert frequency_tables.from_conduit(tables).value == pytest.approx(0.003125)
        assert frequency_tables.untrained(tables).value == pytest.approx(0.02)
        assert frequency_tables.rare_conduit(tables).value == pytest.approx(math.log10(2 / 8))
        assert frequency_tables.rare_open(tables).value == pytest.approx(
            sum(abs(math.log10((0.9 + seed / 100) / 0.02)) for seed in range(5)) / 5
        )

    def test_the_rise_over_the_prefix_is_that_of_figure_2(self) -> None:
        tables = self.grid()
        assert frequency_tables.rise(tables, "").value == pytest.approx(0.97 - 0.94)
        assert frequency_tables.rise(tables, "_at_close").value == pytest.approx(-0.2)
        assert frequency_tables.timing(tables).value == pytest.approx(0.6)

    def test_errors_are_the_worst_of_each_seed(self) -> None:
        assert frequency_tables.error_single(self.grid()).value == pytest.approx(8e-7)
        assert frequency_tables.error_double(self.grid()).value == pytest.approx(8e-15)

    def test_head_start_and_late_harm_pair_the_seeds_of_two_settings(self) -> None:
        rows = [
            {
                "cell": "lstm", "setting": f"{setting}{suffix}", "kind": kind, "k": k, "seed": seed, "epoch": 8.0,
                "learned": None if setting == "predictable" and k == 8 else time, "learned_own": 2 * time,
                "open": 0.9 - (0.2 if setting == "predictable" else 0.0) - seed / 100,
                "own": (0.5 if suffix else 0.8) - k / 100, "early_jacobians": -1.0 - k + (kind == "training"),
                "early_carried": -2.0 + (setting == "predictable"),
            }
            for setting, time in (("unpredictable", 4.0), ("predictable", 2.0))
            for suffix in ("", ", as published")
            for kind in ("unseen", "training")
            for k in (4, 8)
            for seed in reversed(range(5))
        ]  # fmt: skip
        tables = networks(rows)
        assert predictability_tables.head_start(tables, min).value == pytest.approx(1.0)
        assert predictability_tables.head_start(tables, max).value == pytest.approx(math.log2(4 / 8))
        assert predictability_tables.head_start(tables, min, "learned_own", "training").value == pytest.approx(1.0)
        assert predictability_tables.late(tables, min).value == pytest.approx(-0.2)
        assert predictability_tables.late(tables, max, suffix=", as published").value == pytest.approx(-0.2)
        assert predictability_tables.defect(tables).value == pytest.approx(-0.3)
        assert predictability_tables.gradient(tables, "carried").value == pytest.approx(1.0)
        assert predictability_tables.familiar(tables).value == pytest.approx(1.0)


class TestSummary:
    def rows(self) -> list[dict[str, Any]]:
        labels = {"cell": "lstm", "setting": "random", "k": 2, "n": 10, "kind": "unseen"}
        return [
            {**labels, "seed": seed, "epoch": epoch, "open": value}
            for seed, values in ((0, (0.1, 0.4, 0.6, 0.3)), (1, (0.1, 0.2, 0.3, 0.4)))
            for epoch, value in zip((0.0, 1.0, 2.0, 3.0), values, strict=True)
        ]

    def test_learning_time_is_the_first_epoch_above_one_half(self) -> None:
        assert list(rules_tables.learning_times(self.rows()).values()) == [2.0, None]

    def test_an_epoch_that_was_not_measured_is_the_one_before_it(self) -> None:
        assert [row["open"] for row in rules_tables.at_epoch(self.rows(), 2.5)] == [0.6, 0.3]

    def test_bands_are_means_with_intervals_within_the_probabilities(self) -> None:
        first, *_ = rules_tables.bands(self.rows(), ("epoch",), {"open": "open symbol"})
        assert first == {"epoch": 0.0, "measure": "open symbol", "seeds": 2, "mean": 0.1, "low": 0.1, "high": 0.1}
        assert rules_tables.band([0.1, 0.9]) == {"seeds": 2, "mean": 0.5, "low": 0.0, "high": 1.0}
        assert rules_tables.band([0.3]) == {"seeds": 1, "mean": 0.3}
        assert rules_tables.band([None]) == {"seeds": 0, "mean": None}
