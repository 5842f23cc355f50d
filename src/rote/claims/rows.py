"""Verdicts as plain data, for JSON and for the explorer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rote.claims.claim import Verdict


def verdict_rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """The ledger for programs: one row per claim with its evidence."""
    return [
        {
            "claim": verdict.claim.id, "source": verdict.claim.source, "place": verdict.claim.place,
            "statement": verdict.claim.statement, "published": verdict.claim.published, "verdict": verdict.outcome,
            "reason": verdict.reason, "study": verdict.study, "preset": verdict.preset, "runs": list(verdict.runs),
            "evidence": [asdict(item) for item in verdict.evidence],
        }
        for verdict in verdicts
    ]  # fmt: skip
