"""Claims, the seeds that bear them out, and the verdicts. No torch."""

from rote.claims.claim import KINDS, TALLIED, Assertion, Claim, Group, Kind, Source, all_of, any_of
from rote.claims.counting import decide, false_discovery, log_evidence, seeds_to_settle, share_interval
from rote.claims.per_seed import NotMeasuredError, PerSeed, Tables, Values, column, measured
from rote.claims.published import Comparison, Published, compare
from rote.claims.region import Region, above, at_least, at_most, below, inside
from rote.claims.register import Register, criterion_hash
from rote.claims.statistics import Estimate, mean, proportion
from rote.claims.verdict import OUTCOMES, Finding, Outcome, Scale, Verdict, judge, measure

__all__ = [
    "KINDS",
    "OUTCOMES",
    "TALLIED",
    "Assertion",
    "Claim",
    "Comparison",
    "Estimate",
    "Finding",
    "Group",
    "Kind",
    "NotMeasuredError",
    "Outcome",
    "PerSeed",
    "Published",
    "Region",
    "Register",
    "Scale",
    "Source",
    "Tables",
    "Values",
    "Verdict",
    "above",
    "all_of",
    "any_of",
    "at_least",
    "at_most",
    "below",
    "column",
    "compare",
    "criterion_hash",
    "decide",
    "false_discovery",
    "inside",
    "judge",
    "log_evidence",
    "mean",
    "measure",
    "measured",
    "proportion",
    "seeds_to_settle",
    "share_interval",
]
