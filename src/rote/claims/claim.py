"""A published claim, the measurement that tests it, and the result that would confirm it, fixed before the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from rote.claims.statistics import Estimate
from rote.store import Table

Outcome = Literal["reproduced", "partly", "not reproduced", "inconclusive", "not run"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Tables = Mapping[str, Table]
MINIMUM_SEEDS = 5


@dataclass(frozen=True)
class Source:
    """One of the five texts that Rote reproduces, or what goes beyond them."""

    id: str  # "001"
    name: str  # "resistance"
    title: str
    bibtex: str

    @property
    def label(self) -> str:
        return f"Source {self.id}" if self.id < "100" else "Beyond the sources"


@dataclass(frozen=True)
class Criterion:
    """Which values confirm: beyond ``size`` in the claimed direction; beyond ``at_all`` at least the direction does."""

    direction: Literal["above", "below"]
    size: float
    at_all: float

    def __post_init__(self) -> None:
        if (self.at_all > self.size) if self.direction == "above" else (self.at_all < self.size):
            raise ValueError(f"at_all={self.at_all} asks for more than size={self.size}.")

    def __str__(self) -> str:
        text = f"{self.direction} {self.size:g}"
        return text if self.at_all == self.size else f"{text} (partly: {self.direction} {self.at_all:g})"

    def outcome(self, estimate: Estimate) -> Outcome:
        """By the 95 % interval. An interval that excludes the claimed size without showing the effect refutes it."""
        sign = 1.0 if self.direction == "above" else -1.0
        low, high = sorted((sign * estimate.low, sign * estimate.high))
        size, at_all = sign * self.size, sign * self.at_all
        if estimate.n < MINIMUM_SEEDS or not (math.isfinite(low) and math.isfinite(high)):
            return "inconclusive"
        if low > size:
            return "reproduced"
        if low > at_all:
            return "partly"
        return "not reproduced" if high < size or high < at_all else "inconclusive"


def above(size: float, at_all: float | None = None) -> Criterion:
    return Criterion("above", size, size if at_all is None else at_all)


def below(size: float, at_all: float | None = None) -> Criterion:
    return Criterion("below", size, size if at_all is None else at_all)


@dataclass(frozen=True)
class Assertion:
    """One number of a study's tables, and what it must be.

    role: "main" decides the verdict. "control" must also hold, or a reproduced claim is only partly so.
    "contrast" is reported beside them (an untrained network, the measure as published where it had a defect).
    """

    label: str
    of: Callable[[Tables], Estimate]
    expected: Criterion
    role: Literal["main", "control", "contrast"] = "main"


@dataclass(frozen=True)
class Claim:
    id: str  # "plane-seeds", unique over all sources
    source: str  # name of the Source
    place: str  # "Section 6, Figure 6"
    statement: str  # in our words
    published: str  # the published value, as published
    assertions: tuple[Assertion, ...]
    remark: str = ""  # what a reader must know to judge the verdict: readings left open, defects


@dataclass(frozen=True)
class Evidence:
    label: str
    role: str
    expected: str
    estimate: Estimate
    outcome: Outcome


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    outcome: Outcome
    reason: str
    evidence: tuple[Evidence, ...] = ()
    settle: str = ""  # of an inconclusive verdict: what would settle it
    study: str = ""
    preset: str = ""
    runs: tuple[str, ...] = ()


def judge(claim: Claim, tables: Tables, *, study: str = "", preset: str = "", runs: tuple[str, ...] = ()) -> Verdict:
    """The verdict on ``claim`` that the tables of its study give."""
    evidence = []
    for assertion in claim.assertions:
        estimate = assertion.of(tables)
        outcome = assertion.expected.outcome(estimate)
        evidence.append(Evidence(assertion.label, assertion.role, str(assertion.expected), estimate, outcome))
    outcome = _combined(evidence)
    open_questions = [_what_would_settle(item) for item in evidence if item.outcome == "inconclusive"]
    settle = " ".join(dict.fromkeys(open_questions)) if outcome == "inconclusive" else ""
    reason = f"{_reason(evidence)} {settle}".strip()
    if outcome == "not run":
        reason, evidence = f"What it is about was left out of this run. {claim.remark}".strip(), []
    return Verdict(claim, outcome, reason, tuple(evidence), settle, study, preset, runs)


def not_run(claim: Claim, study: str) -> Verdict:
    return Verdict(claim, "not run", f"No finished run in the store. Run: rote run {study}", study=study)


def _combined(evidence: list[Evidence]) -> Outcome:
    """Main assertions that disagree make it partly so, whatever the open ones will say."""
    if all(item.estimate.n == 0 for item in evidence if item.role == "main"):
        return "not run"
    main = {item.outcome for item in evidence if item.role == "main"}
    if len(main - {"inconclusive"}) > 1:
        return "partly"
    if "inconclusive" in main:
        return "inconclusive"
    (outcome,) = main
    controls = {item.outcome for item in evidence if item.role == "control"}
    return "partly" if outcome == "reproduced" and controls - {"reproduced"} else outcome


def _reason(evidence: list[Evidence]) -> str:
    return " ".join(
        f"{item.label}: {item.estimate.value:.3g} [{item.estimate.low:.3g}, {item.estimate.high:.3g}], "
        f"expected {item.expected}."
        for item in evidence
        if item.role != "contrast"
    )


def _what_would_settle(item: Evidence) -> str:
    n = item.estimate.n
    if n < MINIMUM_SEEDS or not math.isfinite(item.estimate.high - item.estimate.low):
        return f"With {n} seeds nothing is decided; run at least --seeds {MINIMUM_SEEDS}."
    return f"The interval with {n} seeds is too wide; about --seeds {4 * n} would halve it."
