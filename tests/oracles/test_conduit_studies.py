"""The studies of conduits: which trainings and measurements they ask for, their tables, their claims' numbers."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import pytest

from rote.claims import Tables, Verdict, judge, measure
from rote.config import to_plain
from rote.errors import SettingError, UnknownNameError, UsageError
from rote.laboratory import Study, studies
from rote.laboratory.perform import performer
from rote.recipes.trained import recipe_of
from rote.store import Column, Table
from rote.studies.conduits import (
    counting,
    frequency_tables,
    predictability_tables,
    procedure,
    rules_tables,
)
from rote.studies.conduits.counting import CountingConfig, CountingStudy
from rote.studies.conduits.frequency import FrequencyConfig, FrequencyStudy
from rote.studies.conduits.long_run import LongRunStudy
from rote.studies.conduits.predictability import PredictabilityConfig, PredictabilityStudy
from rote.studies.conduits.procedure import ProcedureConfig, ProcedureStudy
from rote.studies.conduits.rules import RulesConfig, RulesRecipe, setting_of
from rote.tasks.rules import RulesTask


def trained(
    study: Study[Any], config: RulesConfig | CountingConfig | ProcedureConfig
) -> list[tuple[RulesRecipe, tuple[int, ...]]]:
    """The recipe and the seeds of every training that a study asks for."""
    trainings = [need.request for job in study.jobs(config) for need in job.needs]
    assert len({request.id for request in trainings}) == len(trainings)
    return [(recipe_of(request), request.seeds) for request in trainings]


class TestJobs:
    def test_together_and_apart_cover_the_same_networks_of_the_grid(self) -> None:
        study = FrequencyStudy()
        for hidden, programs in ((32, 3 + 1), (200, 72 + 6)):
            asked = trained(study, study.resolve("quick", {"model.hidden": hidden}))
            networks = [
                (recipe.cell, task.conduit, task.rules, seed)
                for recipe, seeds in asked
                for task in recipe.tasks
                for seed in seeds
            ]
            assert len(networks) == len(set(networks)) == 72 + 6
            assert len(asked) == programs
        assert len(trained(study, study.resolve("paper", {}))) == 35 * 6

    def test_a_smaller_grid_asks_for_runs_of_the_larger_one(self) -> None:
        study = FrequencyStudy()
        large = {job.request.id for job in study.jobs(study.resolve("paper", {}))}
        small = study.resolve("paper", {"counts": (10_000,), "lengths": (4,), "figure_1_epoch": 3.0})
        assert {job.request.id for job in study.jobs(small)} <= large

    def test_more_seeds_ask_for_the_trainings_of_fewer_again(self) -> None:
        study = FrequencyStudy()
        six, twelve = (trained(study, study.resolve("quick", {"seeds": seeds})) for seeds in (6, 12))
        assert all(training in twelve for training in six)

    @pytest.mark.parametrize("study", [FrequencyStudy(), PredictabilityStudy()])
    def test_seeds_are_counted_from_the_first_for_every_cell(self, study: Study[Any]) -> None:
        config = study.resolve("quick", {"first_seed": 1000, "seeds": 2, "other_seeds": 1})
        by_cell = {recipe.cell: seeds for recipe, seeds in trained(study, config)}
        assert by_cell == {"lstm": (1000, 1001), **dict.fromkeys(config.others, (1000,))}

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

    def test_the_long_run_as_published_is_that_of_the_networks_of_figure_3(self) -> None:
        one, other = (study.jobs(study.resolve("paper", {})) for study in (PredictabilityStudy(), LongRunStudy()))
        assert [job.request.id for job in one] == [job.request.id for job in other]

    def test_counting_as_published_looks_at_the_networks_of_figure_1(self) -> None:
        one, other = (study.jobs(study.resolve("paper", {})) for study in (FrequencyStudy(), CountingStudy()))
        chosen = {job.request.id for job in other}
        assert len(chosen) == 5 * 6
        assert chosen < {job.request.id for job in one}

    def test_the_scaled_long_run_is_long_and_has_the_corpora_of_the_scaled_figure_3(self) -> None:
        (training,) = trained(LongRunStudy(), LongRunStudy().resolve("quick", {}))
        short = [recipe for recipe, _ in trained(PredictabilityStudy(), PredictabilityStudy().resolve("quick", {}))]
        recipe, seeds = training
        assert recipe.training.epochs >= 30
        assert len(seeds) == 6
        assert set(recipe.tasks) <= {task for other in short for task in other.tasks}
        assert {setting_of(task) for task in recipe.tasks} == {"predictable", "unpredictable"}

    def test_both_numbers_of_copies_that_the_text_has_can_be_run(self) -> None:
        for study in (PredictabilityStudy(), LongRunStudy()):
            for copies in (100, 1000):
                asked = trained(study, study.resolve("paper", {"copies": copies, "settings": ("predictable",)}))
                assert {task.copies for recipe, _ in asked for task in recipe.tasks} == {copies}
            assert any("copies=100," in text and "copies=1000 " in text for text in study.deviations)

    @pytest.mark.parametrize("preset", ["quick", "paper"])
    def test_procedures_differ_in_momentum_and_weight_decay_alone(self, preset: str) -> None:
        study = ProcedureStudy()
        config = study.resolve(preset, {})
        plain = config.training
        asked = {}
        for recipe, _ in trained(study, config):
            rest = replace(recipe.training, momentum=0.0, weight_decay=0.0, learning_rate=plain.learning_rate)
            assert replace(recipe, training=rest) == RulesRecipe(recipe.tasks, config.model, plain)
            asked[recipe.training.momentum, recipe.training.weight_decay, recipe.training.learning_rate] = recipe.tasks
        rate = plain.learning_rate
        expected = {(0, 0, rate), (0.9, 0, rate), (0, 1e-4, rate), (0.9, 1e-4, rate)}
        assert {key for key in asked if key[2] == rate} == expected
        ((momentum, decay, smaller),) = asked.keys() - expected
        assert (momentum, decay, smaller / (1 - momentum)) == (0.9, 0, pytest.approx(rate))  # what a step adds up to
        assert len(set(asked.values())) == 1

    @pytest.mark.parametrize("wrong", [{"momentum": 0.0}, {"momentum": 1.0}, {"weight_decay": 0.0}])
    def test_a_procedure_that_would_be_the_published_one_is_refused(self, wrong: dict[str, float]) -> None:
        with pytest.raises(SettingError):
            ProcedureConfig(**wrong)

    def test_the_tables_name_every_setting_as_it_was_asked_for(self) -> None:
        config = PredictabilityConfig()
        for setting in config.settings:
            assert setting_of(config.task(setting, 4)) == setting
        assert setting_of(FrequencyConfig(generator="as_published").task(100, 4)) == "random conduits"

    def test_the_paper_preset_is_the_published_setting(self) -> None:
        for name in ("conduit-frequency", "conduit-counting", "conduit-predictability", "conduit-long-run"):
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


def networks(rows: list[dict[str, Any]]) -> Tables:
    return {"networks": Table.make("networks", "", [Column(name) for name in rows[0]], rows)}


def outcome(study: Study[Any], claim: str, tables: Tables) -> Verdict:
    (asked,) = (one for one in study.claims if one.id == claim)
    return judge(asked, measure(asked, tables))


class TestClaims:
    def grid(self, seeds: int = 5, **changes: Any) -> Tables:
        """k = 2 is learned from n = 100 on, k = 8 at n = 1000 in twice the time; GRU rows are to be ignored."""
        learned = {(2, 100): 2.0, (2, 1000): 1.0, (8, 100): None, (8, 1000): 2.0}
        rows = [
            {
                "cell": cell, "kind": kind, "k": k, "n": n, "seed": seed, "learned": time if cell == "lstm" else 1.0,
                "open": 0.02 if time is None else 0.9 + (seed - 1000) / 100, "conduit": 0.01 / k, "open_at_close": 0.6,
                "conduit_at_close": 0.1, "open_untrained": 0.02, "end_whole": 0.95, "end_open": 0.9,
                "end_whole_at_close": 0.5, "end_open_at_close": 0.7, "end_own": 0.8, "end_own_early": 0.1,
                **{name: value(k, n) if callable(value) else value for name, value in changes.items()},
            }
            for cell in ("lstm", "gru")
            for kind in ("unseen", "training")
            for (k, n), time in learned.items()
            for seed in (range(1000, 1000 + seeds) if cell == "lstm" else [1000])
        ]  # fmt: skip
        return networks(rows)

    def judged(self, claim: str, **changes: Any) -> Verdict:
        return outcome(FrequencyStudy(), claim, self.grid(**changes))

    def test_examples_and_epochs_needed_grow_with_the_length(self) -> None:
        tables = self.grid()
        seeds = range(1000, 1005)
        assert frequency_tables.examples_more(tables) == pytest.approx(dict.fromkeys(seeds, math.log2(10)))
        assert frequency_tables.examples_fewer(tables) == pytest.approx(dict.fromkeys(seeds, -math.log2(10)))
        assert frequency_tables.epochs_more(tables) == dict.fromkeys(seeds, 1.0)

    def test_longer_conduits_that_need_fewer_examples_contradict_the_claim(self) -> None:
        assert self.judged("conduit-length").outcome == "supported"
        reverse = self.judged("conduit-length", open=lambda k, n: 0.9 if k == 8 or n == 1000 else 0.02)
        assert reverse.outcome == "contradicted"
        never = self.judged("conduit-length", open=0.02)
        assert never.outcome == "void"  # what is learned by none, counts as the next count of the grid: equally many
        assert {value for part in never.parts for value in part.values.values()} == {0.0}

    def test_one_length_or_one_count_says_nothing_of_examples_and_rare_rules(self) -> None:
        table = self.grid()["networks"]
        for labels in ({"k": 8}, {"n": 1000}):
            part = {"networks": table.where(**labels)}
            for claim in ("conduit-length", "conduit-rare-rule"):
                assert outcome(FrequencyStudy(), claim, part).outcome == "not run"

    def test_a_conduit_that_predicts_close_contradicts_that_the_open_symbol_carries_the_rule(self) -> None:
        assert self.judged("conduit-open-symbol").said == "supported"
        likely = self.judged("conduit-open-symbol", conduit=lambda k, n: 0.2 if k == 8 else 0.001)
        assert likely.outcome == "contradicted"  # one length is enough
        above_chance = self.judged("conduit-open-symbol", conduit=lambda k, n: 0.05 if k == 8 else 0.001)
        assert above_chance.said.startswith("supported, but The conduit says no more than chance")
        assert self.judged("conduit-open-symbol", open=0.3).outcome == "void"

    def test_a_rare_rule_is_judged_at_the_smallest_count_and_only_where_something_is_learned(self) -> None:
        steady = {"open": lambda k, n: 0.9 if n == 1000 else 0.03 - k / 1000}
        assert self.judged("conduit-rare-rule", **steady).outcome == "supported"
        assert self.judged("conduit-rare-rule", **steady, conduit=lambda k, n: k / 1000).outcome == "contradicted"
        assert self.judged("conduit-rare-rule").outcome == "contradicted"  # 0.9 and 0.02 are not steady
        assert self.judged("conduit-rare-rule", **steady, end_own=0.1).outcome == "void"

    def test_counting_is_judged_over_the_counts_that_had_room_and_needs_both_parts(self) -> None:
        def verdict(**changes: float) -> Verdict:
            row = {"cell": "lstm", "rise": 0.5, "rise_at_close": -1.0, "timing": 2.0, "end_open": 0.9, "end_whole": 0.8}
            none = {"points": 0, "rise": None, "timing": None, "rise_at_close": None}
            rows = [
                {**row, "n": n, "seed": seed, "points": 3, **values}
                for seed in range(5)
                for n, values in ((300, none), (1000, {}), (3000, changes), (9000, {**none, "end_whole": 0.95}))
            ]
            rows += [{**row, "cell": "gru", "n": 3000, "seed": seed, "points": 9, "rise": -9.0} for seed in range(5)]
            return outcome(CountingStudy(), "conduit-counting", networks(rows))

        assert verdict().outcome == "supported"
        assert set(verdict(rise=1.5).parts[0].values.values()) == {(0.5 + 1.5) / 2}
        assert verdict(rise=-1.5).outcome == "contradicted"
        assert verdict(timing=-3.0).outcome == "contradicted"
        at_end = {finding.label: finding for finding in verdict().findings}
        (last,) = (finding for label, finding in at_end.items() if "at the end" in label)
        assert last.values[0] == pytest.approx(math.log(19) - math.log(9))  # of the largest n
        flat = verdict(points=0, rise=None, timing=None, rise_at_close=None)
        assert flat.parts[0].values == dict.fromkeys(range(5), 0.5)

    def settings(self, **changes: Any) -> Tables:
        """The predictable setting is ahead early and behind late, through familiar conduits more than others."""
        rows = []
        for setting, suffix, kind, k, seed in itertools.product(
            ("unpredictable", "predictable"), ("", ", as published"), ("unseen", "training"), (4, 8), range(5)
        ):
            familiar = setting == "predictable"
            row = {
                "learned": 2.0 if familiar else 4.0, "learned_own": 4.0, "open": 0.7 if familiar else 0.9,
                "own": 0.8, "early_jacobians": -1.0 + 0.2 * familiar * (1 + (kind == "training")),
                "early_carried": -2.0,
            }  # fmt: skip
            for name, value in changes.items():
                row[name] = value(setting + suffix, kind, k)
            labels = {"cell": "lstm", "setting": setting + suffix, "kind": kind, "k": k, "seed": seed, "epoch": 8.0}
            rows.append({**labels, **row})
        return networks(rows)

    def after(self, claim: str, **changes: Any) -> Verdict:
        return outcome(PredictabilityStudy(), claim, self.settings(**changes))

    def test_head_start_is_judged_at_every_length_and_what_is_not_learned_takes_for_ever(self) -> None:
        assert self.after("conduit-early-help").outcome == "supported"
        assert set(predictability_tables.head_start(self.settings(), 4).values()) == {1.0}

        def late_at_8(setting: str, kind: str, k: int) -> float | None:
            return (None if setting == "predictable" else 4.0) if k == 8 else (2.0 if setting == "predictable" else 4.0)

        behind = self.after("conduit-early-help", learned=late_at_8)
        assert behind.outcome == "contradicted"
        assert [(part.k, part.n) for part in behind.parts] == [(5, 5), (0, 5)]
        only = self.after(
            "conduit-early-help", learned=lambda setting, kind, k: 2.0 if setting == "predictable" else None
        )
        assert only.outcome == "supported"  # the other never learns it
        assert self.after("conduit-early-help", learned=lambda *_: None).outcome == "void"

    def late(self, **changes: Any) -> Verdict:
        return outcome(LongRunStudy(), "conduit-late-harm", self.settings(**changes))

    def test_late_harm_is_judged_in_log_odds_and_told_apart_from_that_of_the_generator(self) -> None:
        assert self.late().said == "supported"
        near_one = self.late(open=lambda setting, *_: 1 - (1e-8 if setting == "predictable" else 1e-9))
        assert near_one.outcome == "supported"
        assert self.late(open=lambda *_: 0.9).outcome == "contradicted"
        shorter = self.late(open=lambda setting, kind, k: 0.7 if (setting, k) == ("predictable", 8) else 0.9)
        assert shorter.outcome == "supported"  # the longer conduit decides
        defect = self.late(own=lambda setting, *_: 0.5 if "published" in setting else 0.9)
        assert defect.said.startswith("supported, but The author's generator adds no harm")
        assert self.after("conduit-generator").outcome == "contradicted"
        by_itself = self.after("conduit-generator", own=lambda setting, *_: 0.5 if "published" in setting else 0.9)
        assert by_itself.outcome == "supported"

    def test_late_harm_is_no_test_where_the_predictable_setting_had_no_time_to_learn(self) -> None:
        def learned(setting: str, kind: str, k: int) -> float | None:
            return None if (setting, kind, k) == ("predictable", "training", 8) else 4.0

        assert self.late(learned=learned).outcome == "void"
        unseen = self.late(learned=lambda setting, kind, k: None if kind == "unseen" else 8.0)
        assert unseen.outcome == "supported"  # at the last epoch is in time; unseen conduits are what is judged

    def procedures(self, **epochs: float | None) -> Tables:
        names = {
            "plain": "as published", "momentum": "momentum", "decay": "weight decay",
            "both": "momentum and weight decay", "same": "momentum, same step",
        }  # fmt: skip
        times = {"plain": 1.0, "momentum": None, "decay": 1.5, "both": 2.0, **epochs}
        rows = [
            {"procedure": names[name], "seed": seed, "epoch": 4.0, "learned": time}
            for name, time in times.items()
            for seed in range(5)
        ]
        return networks(rows)

    def test_each_procedure_must_be_slower_than_the_published_one(self) -> None:
        def verdict(**epochs: float | None) -> Verdict:
            return outcome(ProcedureStudy(), "conduit-procedure-slows", self.procedures(**epochs))

        assert verdict(same=2.0).said == "supported"
        assert procedure.delay(self.procedures(), "momentum and weight decay") == dict.fromkeys(range(5), 1.0)
        for name in ("momentum", "decay", "both"):
            assert verdict(**{name: 1.0}).outcome == "contradicted"  # as fast is not slower
        assert verdict(same=1.0).said.startswith("supported, but It is momentum that slows")
        assert verdict(plain=None).outcome == "void"

    def test_a_gradient_that_unseen_conduits_carry_as_well_is_not_the_conduits(self) -> None:
        assert self.after("conduit-gradient").said == "supported"
        network = self.after(
            "conduit-gradient", early_jacobians=lambda setting, *_: -0.5 * (setting == "unpredictable")
        )
        assert network.said.count("It is the familiar conduit that carries it") == 2
        assert self.after("conduit-gradient", early_jacobians=lambda *_: -1.0).outcome == "contradicted"


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

    def test_what_has_room_lies_between_chance_and_ceiling_and_neither_of_two_readings_is_favored(self) -> None:
        room = counting.has_room
        for one, other, has in (
            (0.5, 0.5, True), (0.02, 0.02, False), (0.039, 0.039, False), (0.041, 0.041, True), (0.995, 0.995, False),
            (1 - 1e-9, 0.9, False), (0.999, 0.9, True), (1.0, 0.5, False),
        ):  # fmt: skip
            assert room(one, other, 0.02) is room(other, one, 0.02) is has

    def test_what_the_conduit_adds_is_a_mean_over_the_epochs_with_room(self) -> None:
        def odds(p: float) -> float:
            return math.log(p / (1 - p))

        def row(epoch: float, opened: float, whole: float, own: float, early: float) -> dict[str, Any]:
            read = {"open": opened, "whole": whole, "open_at_close": whole, "whole_at_close": opened}
            labels = {"cell": "lstm", "k": 8, "n": 9, "seed": 0, "epoch": epoch, "error": 0.0, "growth": 1.0}
            return {**labels, **read, "own": own, "own_early": early}

        rows = [
            row(0, 0.02, 0.02, 0.02, 0.02), row(1, 0.3, 0.4, 0.5, 0.2), row(2, 0.8, 0.6, 0.9, 0.1),
            row(3, 1.0, 0.9999, 1.0, 0.0),
        ]  # fmt: skip
        (found,) = counting.counted(rows).records()
        rise = (odds(0.4) - odds(0.3) + odds(0.6) - odds(0.8)) / 2
        assert found["points"] == 2
        assert found["rise"] == pytest.approx(rise)
        assert found["rise_at_close"] == pytest.approx(-rise)
        assert found["timing"] == pytest.approx((odds(0.5) - odds(0.2) + odds(0.9) - odds(0.1)) / 2)
        assert (found["end_open"], found["end_whole"]) == (1.0, 0.9999)

    def test_a_procedure_has_learned_where_the_log_odds_pass_zero(self) -> None:
        def time(*values: float) -> float | None:
            return procedure._time([{"epoch": 0.5 * i, "open": value} for i, value in enumerate(values)], "open")

        assert time(0.02, 0.2, 0.8, 0.9) == pytest.approx(0.75)  # log odds -a and a
        assert time(0.02, 0.1, 0.9**2 / (0.9**2 + 0.1**2)) == pytest.approx(0.5 + 0.5 / 3)  # -a and 2 a
        assert time(0.02, 0.2, 1.0) == 0.5  # as soon as can be
        assert time(0.02, 0.5, 0.5) is None
        assert time(0.1, 0.9, 0.1, 0.9) == pytest.approx(0.25)  # the first time

    def test_an_epoch_that_was_not_measured_is_the_one_before_it(self) -> None:
        assert [row["open"] for row in rules_tables.at_epoch(self.rows(), 2.5)] == [0.6, 0.3]

    def test_bands_are_means_with_intervals_within_the_probabilities(self) -> None:
        _, second, *_ = rules_tables.bands(self.rows(), ("epoch",), {"open": "open symbol"})
        mean = pytest.approx(0.3)
        assert second == {"epoch": 1.0, "measure": "open symbol", "seeds": 2, "mean": mean, "low": 0.0, "high": 1.0}
        assert rules_tables.band([0.1, 0.9]) == {"seeds": 2, "mean": 0.5, "low": 0.0, "high": 1.0}
        assert rules_tables.band([0.3]) == {"seeds": 1, "mean": 0.3}
        assert rules_tables.band([None]) == {"seeds": 0, "mean": None}
