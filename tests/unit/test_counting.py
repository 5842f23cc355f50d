"""What a count of seeds decides: against a table by hand, exact probabilities, numerical integration and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from rote.claims import decide, false_discovery, log_evidence, seeds_to_settle, share_interval
from rote.claims.counting import DECIDED, ERROR, LIKELY, Decision, Quantifier, evidence_for

DECIDING = [(5, 5), (9, 10), (12, 14), (15, 18), (17, 21)]  # with 0, 1, 2, 3, 4 dissenting seeds
COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


# --- decisions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "n"), DECIDING)
def test_so_many_seeds_decide_and_one_fewer_does_not(k: int, n: int) -> None:
    assert decide(k, n) == "supported"
    assert decide(k - 1, n) == "open"
    assert decide(k - 1, n - 1) == "open"  # with as many dissenting
    assert decide(n - k, n) == "contradicted"
    assert decide(n - k + 1, n) == "open"


@pytest.mark.parametrize(("k", "n", "expected"), [(39, 39, "open"), (40, 40, "supported"), (254, 256, "supported")])
def test_nearly_all_takes_forty_unanimous_seeds(k: int, n: int, expected: Decision) -> None:
    assert decide(k, n, "nearly all") == expected


def test_one_seed_shows_what_some_do_and_none_refutes_it() -> None:
    assert decide(1, 50, "some") == "supported"
    assert decide(0, 50, "some") == "open"
    assert evidence_for(1, 50, "some") == math.inf
    assert evidence_for(0, 50, "some") == -math.inf


@given(COUNTS, st.sampled_from(["most", "nearly all", "some"]))
def test_another_seed_that_holds_never_speaks_against(count: tuple[int, int], quantifier: Quantifier) -> None:
    k, n = count
    order = ["contradicted", "open", "supported"]
    outcomes = [order.index(decide(more, n, quantifier)) for more in range(n + 1)]
    assert outcomes == sorted(outcomes)
    assert evidence_for(k, n + 1, quantifier) <= evidence_for(k + 1, n + 1, quantifier)


# --- evidence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("k", "n"), [(0, 3), (5, 5), (7, 10), (30, 31), (40, 60)])
def test_evidence_is_the_likelihood_ratio_of_the_stake_by_integration(k: int, n: int, share: float) -> None:
    stake = stats.beta(9, 1)
    likelihood = integrate.quad(lambda p: stake.pdf(p) * p**k * (1 - p) ** (n - k), share, 1, epsabs=0, epsrel=1e-10)[0]
    ratio = likelihood / stake.sf(share) / (share**k * (1 - share) ** (n - k))
    assert log_evidence(k, n, share) == pytest.approx(math.log(ratio), rel=1e-7, abs=1e-7)


@given(COUNTS, st.floats(0.05, 0.95))
def test_evidence_is_a_fair_bet_on_the_next_seed(count: tuple[int, int], share: float) -> None:
    """What makes it valid whenever one stops: if the share is as said, its expectation after a seed is what it was."""
    k, n = count
    after = np.logaddexp(
        math.log(share) + log_evidence(k + 1, n + 1, share), math.log1p(-share) + log_evidence(k, n + 1, share)
    )
    assert after == pytest.approx(log_evidence(k, n, share), abs=1e-8)


def decided_sooner_or_later(share: float, most: int, quantifier: Quantifier) -> dict[str, float]:
    """The probability of each decision when one looks after every seed and stops at the first, to the last digit."""
    undecided, found = np.ones(1), {"supported": 0.0, "contradicted": 0.0}
    for n in range(1, most + 1):
        reached = np.zeros(n + 1)
        reached[1:] += share * undecided
        reached[:-1] += (1 - share) * undecided
        for k in np.flatnonzero(reached):
            if (outcome := decide(int(k), n, quantifier)) != "open":
                found[outcome] += reached[k]
                reached[k] = 0.0
        undecided = reached
    return found


@pytest.mark.parametrize(("share", "quantifier"), [(0.5, "most"), (0.9, "nearly all")])
def test_adding_seeds_until_it_is_decided_is_wrong_in_at_most_five_percent(
    share: float, quantifier: Quantifier
) -> None:
    """At the border, where both decisions are wrong; a test made for one look is wrong in ten percent here."""
    found = decided_sooner_or_later(share, 200, quantifier)
    assert 0.01 < found["supported"] < ERROR
    assert 0.01 < found["contradicted"] < ERROR


def test_a_statement_that_most_seeds_bear_out_is_decided_rightly() -> None:
    found = decided_sooner_or_later(0.9, 20, "most")
    assert found["supported"] > 0.9
    assert found["contradicted"] < 0.001


# --- the share ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "n", "low"), [(5, 5, 0.50), (9, 10, 0.52), (254, 256, 0.97), (0, 5, 0.0)])
def test_the_interval_of_the_share_by_hand(k: int, n: int, low: float) -> None:
    assert round(share_interval(k, n)[0], 2) == low
    assert share_interval(n - k, n)[1] == pytest.approx(1 - share_interval(k, n)[0])


@given(COUNTS)
def test_the_interval_of_the_share_has_exactly_the_shares_that_are_not_excluded(count: tuple[int, int]) -> None:
    k, n = count
    low, high = share_interval(k, n)
    assert 0 <= low <= k / n <= high <= 1
    for share in np.linspace(0.01, 0.99, 99):
        if abs(share - low) > 1e-6:
            assert (log_evidence(k, n, share) >= DECIDED) == (share < low)
        if abs(share - high) > 1e-6:
            assert (log_evidence(n - k, n, 1 - share) >= DECIDED) == (share > high)


@given(COUNTS)
def test_a_statement_is_decided_where_the_interval_of_the_share_leaves_out_one_half(count: tuple[int, int]) -> None:
    low, high = share_interval(*count)
    assert (decide(*count) == "supported") == (low >= 0.5)
    assert (decide(*count) == "contradicted") == (high <= 0.5)


# --- what would settle it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "n"), [(5, 6), (8, 10), (1, 6)])
def test_the_seeds_that_settle_it_do_so_in_four_of_five_simulated_cases(k: int, n: int) -> None:
    """Shares drawn from Jeffreys' posterior, then seeds: without the urn that the program counts with."""
    seeds = seeds_to_settle(k, n)
    assert seeds is not None
    random, cases = np.random.default_rng(0), 10_000
    shares = random.beta(k + 0.5, n - k + 0.5, cases)
    counts = k + (random.random((cases, seeds - n)) < shares[:, None]).cumsum(1)
    decided = np.array([
        [count <= total and decide(count, total) != "open" for count in range(seeds + 1)]
        for total in range(n + 1, seeds + 1)
    ])  # fmt: skip
    at = decided[np.arange(seeds - n), counts]
    error = 4 * math.sqrt(LIKELY * (1 - LIKELY) / cases)
    assert at.any(1).mean() > LIKELY - error
    assert at[:, :-1].any(1).mean() < LIKELY + error  # one fewer does not


def test_where_half_of_the_seeds_do_no_number_of_seeds_is_named() -> None:
    assert seeds_to_settle(5, 10) is None


# --- many claims -------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-5, 12), max_size=30), st.sampled_from([0.05, 0.1, 0.5]))
def test_discoveries_are_those_of_the_definition(log_e: list[float], rate: float) -> None:
    """The largest number of claims each of whose e-values is at least all claims over rate times that number."""
    best: set[int] = set()
    for size in range(1, len(log_e) + 1):
        reach = {index for index, value in enumerate(log_e) if value >= math.log(len(log_e) / (rate * size))}
        if len(reach) >= size:
            best = reach
    assert {index for index, chosen in enumerate(false_discovery(log_e, rate)) if chosen} == best


def test_six_unanimous_seeds_of_each_claim_keep_the_false_discovery_rate_where_five_do_not() -> None:
    """64 claims that hold and 15 of which nothing is known: why six seeds are the default."""
    none = [log_evidence(3, 6, 0.5)] * 15
    assert sum(false_discovery([log_evidence(6, 6, 0.5)] * 64 + none)) == 64
    assert sum(false_discovery([log_evidence(5, 5, 0.5)] * 64 + none)) == 0
