"""Claims, the evidence for them and the verdicts. No torch."""

from rote.claims.claim import (
    OUTCOMES,
    Assertion,
    Claim,
    Criterion,
    Evidence,
    Outcome,
    Source,
    Tables,
    Verdict,
    above,
    below,
    judge,
    not_run,
)
from rote.claims.rows import verdict_rows
from rote.claims.statistics import Estimate, difference, mean, paired_difference, proportion

__all__ = [
    "OUTCOMES",
    "Assertion",
    "Claim",
    "Criterion",
    "Estimate",
    "Evidence",
    "Outcome",
    "Source",
    "Tables",
    "Verdict",
    "above",
    "below",
    "difference",
    "judge",
    "mean",
    "not_run",
    "paired_difference",
    "proportion",
    "verdict_rows",
]
