"""The study of exchanged parts and cut neurons: its tables, its claims, and which runs it asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rote.claims import judge
from rote.claims import measure as measured_in
from rote.errors import UsageError
from rote.laboratory import Study
from rote.laboratory.aggregate import joined
from rote.recipes.job import TRAINING
from rote.store import Table
from rote.studies.realization import surgery_tables as measure
from rote.studies.realization.accuracy import LookupAccuracyStudy
from rote.studies.realization.retraining import COMPONENTS, PRUNED
from rote.studies.realization.surgery import LookupSurgeryStudy
from rote.studies.realization.surgery_claims import TABLE_4
from rote.studies.realization.surgery_tables import all_tables, trial_table


def summary_of(accuracy: Callable[[str, str, int], float], seeds: Sequence[int] = range(5)) -> dict[str, Table]:
    """The study's tables of runs with accuracies by trial, part and seed; 0.1 less before retraining."""
    found = []
    for trial, what in [(kind, part) for kind in ("guided", "baseline") for part in COMPONENTS] + [
        ("pruned", by) for by in PRUNED
    ]:
        rows = [
            {"seed": seed, "split": split, "before": accuracy(trial, what, seed) - 0.1 if lead == 0 else 0.9,
             "accuracy": accuracy(trial, what, seed) if lead == 0 else 0.95, "epoch": 1.0}
            for seed in seeds for lead, split in enumerate(measure.SPLITS)
        ]  # fmt: skip
        found.append(trial_table(trial, what, rows))
    return {table.name: table for table in all_tables(joined(found))}


PUBLISHED_LIKE = {
    "none": 0.9, "encoder": 0.17, "encoder embedding": 0.75, "encoder W_ih": 0.92, "encoder W_hh": 0.78,
    "decoder": 0.12, "decoder embedding": 0.31, "decoder W_ih": 0.6, "decoder W_hh": 0.93,
}  # fmt: skip


def like_published(trial: str, what: str, seed: int) -> float:
    wiggle = 0.01 * (seed - 2)
    if trial == "baseline":
        return 0.13 if what == "none" else 0.03 + wiggle
    if trial == "pruned":
        return {"none": 0.92, "random": 0.4}.get(what, 0.22) + wiggle
    return PUBLISHED_LIKE[what] + wiggle


def outcomes(tables: dict[str, Table]) -> dict[str, str]:
    return {claim.id: judge(claim, measured_in(claim, tables)).outcome for claim in LookupSurgeryStudy.claims}


def lost_of_nothing() -> dict[int, float]:
    return measure.lost_share(summary_of(lambda *_: 0.1), "encoder", "original")


class TestTablesAndClaims:
    tables = summary_of(like_published)

    def test_the_source_without_an_exchange_stands_beside_the_model_as_trained(self) -> None:
        rows = {(row["model"], row["component"]): row for row in self.tables["table-4"].records()}
        assert len(rows) == 20
        assert rows["guided", "original"]["published"] == 0.82
        assert rows["guided", "original"]["accuracy"] == pytest.approx(0.8)
        assert rows["guided", "none"]["published"] is None
        assert rows["guided", "none"]["accuracy"] == pytest.approx(0.9)
        assert rows["guided", "decoder W_ih"]["published_sd"] == 0.08
        assert rows["guided", "decoder W_ih"]["same"] is True
        assert rows["baseline", "encoder W_hh"]["published"] is None
        assert rows["guided", "encoder"]["heldout_inputs"] == pytest.approx(0.95)
        assert rows["guided", "original"]["heldout_inputs"] == pytest.approx(0.9)

    def test_pruning_has_each_choice_before_and_after_retraining(self) -> None:
        rows = {(row["by"], row["when"]): row for row in self.tables["pruned"].records()}
        assert rows["edges", "before retraining"]["accuracy"] == pytest.approx(0.12)
        assert rows["edges", "after retraining"]["published"] == 0.925
        assert rows["none", "before retraining"]["published"] == 0.823
        assert rows["random", "after retraining"]["published"] is None

    def test_numbers_like_the_published_support_the_claims_and_a_missing_effect_contradicts_them(self) -> None:
        found = outcomes(self.tables)
        assert found.pop("lookup-pruning-retraining") == "contradicted"  # 0.22 here, far below the whole network
        assert set(found.values()) == {"supported"}, found
        refuted = outcomes(summary_of(lambda trial, *_: 0.1 if trial == "baseline" else 0.9))
        for name in ("encoder", "drop", "decoder", "decoder-embedding", "decoder-input", "encoder-recurrent"):
            assert refuted[f"lookup-substitution-{name}"] == "contradicted"
        assert refuted["lookup-substitution-encoder-embedding"] == "supported"
        assert refuted["lookup-substitution-baseline"] == "supported"
        assert refuted["lookup-pruning-retraining"] == "supported"

    def test_without_anything_to_lose_an_exchange_is_no_test(self) -> None:
        found = outcomes(summary_of(lambda *_: 0.9))
        assert found["lookup-substitution-encoder"] == found["lookup-substitution-encoder-embedding"] == "void"
        assert found["lookup-pruning"] == "contradicted"

    def test_one_component_that_helps_a_baseline_contradicts_that_none_does(self) -> None:
        def accuracy(trial: str, what: str, seed: int) -> float:
            return 0.5 if (trial, what) == ("baseline", "decoder") else like_published(trial, what, seed)

        assert outcomes(summary_of(accuracy))["lookup-substitution-baseline"] == "contradicted"

    def test_similar_means_neither_worse_nor_better(self) -> None:
        def accuracy(trial: str, what: str, seed: int) -> float:
            return 1.0 if (trial, what) == ("guided", "encoder embedding") else like_published(trial, what, seed)

        assert outcomes(summary_of(accuracy))["lookup-substitution-encoder-embedding"] == "contradicted"

    def test_a_drop_is_relative_to_the_original_of_the_seed(self) -> None:
        lost = measure.lost_share(self.tables, "encoder", "original")
        assert lost == pytest.approx({seed: 1 - (0.15 + 0.01 * seed) / (0.78 + 0.01 * seed) for seed in range(5)})
        assert all(math.isnan(value) for value in lost_of_nothing().values())

    def test_the_order_is_compared_seed_by_seed(self) -> None:
        assert list(measure.order_agreement(self.tables, TABLE_4).values()) == [1.0] * 5
        backwards = summary_of(lambda trial, what, seed: 1 - like_published(trial, what, seed) + 0.2 * (what == "none"))
        (value,) = set(measure.order_agreement(backwards, TABLE_4).values())
        assert value == -1.0
        assert outcomes(backwards)["lookup-substitution-order"] == "contradicted"

    @pytest.mark.parametrize(("name", "lanes"), [("table-4", 20), ("pruned", 10)])
    def test_the_figure_has_every_row_with_its_published_value(self, name: str, lanes: int) -> None:
        from rote.figures import spec

        drawn = spec(self.tables[name])["datasets"]["rows"]
        assert len(drawn) == lanes
        assert [row["published"] for row in drawn] == self.tables[name].column("published")
        if name == "table-4":
            (whole,) = [row for row in drawn if (row["model"], row["component"]) == ("guided", "encoder")]
            assert (whole["published_low"], whole["published_high"]) == pytest.approx((0.06, 0.28))


def trainings(study: Study[Any], preset: str, changes: dict[str, object] | None = None) -> dict[tuple[str, str], str]:
    """Recipe and label -> id, of all trainings that a study is made of."""
    everything = [one for job in study.jobs(study.resolve(preset, changes or {})) for one in job.all()]
    asked = [one.request for one in everything if one.request.part == TRAINING]
    return {(request.study, request.label): request.id for request in asked}


class TestTrainings:
    def test_a_training_depends_only_on_the_settings_that_it_uses(self) -> None:
        plain, kept, longer = (
            trainings(LookupSurgeryStudy(), "paper", changes)
            for changes in ({}, {"keep": 0.1}, {"retraining.steps": 99, "retraining.patience": None})
        )
        assert len(plain) == len(COMPONENTS) * 2 + len(PRUNED) + 2
        for name, label in plain:
            which = name, label
            assert (plain[which] == kept[which]) == (name != "lookup-pruning")
            assert (plain[which] == longer[which]) == (name != "lookup-exchange")

    def test_it_starts_from_the_models_of_the_accuracy_study(self) -> None:
        for preset in ("quick", "paper"):
            needed = trainings(LookupSurgeryStudy(), preset)
            offered = trainings(LookupAccuracyStudy(), preset)
            models = {which: run for which, run in needed.items() if which[0] == "lookup-models"}
            assert len(models) == 2
            assert models.items() <= offered.items()

    def test_pruning_starts_from_guided_models_alone(self) -> None:
        study = LookupSurgeryStudy()
        for job in study.jobs(study.resolve("quick", {})):
            retrained, *models = job.needs
            kinds = [model.request.label for model in models]
            pruned = retrained.request.study == "lookup-pruning"
            assert kinds == ["gru guided"] if pruned else kinds == ["gru baseline", "gru guided"]
            assert list(retrained.needs) == models

    def test_baselines_do_not_depend_on_the_guidance_of_the_others_nor_on_what_is_measured(self) -> None:
        study = LookupAccuracyStudy()
        plain = trainings(study, "paper")
        assert trainings(study, "paper", {"task.longer": 3}) == plain
        other = trainings(study, "paper", {"guidance": 0.5})
        assert {label for (_, label), run in plain.items() if other["lookup-models", label] == run} == {
            "gru baseline", "lstm baseline",
        }  # fmt: skip

    @pytest.mark.parametrize("wrong", [{"keep": 0.0}, {"keep": 1.5}, {"strongest": 0.0}, {"task.unseen_tables": 0}])
    def test_settings_that_leave_nothing_to_measure_are_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(UsageError, match=next(iter(wrong)).split(".")[-1]):
            LookupSurgeryStudy().resolve("paper", wrong)


def test_kendall_s_tau_is_scipy_s_with_and_without_ties():
    import numpy as np
    from scipy.stats import kendalltau

    from rote.studies.realization.surgery_tables import kendall_tau

    random = np.random.default_rng(0)
    for _ in range(20):
        first, second = random.integers(0, 6, size=(2, 9)).astype(float)
        assert np.isclose(kendall_tau(first, second), kendalltau(first, second).statistic)
