"""The ledger on paper: how many claims came out how at each scale, and a table of all that was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rote.claims import Verdict
from rote.laboratory import Entry
from rote.laboratory.tally import TALLIED_OUTCOMES, counts, tallied
from rote.store import Column, Table

WHERE = ("kept", "here", "kept and here")
NEAREST = "nearest"  # the scale nearest to the source's at which a claim was judged


@dataclass(frozen=True)
class Tally:
    """Of a source's claims: how many have each outcome, by scale, the nearest one first."""

    source: str  # its name; empty for all sources together
    scales: dict[str, dict[str, int]]
    where: dict[str, dict[str, int]]  # scale -> how many of these verdicts are kept, from here, or both

    @property
    def total(self) -> int:
        return sum(self.scales[NEAREST].values())


def tallies(entries: Iterable[Entry]) -> list[Tally]:
    """One for each source that has claims in the tally, and where they are several one for all together."""
    counted = tallied(entries)
    names = list(dict.fromkeys(entry.claim.source for entry in counted))
    found = [_tally(name, [entry for entry in counted if entry.claim.source == name]) for name in names]
    return [*found, _tally("", counted)] if len(names) > 1 else found


def _tally(name: str, entries: Sequence[Entry]) -> Tally:
    scales = _by_scale(entries)
    shown = {scale: [_at(entry, scale) for entry in entries] for scale in scales if scale != NEAREST}
    shown[NEAREST] = [entry.verdict for entry in entries]
    where = {scale: Counter[str](one.where for one in verdicts if one is not None) for scale, verdicts in shown.items()}
    return Tally(name, scales, {scale: {place: found[place] for place in WHERE} for scale, found in where.items()})


def _by_scale(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    ranked = sorted({verdict.scale for entry in entries for verdict in entry.verdicts if verdict.scale is not None},
                    key=lambda scale: -scale.rank)  # fmt: skip
    by_scale: dict[str, dict[str, int]] = {NEAREST: counts(entries)}
    for name in dict.fromkeys(scale.name for scale in ranked):
        at = Counter(verdict.outcome for entry in entries if (verdict := _at(entry, name)) is not None)
        by_scale[name] = {outcome: at[outcome] for outcome in TALLIED_OUTCOMES}
    return by_scale


def _at(entry: Entry, scale: str) -> Verdict | None:
    """The first verdict at a scale of this name: that of fresh seeds, where there are any."""
    return next((one for one in entry.verdicts if one.scale is not None and one.scale.name == scale), None)


def ledger_table(entries: Iterable[Entry]) -> Table:
    """Every assertion of every claim at every scale, a row each."""
    columns = (
        *(Column(name, about, "label") for name, about in (
            ("claim", "its id"), ("kind", ""), ("source", ""), ("place", "where the source has it"),
            ("statement", "in our words"))),
        Column("published", "as published", "published"),
        *(Column(name, about, "label") for name, about in (
            ("scale", "of the run, by its settings"), ("where", "kept or run here"), ("status", ""), ("verdict", ""),
            ("assertion", "what was counted"), ("role", ""), ("expected", "what would bear it out"))),
        Column("k", "seeds in which it holds"), Column("n", "seeds"),
        Column("share low", "of all seeds"), Column("share high", "of all seeds"),
        Column("mean", "over seeds"), Column("low", "95 % interval of the mean"), Column("high", "95 % interval"),
    )  # fmt: skip
    rows = [row for entry in entries for verdict in entry.verdicts for row in _rows(verdict)]
    return Table.make("ledger", "Claims and verdicts", columns, rows)


def _rows(verdict: Verdict) -> list[dict[str, object]]:
    claim = verdict.claim
    labels: dict[str, object] = {
        "claim": claim.id, "kind": claim.kind, "source": claim.source, "place": claim.place,
        "statement": claim.statement, "published": claim.published, "where": verdict.where or None,
        "scale": str(verdict.scale) if verdict.scale else None, "status": verdict.status or None,
        "verdict": verdict.outcome,
    }  # fmt: skip
    counted = [
        {
            **labels, "assertion": one.label, "role": one.role, "expected": one.expected, "k": one.k, "n": one.n,
            "share low": one.share[0], "share high": one.share[1], "mean": one.estimate.value,
            "low": one.estimate.low, "high": one.estimate.high,
        }
        for one in verdict.findings
        if one.n
    ]  # fmt: skip
    return counted or [labels]
