"""Lookup tasks and rows for the tests of the task and of its files."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from rote.tasks.lookup import LookupTask


def random_tables(**settings: Any) -> LookupTask:
    return LookupTask(**{"published_tables": False, "heldout_compositions": 0, "validation": 0} | settings)


@st.composite
def any_task(draw: st.DrawFn) -> LookupTask:
    bits, tables, depth = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    tables = min(tables, 2) if bits == 1 else tables
    unseen = draw(st.integers(0, tables - 1))
    longest = (tables - unseen) ** depth if depth > 1 else 0
    never = draw(st.integers(0, longest))
    inputs = draw(st.integers(0, 2**bits - 1))
    left = sum((tables - unseen) ** length for length in range(2, depth + 1)) - never
    validation = draw(st.integers(0, left * inputs))
    longer, seed = draw(st.integers(0, 3)), draw(st.integers(0, 5))
    return LookupTask(bits, tables, depth, unseen, never, inputs, validation, longer, seed, published_tables=False)
