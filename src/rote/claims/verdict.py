"""From values by seed to a verdict: each assertion by counting, their combination by Kleene's logic."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rote.claims.claim import Assertion, Claim, Group
from rote.claims.counting import Decision, decide, evidence_for, seeds_to_settle, share_interval
from rote.claims.per_seed import NotMeasuredError, Tables, Values
from rote.claims.published import Comparison, Published, compare
from rote.claims.statistics import Estimate, mean

Outcome = Literal["supported", "contradicted", "open", "void", "holds", "does not hold", "tested", "not run"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Status = Literal["exploratory", "confirmatory", ""]
Measured = Mapping[str, Values]  # by label of an assertion or of a published number
BOUNDS = {"unit": (0.0, 1.0)}


@dataclass(frozen=True)
class Finding:
    """What came out for one assertion. The count is judged; mean and interval are shown."""

    assertion: Assertion
    values: Values  # by seed
    outcome: Decision | Literal["not run"]

    @property
    def label(self) -> str:
        return self.assertion.label

    @property
    def role(self) -> str:
        return self.assertion.role

    @property
    def expected(self) -> str:
        quantifier = {"some": "in some seed", "most": "in most seeds", "nearly all": "in nearly all seeds"}
        return f"{self.assertion.holds} {quantifier[self.assertion.seeds]}"

    @property
    def n(self) -> int:
        return len(self.values)

    @functools.cached_property
    def k(self) -> int:
        """Seeds in which it holds. A value that is no number holds nowhere."""
        return sum(value in self.assertion.holds for value in self.values.values())

    @property
    def share(self) -> tuple[float, float]:
        """Of all seeds, what the count leaves possible."""
        return share_interval(self.k, self.n)

    @property
    def log_e(self) -> float:
        return evidence_for(self.k, self.n, self.assertion.seeds) if self.n else -math.inf

    @property
    def estimate(self) -> Estimate:
        finite = [value for value in self.values.values() if math.isfinite(value)]
        return mean(finite, BOUNDS.get(self.assertion.scale, (-math.inf, math.inf)))

    def __str__(self) -> str:
        return f"{self.label}: {self.k}/{self.n}" if self.n else f"{self.label}: not measured"


@dataclass(frozen=True)
class Scale:
    """How near to the source's own a run was, by its resolved settings."""

    name: Literal["published", "altered", "own", "quick", "smoke"]
    altered: tuple[str, ...] = ()  # settings that differ from the published ones
    stand_in: bool = False  # other data than the source's

    @property
    def rank(self) -> int:
        """Larger is nearer."""
        return -("published", "altered", "own", "quick", "smoke").index(self.name)

    def __str__(self) -> str:
        told = f"altered {len(self.altered)}" if self.name == "altered" else self.name
        return f"{told}, stand-in data" if self.stand_in else told


@dataclass(frozen=True)
class Verdict:
    """What one body of runs says about a claim."""

    claim: Claim
    outcome: Outcome
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    published: tuple[tuple[Published, Values], ...] = ()  # numbers of the source, with ours by seed
    caveats: tuple[str, ...] = ()  # rivals that do not hold
    scale: Scale | None = None
    status: Status = ""
    where: Literal["kept", "here", "kept and here", ""] = ""
    study: str = ""
    runs: tuple[str, ...] = ()

    @functools.cached_property
    def numbers(self) -> tuple[Comparison, ...]:
        """The second answer: ours against the published."""
        return tuple(compare(number, values) for number, values in self.published)

    @functools.cached_property
    def settle(self) -> str:
        """Of what is open: what would decide its open parts and conditions."""
        undecided = (
            [one for one in self.findings if one.role in ("part", "condition")] if self.outcome == "open" else []
        )
        return " ".join(dict.fromkeys(_what_settles(one) for one in undecided if one.outcome in ("open", "not run")))

    @property
    def said(self) -> str:
        """The outcome with what stands against it: ``supported, but ...``."""
        return f"{self.outcome}, but {'; '.join(self.caveats)}" if self.caveats else self.outcome

    @property
    def parts(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.role == "part"]

    @functools.cached_property
    def deciding(self) -> Finding | None:
        """The part whose count is told: the weakest of those that must hold together, the best of those that may hold
        instead. None where no part was measured."""
        return _deciding(self.claim.logic, {finding.label: finding for finding in self.findings})

    @property
    def count(self) -> str:
        """``5/6``: of the part that decided."""
        return f"{self.deciding.k}/{self.deciding.n}" if self.deciding else ""

    @property
    def log_e(self) -> float:
        """That the claim holds: the least of what must hold together, the mean of what may hold instead."""
        return _log_e(self.claim.logic, {finding.label: finding for finding in self.findings})

    @property
    def decided(self) -> bool:
        return self.outcome in ("supported", "contradicted")


def measure(claim: Claim, tables: Tables) -> dict[str, Values]:
    """The values by seed of everything in a claim that these tables have."""
    found: dict[str, Values] = {}
    wanted: list[Assertion | Published] = [*claim.all(), *claim.numbers]
    for item in wanted:
        try:
            found[item.label] = item.of(tables)
        except NotMeasuredError:
            continue
    return found


def judge(claim: Claim, measured: Measured) -> Verdict:
    """The verdict that these values give."""
    if claim.kind == "identity":
        return Verdict(claim, "tested", f"It can only fail by a mistake, for which there is a test: {claim.test}")
    findings = {item.label: finding(item, measured.get(item.label, {})) for item in claim.all()}
    numbers = tuple((number, measured[number.label]) for number in claim.numbers if measured.get(number.label))
    parts = [one for one in findings.values() if one.role == "part"]
    if not any(one.n for one in parts):
        return Verdict(claim, "not run", f"What it is about was left out of this run. {claim.remark}".strip())
    outcome, why = _outcome(claim, findings)
    rivals = [one for one in findings.values() if one.role == "rival" and one.outcome == "contradicted"]
    caveats = tuple(str(one) for one in rivals) if outcome == "supported" else ()
    reason = " ".join(filter(None, [*(f"{one}, expected {one.expected}." for one in parts), why]))
    return Verdict(claim, outcome, reason, tuple(findings.values()), numbers, caveats)


def finding(assertion: Assertion, values: Values) -> Finding:
    k = sum(value in assertion.holds for value in values.values())
    outcome = decide(k, len(values), assertion.seeds) if values else "not run"
    return Finding(assertion, dict(values), outcome)


def _outcome(claim: Claim, findings: Mapping[str, Finding]) -> tuple[Outcome, str]:
    """With the reason where it is no matter of the parts."""
    conditions = [one for one in findings.values() if one.role == "condition"]
    for one in conditions:
        if one.outcome == "contradicted":
            return "void", f"This is no test of it: {one}, expected {one.expected}."
    decision = _combined(claim.logic, findings)
    if claim.kind == "audit":
        return _in_these_data(claim, findings), "One body of data: no statement about others."
    if decision != "open":
        for one in conditions:
            if one.outcome != "supported":
                return "open", f"Whether it was tested is open: {one}, expected {one.expected}."
    return decision, ""


def _combined(group: Group, findings: Mapping[str, Finding]) -> Decision:
    """Kleene's logic: one contradicted part contradicts all of them; any that is supported supports any of them."""
    each = [
        findings[member.label].outcome if isinstance(member, Assertion) else _combined(member, findings)
        for member in group.members
    ]
    decides, needs_all = ("contradicted", "supported") if group.join == "all" else ("supported", "contradicted")
    if decides in each:
        return "contradicted" if group.join == "all" else "supported"
    if all(outcome == needs_all for outcome in each):
        return "supported" if group.join == "all" else "contradicted"
    return "open"


def _in_these_data(claim: Claim, findings: Mapping[str, Finding]) -> Outcome:
    def holds(group: Group) -> bool:
        each = [
            findings[member.label].k == findings[member.label].n > 0 if isinstance(member, Assertion) else holds(member)
            for member in group.members
        ]
        return all(each) if group.join == "all" else any(each)

    return "holds" if holds(claim.logic) else "does not hold"


def _log_e(group: Group, findings: Mapping[str, Finding]) -> float:
    each = [
        (findings[member.label].log_e if member.label in findings else -math.inf)
        if isinstance(member, Assertion)
        else _log_e(member, findings)
        for member in group.members
    ]
    return (
        min(each, default=-math.inf) if group.join == "all" else float(np.logaddexp.reduce(each)) - math.log(len(each))
    )


def _deciding(group: Group, findings: Mapping[str, Finding]) -> Finding | None:
    each = [
        findings.get(member.label) if isinstance(member, Assertion) else _deciding(member, findings)
        for member in group.members
    ]
    known = [one for one in each if one is not None and one.n]
    if not known:
        return None
    return (min if group.join == "all" else max)(known, key=lambda one: (one.k / one.n, one.n))


def _what_settles(one: Finding) -> str:
    if not one.n:
        return f"{one.label}: not measured in this run."
    if one.n > 1 and len(set(one.values.values())) == 1:
        return (
            f"{one.label}: all seeds have the same value, {next(iter(one.values.values())):.3g}: more say nothing new."
        )
    seeds = seeds_to_settle(one.k, one.n, one.assertion.seeds)
    if seeds is None:
        return f"{one.label} holds in {one.k} of {one.n} seeds; more hardly settle it."
    return f"{one.label} holds in {one.k} of {one.n} seeds; with --seeds {seeds} it is likely to be decided."
