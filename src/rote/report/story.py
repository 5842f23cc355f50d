"""What a report tells first, in sentences: made from verdicts and counts, never typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rote.claims import Verdict
from rote.claims.claim import TALLIED
from rote.laboratory import Entry
from rote.laboratory.tally import summary

MOST = 3  # findings on the first page, sentences on a source's


@dataclass(frozen=True)
class Told:
    """A sentence about a claim, with the entry that it comes from."""

    entry: Entry
    text: str


def findings(entries: Iterable[Entry]) -> list[Told]:
    """Where what came out differs from what the source says: contradicted claims, one of each source as far as there
    are any; those of the source's own scale, with the most evidence, first."""
    against = sorted((one for one in entries if one.claim.tallied and one.outcome == "contradicted"), key=_weight)
    first = list({entry.claim.source: entry for entry in reversed(against)}.values())[::-1]
    chosen = sorted(first, key=_weight) + [entry for entry in against if entry not in first]
    return [Told(entry, f"{_sentence(entry.claim.statement)} {evidence(entry.verdict)}") for entry in chosen[:MOST]]


def three_sentences(entries: Sequence[Entry]) -> list[Told | str]:
    """How many of a source's claims came out how, what stands most firmly, and what does not stand or is open; then
    what its text says otherwise than its own data."""
    told: list[Told | str] = [summary(entries)]
    for lead, outcomes in (("Most firmly", ("supported",)), ("Against the source", ("contradicted",)),
                           ("Still open", ("open", "void"))):  # fmt: skip
        among = [one for one in entries if one.claim.tallied and one.outcome in outcomes and one.verdict.count]
        if among and len(told) < MOST:
            entry = min(among, key=_weight)
            told.append(Told(entry, f"{lead}: {_sentence(entry.claim.statement)} {evidence(entry.verdict)}"))
    for entry in entries:
        if entry.outcome == "does not hold" and len(told) < MOST:
            told.append(Told(entry, f"Not so in the source's own data: {_sentence(entry.claim.statement)}"))
    return told


def evidence(verdict: Verdict) -> str:
    """``Contradicted: it holds in 0 of 5 seeds (published scale, kept).``"""
    decided = verdict.deciding
    if decided is None:
        return f"{verdict.outcome.capitalize()}."
    what = "it holds" if len(verdict.parts) == 1 else f"\u201c{decided.label}\u201d holds"
    fresh = "fresh seeds" if verdict.status == "confirmatory" else ""
    where = ", ".join(filter(None, [_at(verdict), fresh, verdict.where]))
    told = f"{verdict.outcome.capitalize()}: {what} in {decided.k} of {decided.n} seeds"
    return f"{told} ({where})." if where else f"{told}."


def _at(verdict: Verdict) -> str:
    if verdict.scale is None:
        return ""
    altered, data = len(verdict.scale.altered), ", stand-in data" * verdict.scale.stand_in
    return f"{altered} settings altered{data}" if altered else f"{verdict.scale.name} scale{data}"


def place_order(place: str) -> tuple[int, int, str]:
    """Figures in the source's order, then its tables and sections, then what the source does not have."""
    found = re.search(r"\b(Figure|Table|Section)s? (\d+)", place)
    if found is None:
        return 3, 0, ""
    return ("Figure", "Table", "Section").index(found[1]), int(found[2]), place


def _weight(entry: Entry) -> tuple[int, int, float, str]:
    """Less is more: the source's own scale, said by the source itself, decided by many seeds without dissent."""
    verdict, decided = entry.verdict, entry.verdict.deciding
    assert decided is not None
    agreeing = decided.k if verdict.outcome == "supported" else decided.n - decided.k
    rank = verdict.scale.rank if verdict.scale is not None else -9
    return -rank, TALLIED.index(entry.claim.kind), -agreeing * agreeing / decided.n, entry.claim.id


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."
