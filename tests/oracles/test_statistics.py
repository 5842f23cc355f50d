"""Intervals and tests against scipy and simulation; outcomes and verdicts against a table written by hand."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.claims import (
    Assertion,
    Claim,
    Criterion,
    Estimate,
    above,
    below,
    difference,
    judge,
    mean,
    not_run,
    paired_difference,
    proportion,
)

SAMPLES = [np.random.default_rng(n).normal(0.3, 2.0, n) for n in (2, 3, 5, 12, 40)]


# --- intervals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", SAMPLES, ids=len)
def test_the_interval_of_a_mean_is_students_and_not_the_normal_one(sample: np.ndarray) -> None:
    from scipy import stats

    got = mean(list(sample))
    low, high = stats.t.interval(0.95, len(sample) - 1, loc=sample.mean(), scale=stats.sem(sample))
    assert (got.value, got.low, got.high) == pytest.approx((sample.mean(), low, high), rel=1e-10)
    assert got.n == len(sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=len)
def test_the_interval_of_a_paired_difference_is_scipys(sample: np.ndarray) -> None:
    from scipy import stats

    other = np.random.default_rng(9).normal(size=len(sample))
    got = paired_difference(list(sample), list(other))
    expected = stats.ttest_rel(sample, other).confidence_interval(0.95)
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), rel=1e-10)
    assert got.value == pytest.approx((sample - other).mean())


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 5), (3, 12), (12, 3), (40, 5)])
def test_the_interval_of_a_difference_is_welchs_and_not_the_pooled_one(n: int, m: int) -> None:
    from scipy import stats

    random = np.random.default_rng(n * m)
    a, b = random.normal(1.0, 1.0, n), random.normal(0.0, 5.0, m)
    got = difference(list(a), list(b))
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), rel=1e-8)
    assert got.value == pytest.approx(a.mean() - b.mean())
    assert got.n == min(n, m)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (1, 5), (3, 64), (63, 64), (128, 256), (0, 1)])
def test_the_interval_of_a_proportion_is_exact_at_the_edges_too(successes: int, n: int) -> None:
    from scipy import stats

    got = proportion(successes, n)
    expected = stats.binomtest(successes, n).proportion_ci(0.95, method="exact")
    assert (got.value, got.low, got.high) == pytest.approx((successes / n, expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_what_is_no_proportion_is_refused(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} successes of {n}"):
        proportion(successes, n)


def test_a_single_seed_gives_an_interval_without_end_and_no_verdict() -> None:
    for estimate in (mean([0.5]), paired_difference([0.5], [0.1]), difference([0.5], [0.1]), difference([1, 2], [0.1])):
        assert (estimate.low, estimate.high) == (-math.inf, math.inf)
        assert above(0.0).outcome(estimate) == "inconclusive"


def test_pairs_that_are_not_pairs_are_refused_and_not_stretched() -> None:
    with pytest.raises(ValueError, match="5 and 1"):
        paired_difference([1, 2, 3, 4, 5], [1])


def test_bounds_cut_an_interval_to_what_a_mean_can_be() -> None:
    sample = [0.0, 0.0, 0.0, 0.0, 0.5]
    free, bounded = mean(sample), mean(sample, bounds=(0.0, 1.0))
    assert free.low < 0
    assert bounded.low >= 0
    assert bounded.low <= bounded.value <= bounded.high <= 1


# --- coverage ----------------------------------------------------------------------------------------------------


def test_a_proportions_interval_covers_every_true_share_at_least_as_often_as_it_says() -> None:
    """Exactly, by summing over all outcomes: an approximate interval would fall below 95 % for some share."""
    from scipy import stats

    for n in (5, 16):
        intervals = [proportion(k, n) for k in range(n + 1)]
        for share in np.linspace(0.005, 0.995, 199):
            weights = stats.binom.pmf(range(n + 1), n, share)
            covered = [interval.low <= share <= interval.high for interval in intervals]
            assert weights[covered].sum() >= 0.95


@pytest.mark.parametrize("kind", ["mean", "paired", "welch"])
def test_an_interval_covers_the_truth_in_95_of_100_experiments(kind: str) -> None:
    random, experiments, covered = np.random.default_rng(0), 3000, 0
    for _ in range(experiments):
        a, b = random.normal(1.0, 1.0, 5), random.normal(0.5, 3.0, 5)
        if kind == "mean":
            estimate, truth = mean(a), 1.0
        else:
            estimate, truth = (paired_difference if kind == "paired" else difference)(a, b), 0.5
        covered += estimate.low <= truth <= estimate.high
    # Three standard errors; Welch's is approximate and slightly conservative with five per group.
    assert 0.938 <= covered / experiments <= (0.962 if kind != "welch" else 0.975)


@pytest.mark.parametrize("kind", ["paired", "difference"])
def test_a_permutation_test_is_wrong_in_at_most_5_of_100_experiments_without_an_effect(kind: str) -> None:
    random, experiments = np.random.default_rng(1), 1500
    test = paired_difference if kind == "paired" else difference
    ps = [test(random.exponential(size=6), random.exponential(size=6)).p for _ in range(experiments)]
    assert all(p is not None and 0 < p <= 1 for p in ps)
    wrong = np.mean(np.array(ps, dtype=float) <= 0.05)
    assert 0.02 < wrong < 0.05 + 3 * math.sqrt(0.05 * 0.95 / experiments)


# --- permutation tests -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=9))
def test_the_sign_flip_test_counts_all_sign_patterns_as_brute_force_does(values: list[int]) -> None:
    """Whole numbers: their sums are exact, so ties with the observed mean are counted on both sides alike."""
    observed = abs(sum(values))
    patterns = list(itertools.product((1, -1), repeat=len(values)))
    hits = sum(abs(sum(s * v for s, v in zip(signs, values, strict=True))) >= observed for signs in patterns)
    assert paired_difference(values, [0] * len(values)).p == hits / len(patterns)


@pytest.mark.parametrize("n", [5, 14, 15, 30])
def test_the_sign_flip_test_is_scipys(n: int) -> None:
    from scipy import stats

    sample = np.random.default_rng(n).normal(0.5, 1.0, n)
    expected = stats.permutation_test(
        (sample,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True,
        n_resamples=100_000 if n <= 14 else 40_000, rng=np.random.default_rng(5),
    ).pvalue  # fmt: skip
    got = paired_difference(list(sample), [0.0] * n).p
    assert got == pytest.approx(expected, rel=1e-9 if n <= 14 else 0, abs=0 if n <= 14 else 0.01)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 5), (3, 8), (8, 8), (20, 25)])
def test_the_two_sample_permutation_test_is_scipys(n: int, m: int) -> None:
    from scipy import stats

    random = np.random.default_rng(n + m)
    a, b = random.normal(0.8, 1.0, n), random.normal(0.0, 1.0, m)
    exact = math.comb(n + m, n) <= 20_000
    # Two-sided as the share of arrangements whose difference is as far from zero, on either side.
    expected = stats.permutation_test(
        (a, b), lambda x, y, axis: np.abs(x.mean(axis=axis) - y.mean(axis=axis)), alternative="greater",
        vectorized=True, n_resamples=20_000, rng=np.random.default_rng(5),
    ).pvalue  # fmt: skip
    got = difference(list(a), list(b)).p
    assert got == pytest.approx(expected, rel=1e-9 if exact else 0, abs=0 if exact else 0.01)


def test_a_drawn_p_is_never_zero_and_the_same_at_each_call() -> None:
    a, b = [10.0 + i for i in range(30)], [float(-i) for i in range(30)]
    assert difference(a, b).p == difference(a, b).p == pytest.approx(1 / 20_001)
    assert paired_difference(a, b).p == pytest.approx(1 / 20_001)


def test_no_difference_at_all_has_p_one() -> None:
    assert paired_difference([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).p == 1.0
    assert difference([1.0, 1.0], [1.0, 1.0]).p == 1.0


@pytest.mark.parametrize("test", [paired_difference, difference])
def test_a_seed_that_diverged_gives_no_verdict_and_no_p_of_zero(test: Any) -> None:
    estimate = test([1.0, 2.0, math.nan, 4.0, 5.0], [0.0, 0.1, 0.2, 0.3, 0.4])
    assert above(0.0).outcome(estimate) == "inconclusive"
    assert estimate.p is None or math.isnan(estimate.p)


# --- outcomes ----------------------------------------------------------------------------------------------------


def interval(low: float, high: float, n: int = 5) -> Estimate:
    return Estimate((low + high) / 2, low, high, n, "by hand")


@pytest.mark.parametrize("direction", ["above", "below"])
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [  # of "above 0.5, partly above 0"; mirrored for "below"
        (0.6, 0.9, "reproduced"),
        (0.5, 0.9, "partly"),  # touches the size: not beyond it
        (0.1, 0.9, "partly"),
        (0.1, 0.4, "partly"),  # the direction is shown, the size excluded
        (0.0, 0.4, "not reproduced"),  # touches zero: the direction is not shown, the size excluded
        (0.0, 0.5, "inconclusive"),  # the size is just possible
        (0.0, 0.9, "inconclusive"),
        (-0.2, 0.9, "inconclusive"),
        (-0.2, 0.4, "not reproduced"),
        (-0.9, -0.6, "not reproduced"),
        (0.7, 0.7, "reproduced"),
        (0.0, 0.0, "not reproduced"),
        (-math.inf, math.inf, "inconclusive"),
        (0.6, math.inf, "inconclusive"),
        (math.nan, math.nan, "inconclusive"),
    ],
)
def test_an_outcome_follows_from_where_the_interval_lies(
    direction: Literal["above", "below"], low: float, high: float, expected: str
) -> None:
    if direction == "above":
        assert above(0.5, at_all=0.0).outcome(interval(low, high)) == expected
    else:
        assert below(-0.5, at_all=0.0).outcome(interval(-high, -low)) == expected


@pytest.mark.parametrize(
    ("criterion", "low", "high", "expected"),
    [
        (above(0.5), 0.51, 0.9, "reproduced"),
        (above(0.5), 0.5, 0.9, "inconclusive"),
        (above(0.5), 0.1, 0.5, "inconclusive"),
        (above(0.5), 0.1, 0.49, "not reproduced"),
        (below(0.1, at_all=0.5), 0.0, 0.09, "reproduced"),
        (below(0.1, at_all=0.5), 0.0, 0.3, "partly"),
        (below(0.1, at_all=0.5), 0.2, 0.4, "partly"),
        (below(0.1, at_all=0.5), 0.2, 0.6, "not reproduced"),
        (below(0.1, at_all=0.5), 0.05, 0.6, "inconclusive"),
        (below(0.1, at_all=0.5), 0.6, 0.9, "not reproduced"),
    ],
)
def test_an_outcome_without_a_partly_and_one_with_a_positive_threshold(
    criterion: Criterion, low: float, high: float, expected: str
) -> None:
    assert criterion.outcome(interval(low, high)) == expected


@pytest.mark.parametrize(("n", "expected"), [(0, "inconclusive"), (4, "inconclusive"), (5, "reproduced")])
def test_fewer_than_five_seeds_decide_nothing_however_narrow_the_interval(n: int, expected: str) -> None:
    assert above(0.5).outcome(interval(0.9, 0.91, n)) == expected


def test_a_criterion_whose_partly_asks_for_more_than_its_size_is_refused() -> None:
    with pytest.raises(ValueError, match="asks for more"):
        above(0.1, at_all=0.5)
    with pytest.raises(ValueError, match="asks for more"):
        below(0.5, at_all=0.1)


def test_a_criterion_says_what_it_expects() -> None:
    assert str(above(0.25)) == "above 0.25"
    assert str(below(0.1, at_all=0.5)) == "below 0.1 (partly: below 0.5)"


# --- verdicts ----------------------------------------------------------------------------------------------------

GIVES = {"r": (0.6, 0.9), "p": (0.1, 0.9), "n": (-0.2, 0.4), "i": (-0.2, 0.9)}  # with "above 0.5, partly above 0"
MEANS = {"r": "reproduced", "p": "partly", "n": "not reproduced", "i": "inconclusive"}


def claim(main: str, control: str = "", contrast: str = "", n: int = 8) -> Claim:
    def measurement(letter: str, role: Any, number: int) -> Assertion:
        estimate = interval(*GIVES[letter], n)
        return Assertion(f"{role} {number}", lambda tables: estimate, above(0.5, at_all=0.0), role)

    parts = [("main", main), ("control", control), ("contrast", contrast)]
    measurements = tuple(
        measurement(letter, role, number) for role, letters in parts for number, letter in enumerate(letters)
    )
    return Claim("c", "resistance", "Figure 1", "It does.", "always", measurements)


@pytest.mark.parametrize(
    ("main", "control", "expected"),
    [
        ("r", "", "r"), ("p", "", "p"), ("n", "", "n"), ("i", "", "i"),
        ("rr", "", "r"), ("nn", "", "n"), ("pp", "", "p"), ("ii", "", "i"),
        ("rp", "", "p"),  # only positives, mixed
        ("rn", "", "p"), ("pn", "", "p"), ("rpn", "", "p"),  # a positive with a negative
        ("ri", "", "i"), ("ni", "", "i"), ("pi", "", "i"),  # an open question that could still decide it
        ("rni", "", "p"), ("pni", "", "p"), ("rpi", "", "p"),  # one that cannot
        ("r", "r", "r"), ("r", "n", "p"), ("r", "rn", "p"), ("rr", "n", "p"),  # a control that fails
        ("n", "r", "n"), ("n", "n", "n"), ("i", "n", "i"), ("p", "n", "p"), ("p", "r", "p"),
    ],
)  # fmt: skip
def test_a_verdict_combines_its_measurements_by_these_rules(main: str, control: str, expected: str) -> None:
    verdict = judge(claim(main, control), {})
    assert verdict.outcome == MEANS[expected]
    assert [item.outcome for item in verdict.evidence] == [MEANS[letter] for letter in main + control]


@pytest.mark.parametrize("control", ["p", "i"])
def test_a_control_that_does_not_fully_hold_is_not_passed_over(control: str) -> None:
    assert judge(claim("r", control), {}).outcome != "reproduced"


@pytest.mark.parametrize("contrast", ["r", "p", "n", "i"])
@pytest.mark.parametrize("main", ["r", "p", "n", "i"])
def test_a_contrast_is_reported_and_never_decides(main: str, contrast: str) -> None:
    verdict = judge(claim(main, contrast=contrast), {})
    assert verdict.outcome == MEANS[main]
    assert verdict.evidence[-1].role == "contrast"
    assert "contrast" not in verdict.reason


def test_a_verdict_says_each_estimate_with_its_interval_and_what_was_expected() -> None:
    verdict = judge(claim("r", "r"), {}, study="plane", preset="quick", runs=("a", "b"))
    sentence = "main 0: 0.75 [0.6, 0.9], expected above 0.5 (partly: above 0)."
    assert verdict.reason == f"{sentence} {sentence.replace('main', 'control')}"
    assert (verdict.study, verdict.preset, verdict.runs) == ("plane", "quick", ("a", "b"))


def test_an_inconclusive_verdict_says_what_would_settle_it() -> None:
    assert "--seeds 32 would halve it" in judge(claim("i", n=8), {}).settle
    few = judge(claim("r", n=3), {})
    assert few.outcome == "inconclusive"
    assert few.settle == "With 3 seeds nothing is decided; run at least --seeds 5."
    assert few.settle in few.reason
    assert judge(claim("r", contrast="i"), {}).settle == ""


def test_a_claim_about_what_was_left_out_is_not_run() -> None:
    verdict = judge(replace(claim("ri", control="r", n=0), remark="Try more=true."), {})
    assert verdict.outcome == "not run"
    assert verdict.reason == "What it is about was left out of this run. Try more=true."
    assert verdict.evidence == ()
    assert judge(claim("r", control="r", n=8), {}).outcome == "reproduced"


def test_a_measurement_reads_the_tables_it_is_given() -> None:
    from rote.store import Column, Table

    table = Table.make("seeds", "", [Column("wrong")], [{"wrong": value} for value in (1.0, 2.0, 3.0, 4.0, 5.0)])
    measured = Assertion("m", lambda tables: mean(tables["seeds"].column("wrong")), above(0.5))
    verdict = judge(Claim("c", "s", "p", "x", "y", (measured,)), {"seeds": table})
    assert verdict.evidence[0].estimate == mean([1.0, 2.0, 3.0, 4.0, 5.0])
    assert verdict.outcome == "reproduced"


def test_what_was_not_run_says_how_to_run_it() -> None:
    verdict = not_run(claim("r"), "plane")
    assert verdict.outcome == "not run"
    assert verdict.reason.endswith("rote run plane")
    assert verdict.evidence == ()
