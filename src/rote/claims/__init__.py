"""Claims, the evidence for them and the verdicts. No torch."""

from rote.claims.claim import (
    Claim,
    Criterion,
    Evidence,
    Measurement,
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
    "Claim",
    "Criterion",
    "Estimate",
    "Evidence",
    "Measurement",
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
