"""From values by seed to a verdict: Kleene's logic against its truth tables, and what each role does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.claims import (
    Assertion,
    Claim,
    Group,
    PerSeed,
    Region,
    Verdict,
    above,
    all_of,
    any_of,
    at_least,
    at_most,
    below,
    inside,
    judge,
    log_evidence,
)

NOTHING = PerSeed(lambda tables: {}, lambda: "nothing")
VALUES = {"s": [1.0] * 5, "c": [-1.0] * 5, "o": [1.0, 1.0, 1.0, -1.0, -1.0], "": []}  # all, none, some, not measured
OUTCOME = {"s": "supported", "c": "contradicted", "o": "open"}
RANK = "cos"  # Kleene: all is the least of its members, any the largest


class Claims:
    """Claims of which each assertion comes out as a letter says."""

    def __init__(self) -> None:
        self.values: dict[str, dict[int, float]] = {}

    def assertion(self, letter: str, role: Any = "part") -> Assertion:
        label = f"{role} {len(self.values)}"
        self.values[label] = dict(enumerate(VALUES[letter]))
        return Assertion(label, NOTHING, above(0), role=role)

    def judged(self, *items: Assertion | Group, **more: Any) -> Verdict:
        return judge(Claim("c", "resistance", "Figure 1", "It does.", "always", items, **more), self.values)


def verdict(parts: str, **roles: str) -> Verdict:
    claims = Claims()
    parts_ = [claims.assertion(letter) for letter in parts]
    return claims.judged(*parts_, *(claims.assertion(letter, role) for role, text in roles.items() for letter in text))


# --- logic -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("join", "best"), [(all_of, min), (any_of, max)])
@pytest.mark.parametrize("letters", [*itertools.product(RANK, repeat=2), *itertools.product(RANK, repeat=3)])
def test_groups_follow_the_truth_tables(
    join: Callable[..., Group], best: Callable[[Iterable[int]], int], letters: tuple[str, ...]
) -> None:
    claims = Claims()
    found = claims.judged(join(*map(claims.assertion, letters)))
    assert found.outcome == OUTCOME[RANK[best(map(RANK.index, letters))]]


Tree = str | tuple[bool, list[Any]]
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.sampled_from(RANK), lambda inner: st.tuples(st.booleans(), st.lists(inner, min_size=1, max_size=3)), max_leaves=8
)


@given(TREES)
def test_groups_of_groups_follow_them_too(tree: Tree) -> None:
    claims = Claims()

    def made(node: Tree) -> Assertion | Group:
        return claims.assertion(node) if isinstance(node, str) else (all_of if node[0] else any_of)(*map(made, node[1]))

    def expected(node: Tree) -> int:
        if isinstance(node, str):
            return RANK.index(node)
        return (min if node[0] else max)(map(expected, node[1]))

    assert claims.judged(made(tree)).outcome == OUTCOME[RANK[expected(tree)]]


def test_readings_count_as_wholes_so_that_parts_of_two_do_not_add_up_to_one() -> None:
    claims = Claims()
    one, two = (all_of(*map(claims.assertion, letters)) for letters in ("sc", "cs"))
    assert claims.judged(any_of(one, two)).outcome == "contradicted"


@pytest.mark.parametrize(("parts", "expected"), [("s", "open"), ("c", "contradicted"), ("o", "open"), ("", "not run")])
def test_a_part_that_was_not_measured_is_open_and_all_of_them_are_not_run(parts: str, expected: str) -> None:
    claims = Claims()
    items = [claims.assertion(letter) for letter in ("", *parts)]
    assert claims.judged(*items).outcome == expected


# --- roles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", RANK)
def test_a_contradicted_condition_makes_the_verdict_void_whatever_the_parts_say(part: str) -> None:
    found = verdict(part, condition="sc")
    assert found.outcome == "void"
    assert "This is no test of it: condition 2: 0/5, expected above 0 in most seeds." in found.reason


@pytest.mark.parametrize("part", RANK)
@pytest.mark.parametrize("condition", ["o", ""])
def test_an_open_condition_leaves_it_open(part: str, condition: str) -> None:
    claims = Claims()
    found = claims.judged(claims.assertion(part), claims.assertion(condition, "condition"))
    assert found.outcome == "open"


@pytest.mark.parametrize("part", RANK)
def test_a_rival_that_does_not_hold_is_told_beside_a_supported_claim_only(part: str) -> None:
    found = verdict(part, rival="soc")
    assert found.outcome == OUTCOME[part]
    assert found.said == ("supported, but rival 3: 0/5" if part == "s" else OUTCOME[part])


@pytest.mark.parametrize("report", RANK)
def test_a_report_is_shown_and_never_decides(report: str) -> None:
    for part in RANK:
        found = verdict(part, report=report)
        assert (found.outcome, found.caveats) == (OUTCOME[part], ())
        assert found.findings[-1].outcome == OUTCOME[report]
        assert "report" not in found.reason


def test_a_value_that_is_no_number_holds_nowhere() -> None:
    claims = Claims()
    part = claims.assertion("s")
    claims.values[part.label][2] = math.nan
    (finding,) = claims.judged(part).findings
    assert (finding.k, finding.n, finding.outcome) == (4, 5, "open")
    assert finding.estimate.value == 1.0


# --- kinds, and what a verdict says ------------------------------------------------------------------------------


def test_an_audit_holds_or_does_not_in_the_one_body_of_data_that_there_is() -> None:
    for value, expected in ((1.0, "holds"), (-1.0, "does not hold")):
        part = Assertion("x", NOTHING, above(0))
        claim = Claim("c", "s", "p", "x", "y", (part,), kind="audit")
        assert judge(claim, {"x": {0: value}}).outcome == expected


def test_an_identity_names_its_test_and_has_no_assertions() -> None:
    found = judge(Claim("c", "s", "p", "x", "y", kind="identity", test="tests/x.py::y"), {})
    assert found.outcome == "tested"
    assert "tests/x.py::y" in found.reason
    with pytest.raises(ValueError, match="a test and no assertions"):
        Claim("c", "s", "p", "x", "y", kind="identity")


def test_a_verdict_has_the_count_of_its_weakest_part_and_says_what_was_expected() -> None:
    found = verdict("so")
    assert found.count == "3/5"
    assert found.reason == "part 0: 5/5, expected above 0 in most seeds. part 1: 3/5, expected above 0 in most seeds."
    assert found.log_e == log_evidence(3, 5, 0.5)


def test_evidence_for_readings_is_their_mean() -> None:
    claims = Claims()
    found = claims.judged(any_of(claims.assertion("s"), claims.assertion("c")))
    both = [math.exp(log_evidence(k, 5, 0.5)) for k in (5, 0)]
    assert math.exp(found.log_e) == pytest.approx(sum(both) / 2)


def test_what_is_open_says_what_would_settle_it() -> None:
    claims = Claims()
    part = claims.assertion("s")
    claims.values[part.label] = dict(enumerate([1.0, 2.0, 3.0, 4.0, 5.0, -1.0]))
    assert "holds in 5 of 6 seeds; with --seeds " in claims.judged(part).settle
    claims.values[part.label] = dict(enumerate([1.0, 2.0, 3.0, -4.0, -5.0, -1.0]))
    assert claims.judged(part).settle == "part 0 holds in 3 of 6 seeds; more hardly settle it."
    claims.values[part.label] = dict(enumerate([1.0] * 3))
    assert "all seeds have the same value, 1: more say nothing new" in claims.judged(part).settle
    assert verdict("s", report="o").settle == ""


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((Assertion("x", NOTHING, above(0)), Assertion("x", NOTHING, below(0))), "several things called 'x'"),
        ((Assertion("x", NOTHING, above(0), role="report"),), "no assertion of the role 'part'"),
        (
            (Assertion("y", NOTHING, above(0)), any_of(Assertion("x", NOTHING, above(0), role="rival"))),
            "has an assertion that is no part",
        ),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(items: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Claim("c", "s", "p", "x", "y", items)


# --- regions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("region", "inner", "outer", "told"),
    [
        (above(0.5), [0.6], [0.5, 0.4, math.nan], "above 0.5"),
        (below(0.5), [0.4], [0.5, 0.6, math.nan], "below 0.5"),
        (at_least(0.5), [0.5, 0.6], [0.4, math.nan], "at least 0.5"),
        (at_most(0.5), [0.5, 0.4], [0.6, math.nan], "at most 0.5"),
        (inside(-0.1, 0.1), [0.0], [-0.1, 0.1, math.nan], "between -0.1 and 0.1"),
        (Region(1.0, 1.0, closed=True), [1.0], [0.9, math.nan], "exactly 1"),
    ],
)
def test_a_tie_counts_against_unless_equality_is_what_is_said(
    region: Region, inner: list[float], outer: list[float], told: str
) -> None:
    assert all(value in region for value in inner)
    assert not any(value in region for value in outer)
    assert str(region) == told


def test_a_region_without_values_is_refused() -> None:
    with pytest.raises(ValueError, match=r"between 0\.1 and -0\.1"):
        inside(0.1, -0.1)
