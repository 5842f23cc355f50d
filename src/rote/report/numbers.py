"""Numbers as a reader sees them: three significant digits, nothing as an en dash; the exact value stays at hand."""

from __future__ import annotations

import math
import re

from rote.claims import Estimate
from rote.store.table import exact

__all__ = ["duration", "exact", "exact_interval", "is_number", "shown", "typeset", "unbroken", "with_interval"]
NOTHING = "–"


def shown(value: object) -> str:
    """``0.88512`` as 0.885, ``1024`` as 1024, ``1.2e-7`` as 1.20e-7, None as an en dash; text as it is."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _rounded(value)
    return value if isinstance(value, str) else exact(value)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def with_interval(estimate: Estimate) -> str:
    """``0.115 [0.108, 0.122]``, or the value alone where there is no interval."""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return shown(estimate.value)
    return f"{shown(estimate.value)} [{shown(estimate.low)}, {shown(estimate.high)}]"


def exact_interval(estimate: Estimate) -> str:
    return f"{estimate.value!r} [{estimate.low!r}, {estimate.high!r}]"


def typeset(text: str) -> str:
    """With minus signs in place of the hyphens that stand for them."""
    return re.sub(r"(?<![\w.])-(?=[\d∞])|(?<=e)-(?=\d)", "\u2212", text)


def duration(seconds: float) -> str:
    """``192`` as 3 min 12 s."""
    if seconds < 60:
        return f"{shown(float(seconds))} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def unbroken(place: str) -> str:
    """``Section 6, Figure 3`` with spaces that keep each number on the line of its word."""
    return re.sub(r"\b(Sections?|Figures?|Tables?|Appendix|Equations?) (?=\w)", "\\1\u00a0", place)


def _rounded(value: float) -> str:
    if value == 0:
        return "0"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    mantissa, _, power = f"{value:.2e}".partition("e")
    exponent = int(power)  # after rounding: that of 0.9996 is 0
    if -5 < exponent < 6:
        return f"{value:.{max(0, 2 - exponent)}f}"
    return f"{mantissa}e{exponent}"
