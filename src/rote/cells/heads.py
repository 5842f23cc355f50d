"""How many heads a memory of matrices has."""

from __future__ import annotations

import math

from rote.errors import UsageError


def heads_of(units: int, heads: int | None) -> int:
    """The number asked for, if it divides the units; by default up to four, of two units at least."""
    found = math.gcd(units, 4 if units > 4 else 2) if heads is None else heads
    if found < 1 or units % found:
        raise UsageError(f"'heads' must divide the {units} units. Got {heads}.")
    return found
