"""Which values lie in a region: ties, infinite values, what is no number."""

from __future__ import annotations

import math

import pytest

from rote.claims import above, at_least, at_most, below, inside

NO_NUMBER = float("nan")


@pytest.mark.parametrize("region", [above(0), at_least(0)])
def test_a_value_without_limit_is_above_and_not_below(region) -> None:
    """A rule that is never learned takes for ever: more than any number."""
    assert math.inf in region
    assert -math.inf not in region
    assert NO_NUMBER not in region


@pytest.mark.parametrize("region", [below(0), at_most(0)])
def test_a_value_without_limit_downward_is_below_and_not_above(region) -> None:
    assert -math.inf in region
    assert math.inf not in region
    assert NO_NUMBER not in region


def test_a_tie_counts_against_unless_equality_is_said() -> None:
    assert [0 in region for region in (above(0), below(0), inside(0, 1), at_least(0), at_most(0))] == [
        False, False, False, True, True,
    ]  # fmt: skip
    assert not any(value in inside(-1, 1) for value in (-math.inf, math.inf, math.nan, -1, 1))
