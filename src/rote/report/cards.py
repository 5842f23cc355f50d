"""A claim as a reader meets it: what would support it beside what came out, assertion by assertion, scale by scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rote.claims import Assertion, Claim, Comparison, Estimate, Finding, Group, Register, Verdict
from rote.claims import register as registering
from rote.laboratory import Entry
from rote.report.pictures import Picture, beside, beside_axis, difference, forest, strip, strip_axis

ROLES = {  # what stands above the assertions that are no parts
    "condition": "Conditions, without which it is no test",
    "rival": "Rivals: unless these hold as well, something else explains it",
    "report": "Reported beside it",
}
_AGREE = {"agrees": ("agrees", "agree"), "differs": ("differs", "differ")}


@dataclass(frozen=True)
class Cell:
    """What came out for an assertion at one scale."""

    scale: str
    outcome: str  # empty of what is only reported
    k: int
    n: int
    share: tuple[float, float]  # of all seeds, what the count leaves possible
    estimate: Estimate
    picture: Picture | None


@dataclass(frozen=True)
class Row:
    """An assertion, or where ``label`` is empty a heading over some."""

    depth: int
    heading: str = ""
    label: str = ""
    role: str = ""
    expected: str = ""
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Number:
    """Ours against a published number, at one scale."""

    scale: str
    comparison: Comparison
    picture: Picture | None  # of the difference
    beside: Picture | None  # both, in one unit
    nearest: bool  # at the scale nearest to the source's


@dataclass(frozen=True)
class Card:
    entry: Entry
    rows: tuple[Row, ...]
    numbers: tuple[Number, ...]
    forest: Picture | None
    settle: str  # of what is open or void: what would settle it
    register: tuple[registering.Entry, ...]  # oldest first
    registered: bool  # its criterion as it is now

    @property
    def quick(self) -> Verdict | None:
        """The verdict at quick, where that is not the first."""
        others = self.entry.verdicts[1:]
        return next((one for one in others if one.scale is not None and one.scale.name == "quick"), None)


def card(entry: Entry, register: Register, settle: str | None = None) -> Card:
    """``settle``: what would settle it, where more is known than the verdict says itself."""
    claim = entry.claim
    both = [pair for verdict in entry.verdicts for pair in verdict.published]
    together = beside_axis(both)
    shares = together if together and (together.low, together.high) == (0.0, 1.0) else None
    numbers = [
        Number(
            scale_label(verdict), comparison, difference(comparison),
            beside(*pair, shares or beside_axis([pair])),
            verdict is entry.verdict,
        )
        for verdict in entry.verdicts
        for pair, comparison in zip(verdict.published, verdict.numbers, strict=True)
    ]  # fmt: skip
    told = entry.verdict.settle if settle is None else settle
    shown = forest(entry.verdicts)
    return Card(entry, tuple(_rows(entry)), tuple(numbers), shown, told, register.of(claim), register.has(claim))


def scale_label(verdict: Verdict) -> str:
    """``published``, ``quick, fresh seeds``."""
    fresh = ", fresh seeds" if verdict.status == "confirmatory" else ""
    return f"{verdict.scale}{fresh}" if verdict.scale is not None else ""


def numbers_said(verdict: Verdict) -> str:
    """``2 agree, 1 differs``: how our numbers compare with the published ones."""
    found = Counter(number.match for number in verdict.numbers)
    return ", ".join(f"{n} {_AGREE.get(match, (match, match))[n != 1]}" for match, n in found.items())


def _rows(entry: Entry) -> Iterator[Row]:
    """The parts in their logic, then the assertions of the other roles under a heading each."""
    claim, found = entry.claim, [verdict for verdict in entry.verdicts if verdict.findings]
    for depth, item in _walk(claim.logic, 0):
        yield Row(depth, heading=item) if isinstance(item, str) else _row(claim, item, found, depth)
    for role, told in ROLES.items():
        others = [item for item in claim.all() if item.role == role]
        if others:
            yield Row(0, heading=told)
        for item in others:
            yield _row(claim, item, found, 0)


def _walk(group: Group, depth: int) -> Iterator[tuple[int, Assertion | str]]:
    for member in group.members:
        if isinstance(member, Assertion):
            yield depth, member
        else:
            yield depth, "Any of these" if member.join == "any" else "All of these together"
            yield from _walk(member, depth + 1)


def _row(claim: Claim, item: Assertion, found: list[Verdict], depth: int) -> Row:
    findings = [(verdict, one) for verdict in found for one in verdict.findings if one.label == item.label]
    published = [number for number in claim.numbers if number.of.text == item.of.text]
    axis = strip_axis([finding for _, finding in findings], published)
    cells = tuple(
        Cell(
            scale_label(verdict), _outcome(claim, finding), finding.k, finding.n,
            finding.share if finding.n else (0.0, 1.0), finding.estimate,
            strip(finding, axis, published) if axis is not None and finding.n else None,
        )
        for verdict, finding in findings
    )  # fmt: skip
    expected = str(item.holds) if claim.kind == "audit" else Finding(item, {}, "not run").expected
    return Row(depth, "", item.label, item.role, expected, cells)


def _outcome(claim: Claim, finding: Finding) -> str:
    if finding.role == "report":
        return ""
    if claim.kind == "audit":
        return "holds" if finding.k == finding.n else "does not hold"
    return finding.outcome
