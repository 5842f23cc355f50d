"""Reliability over seeds and agreement of inside and outside, against published and planted numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rote.errors import UsageError
from rote.examination import kept_profile, kept_profiles
from rote.examination.profile import Profile
from rote.examination.validity import inside_agreement, intraclass_correlation, of_seeds, reliability


def test_the_intraclass_correlation_is_that_of_shrout_and_fleiss():
    """Their Table 2: six targets, four judges, ICC(2,1) = .29."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    assert intraclass_correlation(ratings) == pytest.approx(0.2898, abs=1e-4)
    assert intraclass_correlation([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9]]) == pytest.approx(1.0)
    shifted = [[value, value + 0.3] for value in (0.1, 0.3, 0.5)]  # the order alone is no agreement
    assert intraclass_correlation(shifted) < 0.6
    assert math.isnan(intraclass_correlation(np.zeros((3, 2))))
    with pytest.raises(UsageError, match="at least two of each"):
        intraclass_correlation([[1.0, 2.0]])


def kept(name: str) -> Profile:
    profile = kept_profile(name)
    assert profile is not None
    return profile


def test_a_profile_of_some_seeds_has_their_runs_alone():
    part = of_seeds(kept("lstm"), {1, 3})
    assert {run["seed"] for task in part.tasks.values() for run in task.runs} == {1, 3}
    assert part.plan["seeds"] == [1, 3]
    assert of_seeds(kept("lstm"), range(5)).score == kept("lstm").score


def test_every_division_of_the_seeds_is_told_and_all_of_them_agree_for_one_that_has_no_spread():
    rows = reliability([kept("lstm"), kept("elman"), kept("rote")]).records()
    assert len(rows) == math.comb(5, 2)
    assert all(not set(row["first"].split()) & set(row["second"].split()) for row in rows)
    assert all(row["profiles"] == 3 for row in rows)
    (row, *_) = rows
    halves = [[of_seeds(kept("lstm"), seeds).score for seeds in ((0, 1), (2, 3, 4))]]
    (one, other) = halves[0]
    assert one is not None
    assert other is not None
    assert row["largest"] >= abs(one.value - other.value)


def test_a_planted_measure_agrees_and_another_does_not():
    profile = kept("transformer")
    task = profile.tasks["synonyms"]
    runs = [{**task.runs[0], "seed": seed, "learned": True, "score": seed / 10} for seed in range(10)]
    planted = [
        {**run, "exchange_known": run["score"] ** 2, "cue_known": 1 - run["score"], "parts_known": None} for run in runs
    ]
    of = replace(profile, tasks={"synonyms": replace(task, runs=tuple(planted))})
    rows = {row["measure"]: row for row in inside_agreement([of]).records()}
    assert rows["exchange_known"]["correlation"] == pytest.approx(1.0)
    assert rows["cue_known"]["correlation"] == pytest.approx(-1.0)
    assert "parts_known" not in rows  # nothing was taken apart


def test_exchange_goes_with_behavior_and_the_gradient_hardly():
    rows = inside_agreement(kept_profiles()).records()
    found = {
        measure: float(np.median([row["correlation"] for row in rows if row["measure"] == measure]))
        for measure in ("exchange_known", "cue_known")
    }
    assert found["exchange_known"] > found["cue_known"]
