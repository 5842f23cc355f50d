"""The ledger: every claim with its verdict, in one table and in a count per outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from rote.claims import Estimate, Evidence, Outcome, Verdict
from rote.store import Column, Table

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def counts(ledger: Sequence[Verdict]) -> dict[Outcome, int]:
    """How many claims have each outcome, in the order from confirmed to not run."""
    return {outcome: sum(verdict.outcome == outcome for verdict in ledger) for outcome in OUTCOMES}


def summary(ledger: Sequence[Verdict]) -> str:
    """One sentence: ``Of 3 published claims, 2 are reproduced and 1 was not run.``"""
    if not ledger:
        return "No claim has been judged yet."
    wordings: dict[Outcome, tuple[str, str]] = {
        "reproduced": ("is reproduced", "are reproduced"),
        "partly": ("is partly reproduced", "are partly reproduced"),
        "not reproduced": ("is not reproduced", "are not reproduced"),
        "inconclusive": ("is inconclusive", "are inconclusive"),
        "not run": ("has not been run", "have not been run"),
    }
    parts = [f"{n} {wordings[outcome][n != 1]}" for outcome, n in counts(ledger).items() if n]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    total = "the one published claim" if len(ledger) == 1 else f"{len(ledger)} published claims"
    return f"Of {total}, {listed}."


def deciding(verdict: Verdict) -> list[Evidence]:
    """The measurements that the verdict rests on."""
    return [item for item in verdict.evidence if item.role == "main"]


def ledger_table(ledger: Sequence[Verdict]) -> Table:
    """The ledger as a table: one row per deciding measurement, so that each has its own estimate."""
    columns = (
        Column("claim", "its id", "label"),
        Column("source", "", "label"),
        Column("place", "where the source has it", "label"),
        Column("statement", "in our words", "label"),
        Column("published", "as published", "published"),
        Column("measurement", "what was measured", "label"),
        Column("expected", "fixed before the run", "label"),
        Column("ours", "estimate"),
        Column("low", "95 % interval"),
        Column("high", "95 % interval"),
        Column("n", "seeds"),
        Column("preset", "scale of the run", "label"),
        Column("verdict", "", "label"),
    )
    rows = [row for verdict in ledger for row in _rows(verdict)]
    return Table.make("ledger", "Claims and verdicts", columns, rows)


def _rows(verdict: Verdict) -> list[dict[str, object]]:
    claim = verdict.claim
    labels: dict[str, object] = {
        "claim": claim.id,
        "source": claim.source,
        "place": claim.place,
        "statement": claim.statement,
        "published": claim.published,
        "preset": verdict.preset or None,
        "verdict": verdict.outcome,
    }
    measured = [
        {**labels, "measurement": item.label, "expected": item.expected, **_numbers(item.estimate)}
        for item in deciding(verdict)
    ]
    return measured or [labels]


def _numbers(estimate: Estimate) -> dict[str, object]:
    return {"ours": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
