"""How many claims came out how, what chance alone would give, and the ledger as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rote.claims import Finding, Outcome, Verdict, false_discovery
from rote.claims.counting import ERROR
from rote.laboratory.ledger import Entry

TALLIED_OUTCOMES: tuple[Outcome, ...] = ("supported", "contradicted", "open", "void", "not run")


def tallied(entries: Iterable[Entry]) -> list[Entry]:
    """Those that a source asserts, takes from a work that it cites, or implies."""
    return [entry for entry in entries if entry.claim.tallied]


def counts(entries: Iterable[Entry]) -> dict[str, int]:
    """How many of these have each outcome at the scale nearest to the source's."""
    found = Counter(entry.outcome for entry in entries)
    return {outcome: found[outcome] for outcome in TALLIED_OUTCOMES}


def discoveries(entries: Sequence[Entry]) -> set[str]:
    """The supported claims that keep the false discovery rate of these at 5 %, whatever networks they share: e-BH."""
    kept = false_discovery([entry.verdict.log_e for entry in entries])
    return {entry.claim.id for entry, keep in zip(entries, kept, strict=True) if keep and entry.outcome == "supported"}


def summary(entries: Iterable[Entry]) -> str:
    """One sentence: ``Of 3 claims, 2 are supported and 1 is open.``"""
    counted = tallied(entries)
    if not counted:
        return "No claim of a source is among these."
    parts = [f"{n} {_be(n, outcome)}" for outcome, n in counts(counted).items() if n]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    fresh = sum(any(one.status == "confirmatory" and one.decided for one in entry.verdicts) for entry in counted)
    told = f"Of {_claims(len(counted))}, {listed}."
    return f"{told} {_claims(fresh).capitalize()} decided on fresh seeds, at some scale." if fresh else told


def multiplicity(entries: Iterable[Entry]) -> str:
    """What chance alone would give among so many claims, and how many stand when that is allowed for."""
    judged = [entry for entry in tallied(entries) if entry.outcome != "not run"]
    if not judged:
        return ""
    supported = sum(entry.outcome == "supported" for entry in judged)
    return (
        f"{_claims(len(judged))} judged: if none were true, at most {ERROR * len(judged):.2g} would be called "
        f"supported; a true part is called contradicted in at most {ERROR:.0%} of cases. "
        f"{len(discoveries(judged))} of the {supported} supported keep the false discovery rate at {ERROR:.0%} (e-BH)."
    )


def _claims(n: int) -> str:
    return "1 claim" if n == 1 else f"{n} claims"


def _be(n: int, outcome: str) -> str:
    if outcome == "not run":
        return "was not run" if n == 1 else "were not run"
    return f"{'is' if n == 1 else 'are'} {outcome}"


def entry_rows(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """The ledger for programs: one row per claim, with its verdicts over scales and the values behind them."""
    return [
        {
            "claim": entry.claim.id, "source": entry.claim.source, "kind": entry.claim.kind, "place": entry.claim.place,
            "statement": entry.claim.statement, "published": entry.claim.published, "remark": entry.claim.remark,
            "study": entry.study, "verdict": entry.outcome, "differs_by_scale": entry.differs_by_scale,
            "verdicts": [verdict_row(verdict) for verdict in entry.verdicts],
        }
        for entry in entries
    ]  # fmt: skip


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    scale = verdict.scale
    return {
        "outcome": verdict.outcome, "said": verdict.said, "count": verdict.count, "reason": verdict.reason,
        "settle": verdict.settle, "caveats": list(verdict.caveats), "status": verdict.status,
        "scale": str(scale) if scale else "", "altered": list(scale.altered) if scale else [], "where": verdict.where,
        "study": verdict.study, "runs": list(verdict.runs), "e": math.exp(min(verdict.log_e, 700.0)),
        "findings": [finding_row(finding) for finding in verdict.findings],
        "numbers": [asdict(number) for number in verdict.numbers],
    }  # fmt: skip


def finding_row(finding: Finding) -> dict[str, Any]:
    low, high = finding.share if finding.n else (0.0, 1.0)
    return {
        "label": finding.label, "role": finding.role, "expected": finding.expected, "outcome": finding.outcome,
        "k": finding.k, "n": finding.n, "share_low": low, "share_high": high, "estimate": asdict(finding.estimate),
        "values": {str(seed): value for seed, value in finding.values.items()},
    }  # fmt: skip
