"""Values by seed from tables: what is missing, what diverged, what is ambiguous, and how they are combined."""

from __future__ import annotations

import math

import pytest

from rote.claims import Assertion, Claim, NotMeasuredError, above, column, judge, measure
from rote.store import Column, Table

COLUMNS = (Column("seed", role="label"), Column("setting", role="label"), Column("value"))


def table(*rows: tuple[int, str, float | None]) -> dict[str, Table]:
    named = [{"seed": seed, "setting": setting, "value": value} for seed, setting, value in rows]
    return {"t": Table.make("t", "", COLUMNS, named)}


def test_a_network_that_diverged_counts_against_and_does_not_hide_the_others():
    tables = table(*((seed, "a", 1.0) for seed in range(5)), (5, "a", math.nan))
    claim = Claim("c", "s", "p", "It is.", "is", (Assertion("x", column("t", "value", setting="a"), above(0)),))
    (finding,) = judge(claim, measure(claim, tables)).findings
    assert (finding.k, finding.n) == (5, 6)
    assert finding.estimate.value == 1.0


@pytest.mark.parametrize(
    "wanted",
    [column("u", "value"), column("t", "other"), column("t", "value", setting="b"), column("t", "value", setting="c")],
    ids=["no table", "no column", "no row", "no value"],
)
def test_what_was_not_measured_is_said_so(wanted):
    with pytest.raises(NotMeasuredError):
        wanted(table((0, "a", 1.0), (0, "c", None)))


def test_two_rows_of_a_seed_are_ambiguous():
    with pytest.raises(ValueError, match="several rows of seed 0 with setting='a': name more"):
        column("t", "value", setting="a")(table((0, "a", 1.0), (0, "a", 2.0)))


def test_values_are_combined_seed_by_seed():
    tables = table((0, "a", 1.0), (1, "a", 4.0), (1, "b", 2.0), (0, "b", 2.0), (0, "p", 0.0), (1, "p", 0.75))
    a, b, p = (column("t", "value", setting=name) for name in "abp")
    assert (a - b)(tables) == {0: -1.0, 1: 2.0}
    assert (a + b)(tables) == {0: 3.0, 1: 6.0}
    assert (a - 1)(tables) == {0: 0.0, 1: 3.0}
    assert a.log_ratio(b)(tables) == {0: math.log(0.5), 1: math.log(2.0)}
    assert p.log_odds()(tables) == {0: -math.inf, 1: math.log(3.0)}
    assert math.isnan(p.log_ratio(p)(tables)[0])  # nothing over nothing


def test_seeds_that_only_one_of_two_has_cannot_be_paired():
    with pytest.raises(NotMeasuredError, match="other seeds"):
        (column("t", "value", setting="a") - column("t", "value", setting="b"))(table((0, "a", 1.0), (1, "b", 1.0)))
