"""Intervals that are shown, and comparisons with published numbers, against scipy and exact sums."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from rote.claims import PerSeed, Published, compare, mean, proportion

SAMPLES = [np.random.default_rng(n).normal(0.3, 2.0, n) for n in (2, 3, 5, 12, 40)]
NOTHING = PerSeed(lambda tables: {}, lambda: "nothing")
VALUES = st.floats(-1, 1).map(lambda value: round(value, 4))


# --- means -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", SAMPLES, ids=len)
def test_the_interval_of_a_mean_is_students_and_not_the_normal_one(sample: np.ndarray) -> None:
    got = mean(list(sample))
    low, high = stats.t.interval(0.95, len(sample) - 1, loc=sample.mean(), scale=stats.sem(sample))
    assert (got.value, got.low, got.high) == pytest.approx((sample.mean(), low, high), rel=1e-10)
    assert got.n == len(sample)


def test_one_value_and_none_have_an_interval_without_end() -> None:
    assert (mean([0.5]).low, mean([0.5]).high) == (-math.inf, math.inf)
    assert (mean([0.5], (0.0, 1.0)).low, mean([0.5], (0.0, 1.0)).high) == (0.0, 1.0)
    assert math.isnan(mean([]).value)
    assert (mean([]).low, mean([]).high, mean([]).n) == (-math.inf, math.inf, 0)


def test_bounds_cut_an_interval_to_what_a_mean_can_be() -> None:
    sample = [0.01, 0.01, 0.01, 0.02, 0.5]
    free, bounded = mean(sample), mean(sample, bounds=(0.0, 1.0))
    assert free.low < 0
    assert (bounded.low, bounded.high) == (0.0, free.high)


@pytest.mark.parametrize(("successes", "n"), [(5, 5), (0, 5), (4, 5), (1, 6), (3, 10), (19, 20), (10, 20)])
def test_the_interval_of_perfect_and_failed_seeds_is_that_of_a_proportion(successes: int, n: int) -> None:
    """Student's would be a point for five perfect seeds. The ends are drawn: good to 0.02."""
    got = mean([1.0] * successes + [0.0] * (n - successes), bounds=(0.0, 1.0))
    expected = proportion(successes, n)
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=0.02)
    assert "Dirichlet" in got.method


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_an_interval_has_the_mean_and_lies_within_the_bounds(values: list[float]) -> None:
    got = mean(values, bounds=(0.0, 1.0))
    assert 0 <= got.low <= got.value + 1e-3
    assert got.value - 1e-3 <= got.high <= 1


# --- proportions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (1, 5), (3, 64), (63, 64), (128, 256), (0, 1)])
def test_the_interval_of_a_proportion_is_exact_at_the_edges_too(successes: int, n: int) -> None:
    got = proportion(successes, n)
    expected = stats.binomtest(successes, n).proportion_ci(0.95, method="exact")
    assert (got.value, got.low, got.high) == pytest.approx((successes / n, expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_what_is_no_proportion_is_refused(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} successes of {n}"):
        proportion(successes, n)


def test_a_proportions_interval_covers_every_true_share_at_least_as_often_as_it_says() -> None:
    """Exactly, by summing over all outcomes: an approximate interval would fall below 95 % for some share."""
    for n in (5, 16):
        intervals = [proportion(k, n) for k in range(n + 1)]
        for share in np.linspace(0.005, 0.995, 199):
            weights = stats.binom.pmf(range(n + 1), n, share)
            covered = [interval.low <= share <= interval.high for interval in intervals]
            assert weights[covered].sum() >= 0.95


# --- published numbers -------------------------------------------------------------------------------------------


def by_seed(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


@given(st.lists(VALUES, min_size=2, max_size=8), st.lists(VALUES, min_size=2, max_size=8))
def test_a_comparison_with_published_runs_is_welchs(ours: list[float], theirs: list[float]) -> None:
    assume(min(np.std(ours), np.std(theirs)) > 1e-3)
    found = compare(Published("x", NOTHING, runs=tuple(theirs)), by_seed(ours))
    expected = stats.ttest_ind(ours, theirs, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found.difference == pytest.approx(np.mean(ours) - np.mean(theirs), abs=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-6, abs=1e-9)
    if abs(expected.pvalue - 0.05) > 1e-6:
        assert (found.match == "differs") == (expected.pvalue < 0.05)
    assert found.unnoticed == pytest.approx((found.high - found.low) / 2)


@given(st.lists(VALUES, min_size=2, max_size=8), st.floats(-1, 1), st.floats(0.01, 1), st.integers(2, 10))
def test_a_comparison_with_a_mean_and_its_spread_is_welchs(ours: list[float], center: float, sd: float, m: int) -> None:
    found = compare(Published("x", NOTHING, mean=center, sd=sd, m=m), by_seed(ours))
    spread = float(np.std(ours, ddof=1))
    expected = stats.ttest_ind_from_stats(np.mean(ours), spread, len(ours), center, sd, m, equal_var=False).pvalue
    if abs(expected - 0.05) > 1e-6:
        assert (found.match == "differs") == (expected < 0.05)


@given(st.lists(VALUES, min_size=3, max_size=8), st.lists(VALUES, min_size=3, max_size=8), st.floats(0.1, 2))
def test_numbers_agree_where_both_one_sided_tests_exclude_the_margin(
    ours: list[float], theirs: list[float], margin: float
) -> None:
    assume(min(np.std(ours), np.std(theirs)) > 1e-3)
    found = compare(Published("x", NOTHING, runs=tuple(theirs), margin=margin), by_seed(ours))
    sides: tuple[tuple[float, Literal["less", "greater"]], ...] = ((margin, "less"), (-margin, "greater"))
    ps = [
        stats.ttest_ind(np.array(ours) - shift, theirs, equal_var=False, alternative=side).pvalue
        for shift, side in sides
    ]
    if found.match != "differs" and abs(max(ps) - 0.05) > 1e-6:
        assert (found.match == "agrees") == (max(ps) < 0.05)


def test_a_published_spread_that_divides_by_the_number_of_runs_is_corrected() -> None:
    runs = (0.7, 0.8, 0.95)
    told = Published("x", NOTHING, mean=float(np.mean(runs)), sd=float(np.std(runs)), m=3, divisor="m")
    assert told.sample == pytest.approx(Published("x", NOTHING, runs=runs).sample)


def test_no_test_set_resolves_more_than_its_rows() -> None:
    """Five perfect runs of either are not certain to be equal: 32 questions cannot tell 1 from 0.97."""
    perfect = by_seed([1.0] * 5)
    certain = compare(Published("x", NOTHING, runs=(1.0,) * 5), perfect)
    asked = compare(Published("x", NOTHING, runs=(1.0,) * 5, rows=32), perfect)
    assert (certain.match, certain.low, certain.high) == ("agrees", 0.0, 0.0)
    share = (32 + 2) / (32 + 4)
    half = stats.t.ppf(0.975, 8) * math.sqrt(share * (1 - share) / 32) * math.sqrt(2 / 5)
    assert (asked.low, asked.high) == pytest.approx((-half, half))
    assert compare(Published("x", NOTHING, runs=(0.9,) * 5), perfect).match == "differs"


@pytest.mark.parametrize(
    ("number", "ours"),
    [
        (Published("x", NOTHING, runs=(0.5,)), [0.4, 0.6]),
        (Published("x", NOTHING, mean=0.5), [0.4, 0.6]),
        (Published("x", NOTHING, mean=0.5, m=5), [0.4, 0.6]),
        (Published("x", NOTHING, runs=(0.4, 0.6)), [0.5]),
        (Published("x", NOTHING, runs=(0.4, 0.6)), [0.5, math.nan]),
    ],
)
def test_what_has_no_spread_to_compare_is_shown_only(number: Published, ours: list[float]) -> None:
    assert compare(number, by_seed(ours)).match == "shown"


def test_a_published_number_without_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="'x' has neither runs nor a mean"):
        Published("x", NOTHING)
